#!/usr/bin/env python3
"""Our decoder of arm64 against Capstone on Debian's own programs, downloaded and unpacked, never installed.

  decoder_test.py COMPARE FOLDER     COMPARE: the program compare_decoders; FOLDER: where packages are kept

Needs a network with Debian's packages; says so and passes as skipped (exit code 77) without one.
"""

import pathlib
import subprocess
import sys

PACKAGES = {
    "bash": "bin/bash", "coreutils": "bin/ls", "redis-tools": "usr/bin/redis-check-rdb",
    "memcached": "usr/bin/memcached", "pigz": "usr/bin/pigz", "pbzip2": "usr/bin/pbzip2", "xz-utils": "usr/bin/xz",
    "zstd": "usr/bin/zstd", "python3.11-minimal": "usr/bin/python3.11", "perl-base": "usr/bin/perl", "git": "usr/bin/git",
    "openssh-client": "usr/bin/ssh", "curl": "usr/bin/curl", "nginx": "usr/sbin/nginx", "sqlite3": "usr/bin/sqlite3",
    "gawk": "usr/bin/gawk", "tmux": "usr/bin/tmux", "x264": "usr/bin/x264", "libssl3": "usr/lib/aarch64-linux-gnu/libcrypto.so.3",
    "libc6": "lib/aarch64-linux-gnu/libc.so.6", "libstdc++6": "usr/lib/aarch64-linux-gnu/libstdc++.so.6.0.30",
}  # fmt: skip
WANTED = 20


def main():
    compare, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    arch = "arm64"
    lists = folder / "apt"
    for name in ["lists/partial", "archives/partial"]:
        (lists / name).mkdir(parents=True, exist_ok=True)
    options = ["-o", f"APT::Architecture={arch}", "-o", f"APT::Architectures={arch}", "-o", f"Dir::State::lists={lists}/lists",
               "-o", "Dir::State::status=/dev/null", "-o", f"Dir::Cache={lists}", "-o", "APT::Sandbox::User=root"]  # fmt: skip
    if not any((lists / "lists").glob("*Packages*")):
        if subprocess.run(["apt-get", *options, "update", "-qq"], check=False).returncode != 0:
            print("skipped: no package lists for arm64")
            return 77
    programs = []
    for package, path in PACKAGES.items():
        if path is None or len(programs) == WANTED:
            continue
        unpacked = folder / package
        if not (unpacked / path).is_file():
            if subprocess.run(["apt-get", *options, "download", "-qq", package], cwd=folder, check=False).returncode != 0:
                print(f"{package}: cannot be downloaded")
                continue
            archive = next(folder.glob(f"{package}_*.deb"))
            subprocess.run(["dpkg-deb", "-x", str(archive), str(unpacked)], check=True)
            archive.unlink()
        programs.append(str((unpacked / path).resolve()))
    if len(programs) < WANTED:
        print(f"{len(programs)} programs where {WANTED} were wanted")
        return 1
    return subprocess.run([compare, *programs], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
