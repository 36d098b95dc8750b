# Fish completion for redflag. Installed in share/fish/vendor_completions.d.

# Detectors come from the command itself, so that this file never lags behind.
function __redflag_detectors
    set -l command (commandline --tokenize --cut-at-cursor)[1]
    $command list 2>/dev/null | string replace --regex '^(\S+)\s+' '$1\t'
end

# Is this the command that was given? Not: is this word somewhere, as it may be among the arguments of a program.
function __redflag_is
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -q words[2]; and test $words[2] = $argv[1]
end

complete -c redflag -f
complete -c redflag -n 'not __redflag_is c++; and not __redflag_is cc' -s h -l help -d 'Print help and exit'
complete -c redflag -n 'not __redflag_is c++; and not __redflag_is cc' -l help-all -d 'Print the help of every command and exit'
complete -c redflag -n __fish_use_subcommand -s V -l version -d 'Print the version and exit'
complete -c redflag -n __fish_use_subcommand -a c++ -d 'Compile and link C++ for race detection'
complete -c redflag -n __fish_use_subcommand -a cc -d 'Compile and link C likewise'
complete -c redflag -n __fish_use_subcommand -a run -d 'Run a program and report its races'
complete -c redflag -n __fish_use_subcommand -a record -d 'Run a program and keep what it does'
complete -c redflag -n __fish_use_subcommand -a analyze -d 'Find the races of recorded runs'
complete -c redflag -n __fish_use_subcommand -a merge -d 'Put the parts of an analysis together'
complete -c redflag -n __fish_use_subcommand -a report -d 'Show saved reports, in any form'
complete -c redflag -n __fish_use_subcommand -a convert -d 'Text traces to binary ones and back'
complete -c redflag -n __fish_use_subcommand -a list -d 'List the detectors'
complete -c redflag -n __fish_use_subcommand -a doctor -d 'Say what works on this machine, and why not'
complete -c redflag -n __fish_use_subcommand -a sample -d 'Catch races of a program as it is'
complete -c redflag -n __fish_use_subcommand -a attach -d 'Catch races of a process that runs already'
complete -c redflag -n __fish_use_subcommand -a symbolize -d 'Put names and source lines into logs'
complete -c redflag -n __fish_use_subcommand -a suppress -d 'Hide a race from now on'
complete -c redflag -n __fish_use_subcommand -a help -d 'Print the help of a command'

complete -c redflag -n '__redflag_is c++' -F
complete -c redflag -n '__redflag_is cc' -F

complete -c redflag -n '__redflag_is run' -F
complete -c redflag -n '__redflag_is run' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c redflag -n '__redflag_is run' -s d -l detector -x -a '(__redflag_detectors)' -d 'Which detector'
complete -c redflag -n '__redflag_is run' -s o -l output -r -F -d 'Write reports to this file'
complete -c redflag -n '__redflag_is run' -l json -r -F -d 'Append each report as a line of JSON to this file'
complete -c redflag -n '__redflag_is run' -l text -r -F -d 'Write the reports as text'
complete -c redflag -n '__redflag_is run' -l full -d 'Text: whole stacks'
complete -c redflag -n '__redflag_is run' -l sarif -r -F -d 'Write them as SARIF'
complete -c redflag -n '__redflag_is run' -l warnings -r -F -d 'Warnings of other tools'
complete -c redflag -n '__redflag_is run' -l github -d 'Print a GitHub annotation for each'
complete -c redflag -n '__redflag_is run' -l editor -d 'Print FILE:LINE:COL: warning: lines'
complete -c redflag -n '__redflag_is run' -l compat -x -a tsan -d 'Text: as another tool prints it'
complete -c redflag -n '__redflag_is run' -l root -x -a '(__fish_complete_directories)' -d 'Names of files are relative to this folder'
complete -c redflag -n '__redflag_is run' -l suppressions -r -F -d 'Rules for races that are not to be reported'
complete -c redflag -n '__redflag_is run' -l record -r -F -d 'Also write down all that happens'
complete -c redflag -n '__redflag_is run' -l exit-code -x -d 'Exit with this if anything was reported'
complete -c redflag -n '__redflag_is run' -l on-race -x -a 'report stop core abort end throw stop-thread callback' -d 'What to do after a report'

complete -c redflag -n '__redflag_is record' -F
complete -c redflag -n '__redflag_is record' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c redflag -n '__redflag_is record' -s d -l detector -x -a '(__redflag_detectors)' -d 'Also watch with this detector'
complete -c redflag -n '__redflag_is record' -s o -l output -r -F -d 'The trace'

complete -c redflag -n '__redflag_is analyze' -F
complete -c redflag -n '__redflag_is analyze' -s d -l detector -x -a '(__redflag_detectors) all\t"every detector"' -d 'Detector to use'
complete -c redflag -n '__redflag_is analyze' -l json -d 'One JSON document instead of text'
complete -c redflag -n '__redflag_is analyze' -l stats -d 'Also show how often each rule applied'
complete -c redflag -n '__redflag_is analyze' -l full -d 'Whole stacks, with the frames of libraries'
complete -c redflag -n '__redflag_is analyze' -l check -d 'Hold the result against the expectations'
complete -c redflag -n '__redflag_is analyze' -l verify -d 'Hold races against those told while it was recorded'
complete -c redflag -n '__redflag_is analyze' -s j -l jobs -x -d 'Threads to use; 0: all cores'
complete -c redflag -n '__redflag_is analyze' -l partial -d 'Analyze what is there of a recording that breaks off'
complete -c redflag -n '__redflag_is analyze' -l shard -x -d 'One of N parts of memory: I/N'
complete -c redflag -n '__redflag_is analyze' -s o -l output -r -d 'With --shard: the file to write'
complete -c redflag -n '__redflag_is merge' -F
complete -c redflag -n '__redflag_is merge' -l trace -r -d 'Where the trace is now'
complete -c redflag -n '__redflag_is merge' -l json -d 'One JSON document instead of text'
complete -c redflag -n '__redflag_is merge' -l stats -d 'Also show how often each rule applied'
complete -c redflag -n '__redflag_is merge' -l full -d 'Whole stacks, with the frames of libraries'
complete -c redflag -n '__redflag_is merge' -s q -l quiet -d 'One summary line'
complete -c redflag -n '__redflag_is merge' -l color -x -a 'auto always never' -d 'Colours'
complete -c redflag -n '__redflag_is analyze' -s q -l quiet -d 'One summary line a trace'
complete -c redflag -n '__redflag_is analyze' -l color -x -a 'auto always never' -d 'Colours'

complete -c redflag -n '__redflag_is report' -F
complete -c redflag -n '__redflag_is report' -l text -r -F -d 'Write the reports as text'
complete -c redflag -n '__redflag_is report' -l full -d 'Text: whole stacks'
complete -c redflag -n '__redflag_is report' -l sarif -r -F -d 'Write them as SARIF'
complete -c redflag -n '__redflag_is report' -l warnings -r -F -d 'Warnings of other tools'
complete -c redflag -n '__redflag_is report' -l github -d 'Print a GitHub annotation for each'
complete -c redflag -n '__redflag_is report' -l editor -d 'Print FILE:LINE:COL: warning: lines'
complete -c redflag -n '__redflag_is report' -l compat -x -a tsan -d 'Text: as another tool prints it'
complete -c redflag -n '__redflag_is report' -l root -x -a '(__fish_complete_directories)' -d 'Names of files are relative to this folder'
complete -c redflag -n '__redflag_is report' -l json -r -F -d 'Write them as lines of JSON again'
complete -c redflag -n '__redflag_is report' -l color -x -a 'auto always never' -d 'Colours'

complete -c redflag -n '__redflag_is convert' -F
complete -c redflag -n '__redflag_is convert' -l to -x -a 'text binary' -d 'What OUT is to be'
complete -c redflag -n '__redflag_is convert' -l partial -d 'Of a recording that breaks off, take the part before that'

complete -c redflag -n '__redflag_is doctor' -l json -d 'One JSON document instead of text'
complete -c redflag -n '__redflag_is doctor' -l color -x -a 'auto always never' -d 'Colours'

complete -c redflag -n '__redflag_is symbolize' -l exact -d 'Look up the offsets themselves'

complete -c redflag -n '__redflag_is suppress' -l in -r -F -d 'Reports as JSON, one a line'
complete -c redflag -n '__redflag_is suppress' -l file -r -F -d 'Where to write the rule'
complete -c redflag -n '__redflag_is suppress' -l until -x -d 'The last day on which it holds'
complete -c redflag -n '__redflag_is suppress' -l why -x -d 'A comment to write above it'

complete -c redflag -n '__redflag_is help' -a 'c++ cc run record analyze merge report convert list doctor sample attach symbolize suppress help'

complete -c redflag -n '__redflag_is sample' -F
complete -c redflag -n '__redflag_is sample' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c redflag -n '__redflag_is sample' -l rate -x -d 'How many accesses to look at in a second'
complete -c redflag -n '__redflag_is sample' -l budget -x -d 'how much of the time of its threads they may be stopped'
complete -c redflag -n '__redflag_is sample' -l seconds -x -d 'For how long'
complete -c redflag -n '__redflag_is sample' -l delay -x -d 'The longest stop of a thread, in microseconds'
complete -c redflag -n '__redflag_is sample' -l modules -x -d 'Which files to look into'
complete -c redflag -n '__redflag_is sample' -l focus -x -d 'Look here more often'
complete -c redflag -n '__redflag_is sample' -l focus-from -r -F -d 'Look more often where these reports lead'
complete -c redflag -n '__redflag_is sample' -l children -d 'Sample the processes that it starts, too'
complete -c redflag -n '__redflag_is sample' -l repeated-read -d 'Without data breakpoints'
complete -c redflag -n '__redflag_is sample' -l stats -d 'Print at the end what was done'
complete -c redflag -n '__redflag_is sample' -s o -l output -r -F -d 'Write reports to this file'
complete -c redflag -n '__redflag_is sample' -l json -r -F -d 'Append each report as a line of JSON to this file'
complete -c redflag -n '__redflag_is sample' -l text -r -F -d 'Write the reports as text'
complete -c redflag -n '__redflag_is sample' -l full -d 'Text: whole stacks'
complete -c redflag -n '__redflag_is sample' -l sarif -r -F -d 'Write them as SARIF'
complete -c redflag -n '__redflag_is sample' -l github -d 'Print a GitHub annotation for each'
complete -c redflag -n '__redflag_is sample' -l editor -d 'Print FILE:LINE:COL: warning: lines'
complete -c redflag -n '__redflag_is sample' -l compat -x -a tsan -d 'Text: as another tool prints it'
complete -c redflag -n '__redflag_is sample' -l warnings -r -F -d 'Warnings of other tools'
complete -c redflag -n '__redflag_is sample' -l root -x -a '(__fish_complete_directories)' -d 'Names of files are relative to this folder'
complete -c redflag -n '__redflag_is sample' -l suppressions -r -F -d 'Rules for races that are not to be reported'
complete -c redflag -n '__redflag_is sample' -l exit-code -x -d 'Exit with this if anything was reported'
complete -c redflag -n '__redflag_is sample' -l on-race -x -a 'report stop core' -d 'What to do after a report'

complete -c redflag -n '__redflag_is attach' -f -a '(__fish_complete_pids)'
complete -c redflag -n '__redflag_is attach' -l rate -x -d 'How many accesses to look at in a second'
complete -c redflag -n '__redflag_is attach' -l budget -x -d 'how much of the time of its threads they may be stopped'
complete -c redflag -n '__redflag_is attach' -l seconds -x -d 'For how long'
complete -c redflag -n '__redflag_is attach' -l delay -x -d 'The longest stop of a thread, in microseconds'
complete -c redflag -n '__redflag_is attach' -l modules -x -d 'Which files to look into'
complete -c redflag -n '__redflag_is attach' -l focus -x -d 'Look here more often'
complete -c redflag -n '__redflag_is attach' -l focus-from -r -F -d 'Look more often where these reports lead'
complete -c redflag -n '__redflag_is attach' -l repeated-read -d 'Without data breakpoints'
complete -c redflag -n '__redflag_is attach' -l stats -d 'Print at the end what was done'
complete -c redflag -n '__redflag_is attach' -s o -l output -r -F -d 'Write reports to this file'
complete -c redflag -n '__redflag_is attach' -l json -r -F -d 'Append each report as a line of JSON to this file'
complete -c redflag -n '__redflag_is attach' -l text -r -F -d 'Write the reports as text'
complete -c redflag -n '__redflag_is attach' -l full -d 'Text: whole stacks'
complete -c redflag -n '__redflag_is attach' -l sarif -r -F -d 'Write them as SARIF'
complete -c redflag -n '__redflag_is attach' -l github -d 'Print a GitHub annotation for each'
complete -c redflag -n '__redflag_is attach' -l editor -d 'Print FILE:LINE:COL: warning: lines'
complete -c redflag -n '__redflag_is attach' -l compat -x -a tsan -d 'Text: as another tool prints it'
complete -c redflag -n '__redflag_is attach' -l warnings -r -F -d 'Warnings of other tools'
complete -c redflag -n '__redflag_is attach' -l root -x -a '(__fish_complete_directories)' -d 'Names of files are relative to this folder'
complete -c redflag -n '__redflag_is attach' -l suppressions -r -F -d 'Rules for races that are not to be reported'
complete -c redflag -n '__redflag_is attach' -l exit-code -x -d 'Exit with this if anything was reported'
