# Bash completion for redflag. Installed as share/bash-completion/completions/redflag; to try it, source it.

# Detectors come from the command itself, so that this file never lags behind.
_redflag_detectors() {
  local name rest
  "${COMP_WORDS[0]}" list 2>/dev/null | while read -r name rest; do echo "$name"; done
  echo all
}

_redflag() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' i
  COMPREPLY=()

  # `--color=auto` arrives as three words.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = && $COMP_CWORD -ge 2 ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi

  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done

  case $command in
    '')
      mapfile -t COMPREPLY < <(compgen -W 'analyze list symbolize -h --help --help-all -V --version' -- "$cur")
      return
      ;;
    list)
      mapfile -t COMPREPLY < <(compgen -W '-h --help --help-all' -- "$cur")
      return
      ;;
    symbolize)
      mapfile -t COMPREPLY < <(compgen -W '--exact -h --help --help-all' -- "$cur")
      return
      ;;
    analyze) ;;
    *) return ;;
  esac

  case $prev in
    -d | --detector)
      mapfile -t COMPREPLY < <(compgen -W "$(_redflag_detectors)" -- "$cur")
      return
      ;;
    --color)
      mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur")
      return
      ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(
      compgen -W '-d --detector --json --stats --check -q --quiet --color -h --help --help-all' -- "$cur"
    )
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
