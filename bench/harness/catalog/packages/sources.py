"""Debian source packages: found through the machine's own apt entries, unpacked under build/bench/sources/.

Nothing of the system is changed: apt gets entries, lists and a cache of its own in build/bench/apt/. The entries are
the machine's, with `deb` replaced by `deb-src`.
"""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess

from . import places
from .logs import Log
from .places import PackageError

UPDATE_SECONDS = 300
DOWNLOAD_SECONDS = 900
UNPACK_SECONDS = 300

FAILED: dict[str, PackageError] = {}  # is not tried again for each toolchain


def unpacked(package: str) -> pathlib.Path:
    """The source tree of a Debian source package, with Debian's patches. Not to be written to: copy it."""
    folder = places.SOURCES / package
    if package in FAILED:
        raise FAILED[package]
    with places.alone(folder):
        if not folder.exists():
            try:
                fetch(package, folder)
            except PackageError as error:
                FAILED[package] = error
                raise
    return folder / "tree"


def version(package: str) -> str:
    """The Debian version of a package that has been unpacked."""
    return re.search(r"^Version: *(\S+)", description(places.SOURCES / package).read_text(), re.MULTILINE)[1]


def versions() -> dict[str, str]:
    """Package -> Debian version, of all that have been unpacked here: what a table of results has to say."""
    return {folder.parent.name: version(folder.parent.name) for folder in sorted(places.SOURCES.glob("*/tree"))}


def description(folder: pathlib.Path) -> pathlib.Path:
    return next(folder.glob("*.dsc"))


def fetch(package: str, folder: pathlib.Path) -> None:
    if shutil.which("dpkg-source") is None:
        raise PackageError(f"{package}: there is no dpkg-source here, and the sources are Debian's")
    partial = folder.with_name(f"{package}.tmp")
    log = download(package, partial)
    log.run(["dpkg-source", "-x", description(partial).name, "tree"], partial, UNPACK_SECONDS)
    os.rename(partial, folder)


def download(package: str, partial: pathlib.Path) -> Log:
    """The files of a source package, in a folder that is made anew; nothing is unpacked."""
    log = Log(places.LOGS / f"source-{package}.log", f"source package {package}")
    if shutil.which("apt-get") is None:
        raise PackageError(f"{package}: there is no apt-get here, and the sources are Debian's")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    options = apt_options(log)
    command = ["apt-get", *options, "source", "--only-source", "--download-only", package]
    # Lists that are there may be older than the files of the archive: one more try, with new lists. An entry that has
    # no sources makes `update` fail, and is no reason to give up.
    if not any(places.APT.glob("lists/*_Sources*")) or not log.try_run(command, partial, DOWNLOAD_SECONDS):
        log.try_run(["apt-get", *options, "update"], partial, UPDATE_SECONDS)
        if not log.try_run(command, partial, DOWNLOAD_SECONDS):
            log.fail("can't be downloaded with `apt-get source`")
    return log


def apt_options(log: Log) -> list[str]:
    parts = places.APT / "entries"
    for folder in (parts, places.APT / "lists" / "partial", places.APT / "cache" / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    entries = system_entries()
    if not entries:
        log.fail("apt has no entries to derive those of the source packages from")
    for name, text in entries.items():
        (parts / name).write_text(text)
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": parts,
        "Dir::State::lists": places.APT / "lists",
        "Dir::Cache": places.APT / "cache",
        "APT::Sandbox::User": "root",  # the user that apt would drop to can't write here
        "Acquire::Retries": 3,
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def system_entries() -> dict[str, str]:
    """File name -> text, for each file of apt's entries, asking for sources where that asks for packages."""
    query = ["apt-config", "shell", "main", "Dir::Etc::sourcelist/f", "parts", "Dir::Etc::sourceparts/d"]
    answer = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    found = dict(word.split("=", 1) for word in shlex.split(answer))
    files = [pathlib.Path(found["main"])] if "main" in found else []
    if "parts" in found:
        files += sorted(pathlib.Path(found["parts"]).glob("*"))
    entries = {}
    for file in files:
        if file.is_file() and file.suffix == ".list":
            entries[file.name] = source_lines(file.read_text())
        elif file.is_file() and file.suffix == ".sources":
            entries[file.name] = source_stanzas(file.read_text())
    return entries


def source_lines(text: str) -> str:
    """One entry per line: `deb [options] URI suite component...`."""
    return "".join(f"deb-src{line[3:]}\n" for line in text.splitlines() if re.match(r"deb\s", line))


def source_stanzas(text: str) -> str:
    """deb822: stanzas of `Field: value`, of which `Types` says what an entry is for."""
    stanzas = re.split(r"\n(?:[ \t]*\n)+", text)
    types = re.compile(r"^Types:[ \t]*(?:[\w-]+[ \t]+)*deb(?:[ \t]+[\w-]+)*[ \t]*$", re.MULTILINE | re.IGNORECASE)
    return "\n\n".join(types.sub("Types: deb-src", stanza) for stanza in stanzas if types.search(stanza)) + "\n"
