# Fish completion for redflag. Installed in share/fish/vendor_completions.d.

# Detectors come from the command itself, so that this file never lags behind.
function __redflag_detectors
    set -l command (commandline --tokenize --cut-at-cursor)[1]
    $command list 2>/dev/null | string replace --regex '^(\S+)\s+' '$1\t'
    printf 'all\tevery detector, one after the other\n'
end

complete -c redflag -f
complete -c redflag -s h -l help -d 'Print help and exit'
complete -c redflag -l help-all -d 'Print the help of every command and exit'
complete -c redflag -n __fish_use_subcommand -s V -l version -d 'Print the version and exit'
complete -c redflag -n __fish_use_subcommand -a analyze -d 'Find the races of recorded runs'
complete -c redflag -n __fish_use_subcommand -a list -d 'List the detectors'
complete -c redflag -n __fish_use_subcommand -a symbolize -d 'Put names and source lines into logs'
complete -c redflag -n '__fish_seen_subcommand_from symbolize' -l exact -d 'Look up the offsets themselves'

complete -c redflag -n '__fish_seen_subcommand_from analyze' -F
complete -c redflag -n '__fish_seen_subcommand_from analyze' -s d -l detector -x -a '(__redflag_detectors)' -d 'Detector to use'
complete -c redflag -n '__fish_seen_subcommand_from analyze' -l json -d 'One JSON document instead of text'
complete -c redflag -n '__fish_seen_subcommand_from analyze' -l stats -d 'Also show how often each rule applied'
complete -c redflag -n '__fish_seen_subcommand_from analyze' -l check -d 'Hold the result against the expectations'
complete -c redflag -n '__fish_seen_subcommand_from analyze' -s q -l quiet -d 'One summary line a trace'
complete -c redflag -n '__fish_seen_subcommand_from analyze' -l color -x -a 'auto always never' -d 'Colours'
