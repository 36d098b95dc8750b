#!/usr/bin/env bash
# Installs the Debian 12 packages that building and testing Redflag needs.
#
# Idempotent: packages that are present are left alone, and when nothing is missing no package list is
# fetched. Runs as root or through sudo. Prints what it installs before it does so.
#
#   scripts/bootstrap.sh           install what is missing
#   scripts/bootstrap.sh --list    print every package with the reason it is needed, install nothing
set -euo pipefail

# package                 reason
packages=$(cat <<'END'
build-essential           compiler, linker, make
g++-12                    first compiler, and code under test
clang-19                  second compiler, and code under test
clang-14                  code under test
libclang-rt-19-dev        AddressSanitizer, UBSan and libFuzzer runtimes
llvm-19-tools             tests/conformance: FileCheck
clang-format-19           make format, format check
clang-tidy-19             make check
cmake                     build
ninja-build               build
ccache                    builds that repeat are free
pkg-config                finding libraries
python3                   tools/, tests/mutation
python3-jsonschema        tests/cli: SARIF and our own JSON against their schemas
npm                       tests/cli: the schema of SARIF, by name
libcli11-dev              command line (host side)
libfmt-dev                text output (host side)
nlohmann-json3-dev        JSON output (host side)
libzstd-dev               compressed traces (host side)
libxxhash-dev             checksums of traces (host side)
libcapstone-dev           instructions of programs (host side)
libdw-dev                 symbols and source lines of programs (host side)
libgtest-dev              tests
libgmock-dev              tests
libbenchmark-dev          bench/
dpkg-dev                  bench/harness: unpacking Debian source packages
tcl                       bench/harness: generating sqlite's amalgamation
zstd                      bench/harness: checking what a zstd under test wrote; tests/sample: a program as Debian ships it
pigz                      tests/sample: the same
pbzip2                    tests/sample: the same
xz-utils                  tests/sample: the same
memcached                 tests/sample: the same
redis-server              tests/sample: the same
chromium                  tests/sample: the same
gdb                       tests/: the runtime under a debugger
libjemalloc2              tests/hostile: programs with another allocator
libtcmalloc-minimal4      the same
libmimalloc2.0            the same
libglib2.0-dev            tests/plain_libraries: programs that use libraries which are not instrumented
libssl-dev                the same
libprotobuf-dev           the same
libtbb-dev                the same
qtbase5-dev               the same
python3-dev               the same
procps                    tests/: pgrep
valgrind                  bench/: Helgrind, DRD, instruction counts
libclang-rt-14-dev        code under test: ThreadSanitizer's runtime
binutils                  nm, for the symbol check of in-process code
g++-aarch64-linux-gnu     cross-build on x86-64
g++-x86-64-linux-gnu      cross-build on arm64
qemu-user                 running the cross-built tests
meson                     tests/cli: a Meson project built with Redflag
autoconf                  tests/cli: a configure script run with Redflag
automake                  tests/cli: the same
zsh                       tests/cli: completions
fish                      tests/cli: completions
slurm-wlm                 tests/slow: sharded analysis as a job array
munge                     tests/slow: the same, what Slurm's daemons know each other by
groff-base                man page check
man-db                    reading the man page
END
)

if [[ ${1:-} == --list ]]; then
  printf '%s\n' "$packages"
  exit 0
elif [[ $# -gt 0 ]]; then
  echo "usage: scripts/bootstrap.sh [--list]" >&2
  exit 2
fi

if ! command -v apt-get >/dev/null; then
  echo "bootstrap: this script knows Debian only (no apt-get here); the packages it would install:" >&2
  printf '%s\n' "$packages" >&2
  exit 1
fi

# The cross compiler for the machine's own architecture is its ordinary compiler.
case $(dpkg --print-architecture) in
  amd64) own=g++-x86-64-linux-gnu ;;
  arm64) own=g++-aarch64-linux-gnu ;;
  *) echo "bootstrap: Redflag supports amd64 and arm64, not $(dpkg --print-architecture)" >&2; exit 1 ;;
esac

missing=()
while read -r name _; do
  [[ $name == "$own" ]] && continue
  [[ $name == npm ]] && command -v npm >/dev/null && continue  # others package it with nodejs
  if [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) != installed ]]; then
    missing+=("$name")
  fi
done <<<"$packages"

if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "bootstrap: must run as root (no sudo here) to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "bootstrap: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

# The tests start daemons of their own. Those that these packages bring, and may have started, are not for them.
for pair in slurmctld:munge slurmd:munge munge:munge memcached:memcached redis-server:redis-server; do
  service=${pair%:*}
  [[ " ${missing[*]} " == *" ${pair#*:} "* ]] || continue  # it was here before, and somebody may want it
  if [[ -d /run/systemd/system ]]; then
    "${as_root[@]}" systemctl disable --quiet --now "$service" || true
  elif [[ -x /etc/init.d/$service ]]; then
    "${as_root[@]}" "/etc/init.d/$service" stop >/dev/null 2>&1 || true
  fi
done
