# Bash completion for redflag. Installed as share/bash-completion/completions/redflag; to try it, source it.

# Detectors come from the command itself, so that this file never lags behind.
_redflag_detectors() {
  local name rest
  "${COMP_WORDS[0]}" list 2>/dev/null | while read -r name rest; do echo "$name"; done
  [[ $1 != analyze ]] || echo all
}

# Candidates from a list of words.
_redflag_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_redflag() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' at i
  local commands='c++ cc run record analyze merge report convert list doctor sample attach symbolize suppress help'
  COMPREPLY=()

  # `--color=auto` arrives as three words.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = && $COMP_CWORD -ge 2 ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi

  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ ${COMP_WORDS[at]} != -* ]]; then
      command=${COMP_WORDS[at]}
      break
    fi
  done

  case $command in
    '') _redflag_words "$commands -h --help --help-all -V --version"; return ;;
    help) _redflag_words "$commands -h --help --help-all"; return ;;
    list) _redflag_words '-h --help --help-all'; return ;;
    symbolize) _redflag_words '--exact -h --help --help-all'; return ;;
    run | record | analyze | merge | report | convert | doctor | sample | attach | suppress) ;;
    *) return ;;  # c++ and cc: the compiler's options, unknown here; bash offers files
  esac

  # Behind the name of the program that is to be run, everything is its own.
  if [[ $command == run || $command == record || $command == sample ]]; then
    for ((i = at + 1; i < COMP_CWORD; i++)); do
      case ${COMP_WORDS[i]} in
        -d | --detector | -o | --output | --json | --record | --suppressions | --exit-code | --on-race | --text | --sarif | --compat | --warnings | --root | --rate | --budget | --seconds | --delay | --modules | --focus | --focus-from) ((i++)) ;;
        --) ;;
        -*) ;;
        *) return ;;
      esac
    done
  fi

  case $prev in
    -d | --detector) _redflag_words "$(_redflag_detectors "$command")"; return ;;
    --color) _redflag_words 'auto always never'; return ;;
    --to) _redflag_words 'text binary'; return ;;
    --compat) _redflag_words 'tsan'; return ;;
  esac
  case $command in
    doctor)
      _redflag_words '--json --color -h --help --help-all'
      return
      ;;
    suppress)
      case $prev in
        --in | --file | --until | --why) return ;;
      esac
      if [[ $cur == -* ]]; then _redflag_words '--in --file --until --why -h --help --help-all'; fi
      return
      ;;
    convert)
      if [[ $cur == -* ]]; then _redflag_words '--to --partial -h --help --help-all'; fi
      return
      ;;
    report)
      case $prev in
        --text | --json | --sarif | --warnings | --root) return ;;
      esac
      if [[ $cur == -* ]]; then
        _redflag_words '--text --full --json --sarif --github --editor --compat --warnings --root --color -h --help --help-all'
      fi
      return
      ;;
    attach)
      case $prev in
        -o | --output | --json | --suppressions | --text | --sarif | --warnings | --root | --focus-from) return ;;
        --exit-code | --rate | --budget | --seconds | --delay | --modules | --focus) return ;;
      esac
      if [[ $cur == -* ]]; then
        _redflag_words '-o --rate --budget --seconds --delay --modules --focus --focus-from --repeated-read --stats --output --json --text --full --sarif --github --editor --compat --warnings --root --suppressions --exit-code -h --help --help-all'
      else
        _redflag_words "$(cd /proc && printf '%s ' [0-9]*)"
      fi
      return
      ;;
    run | record | sample)
      case $prev in
        -o | --output | --json | --record | --suppressions | --text | --sarif | --warnings | --root) return ;;
        --exit-code | --rate | --budget | --seconds | --delay | --modules | --focus | --focus-from) return ;;
        --on-race)
          [[ $command == sample ]] && _redflag_words 'report stop core' || _redflag_words 'report stop core abort end throw stop-thread callback'
          return
          ;;
      esac
      if [[ $cur == -* && $command == record ]]; then
        _redflag_words '-d --detector -o --output -h --help --help-all'
      elif [[ $cur == -* && $command == sample ]]; then
        _redflag_words '-o --rate --budget --seconds --delay --modules --focus --focus-from --children --repeated-read --stats --output --json --text --full --sarif --github --editor --compat --warnings --root --suppressions --exit-code --on-race -h --help --help-all'
      elif [[ $cur == -* ]]; then
        _redflag_words '-d --detector -o --output --json --text --full --sarif --github --editor --compat --warnings --root --record --suppressions --exit-code
          --on-race -h --help --help-all'
      elif [[ $cur != */* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
      fi
      return
      ;;
  esac

  if [[ $cur == -* ]]; then
    local words='--json --stats --full -q --quiet --color -h --help --help-all'
    [[ $command == merge ]] && words+=' --trace' || words+=' -d --detector --check --verify -j --jobs --partial --shard -o --output'
    _redflag_words "$words"
    return
  fi
  # Traces and folders. If there are none, bash offers every file.
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(
    compgen -d -- "$cur"
    compgen -f -X '!*.trace' -- "$cur"
  )
}

complete -o default -F _redflag redflag
