#!/bin/bash
# Builds src/intercept/ with the fake runtime into a shared library, and the tests against it, by both compilers, PIE and not; runs
# them, and runs ordinary programs with the library preloaded.
#
#   tests/unit/intercept/run.sh [FOLDER]    build outputs go to FOLDER, /tmp/intercept if not given
#   CXX='g++-12' MODES='pie' ...            fewer variants
#   FILTER='Mutexes*' ...                   fewer tests
set -euo pipefail
cd "$(dirname "$0")/../../.."
out=${1:-/tmp/intercept}
compilers=${CXX:-g++-12 clang++-19}
modes=${MODES:-pie no-pie}
run="nice -n 19 timeout 300"
library_flags="-std=c++20 -Wall -Wextra -Werror -fno-exceptions -fno-rtti -O2 -fPIC -fvisibility=hidden
  -fasynchronous-unwind-tables -fno-builtin -Isrc -I."

compile() { # OBJECT SOURCE COMMAND...
  local object=$1 source=$2
  shift 2
  if [[ -e $object && -z $(find src/base src/events src/intercept tests/unit/intercept -newer "$object" -name '*.h') &&
        $object -nt $source ]]; then return; fi
  $run "$@" -c "$source" -o "$object"
}

for cxx in $compilers; do
  dir=$out/$cxx
  mkdir -p "$dir"
  objects=()
  for source in src/intercept/*.cc src/base/check.cc tests/unit/intercept/fake_hooks.cc; do
    object=$dir/lib-$(basename "$source").o
    compile "$object" "$source" "$cxx" $library_flags
    objects+=("$object")
  done
  # No library but libc: what is left undefined would be of libstdc++ or libgcc_s.
  $run "$cxx" -shared -nodefaultlibs -Wl,-z,defs -Wl,-soname,libredflag_fake.so "${objects[@]}" -lc -lgcc \
    -o "$dir/libredflag_fake.so"

  for mode in $modes; do
    pic=$([[ $mode == pie ]] && echo -fPIE || echo -fno-pie)
    tests=()
    for source in tests/unit/intercept/*_test.cc; do
      object=$dir/$mode-$(basename "$source").o
      compile "$object" "$source" "$cxx" -std=c++20 -Wall -Wextra -Werror -O1 -fno-builtin "$pic" -Isrc -I.
      tests+=("$object")
    done
    $run "$cxx" "-$mode" "${tests[@]}" -L"$dir" -Wl,-rpath,"$dir" -lredflag_fake -lgtest -lgtest_main -o "$dir/test-$mode"
    echo "== $cxx, $mode"
    $run "$dir/test-$mode" --gtest_brief=1 --gtest_filter="${FILTER:-*}"
  done

  echo "== $cxx, preloaded"
  for command in "ls /" "python3 -c 'print(1)'" "sort --parallel=2 /etc/passwd" 'echo $(echo 3) | cat; exit 7' \
    "python3 -c 'import threading; t = threading.Thread(target=print, args=(2,)); t.start(); t.join()'" \
    "python3 -c 'import subprocess, sys; print(subprocess.run([\"true\"])); sys.exit(5)'"; do
    plain=$($run bash -c "$command" 2>&1; echo "status $?")
    preloaded=$($run env LD_PRELOAD="$dir/libredflag_fake.so" bash -c "$command" 2>&1; echo "status $?")
    if [[ $plain != "$preloaded" ]]; then echo "differs: $command: $preloaded"; exit 1; fi
  done
done
echo "all is well"
