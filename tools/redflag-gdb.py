"""Redflag for gdb: the race that a program has stopped at, or that its core file was written for.

  gdb -x redflag-gdb.py --args ./app      then: set environment REDFLAG_OPTIONS on_race=stop
  gdb -x redflag-gdb.py ./app core        of a run with REDFLAG_OPTIONS=on_race=core

The command `redflag race` shows both sides: which thread, its stack at the access, the locks it held. The thread that completed the race is
the one that stopped; `up` leads from the runtime to its access. What the other thread did is in the past: this is where it was then.
"""

import struct

import gdb

VERSION = 1
MAX_FRAMES, MAX_LOCKS, MAX_ACCESSES = 64, 8, 17
HEAD = struct.Struct("=IIQ")
ACCESS = struct.Struct(f"=QIIIIII{MAX_FRAMES}Q{MAX_LOCKS}Q")
KINDS = {0: "atomic read", 1: "read", 2: "atomic write", 3: "write"}


def places_of(return_address):
    """-> function and source of a call, the inlined ones first."""
    pc = return_address - 1
    line = gdb.find_pc_line(pc)
    where = f"{line.symtab.filename}:{line.line}" if line.symtab else ""
    places = []
    block = gdb.block_for_pc(pc) if line.symtab else None
    while block is not None and not block.is_global and not block.is_static:
        if block.function is not None:
            places.append((block.function.print_name, where))
            where = f"in {block.function.symtab.filename}"  # it was inlined into that
            if not any(outer.function for outer in blocks_around(block)):
                break
        block = block.superblock
    if not places:
        places.append((symbol_name(pc) or gdb.solib_name(pc) or "?", f"{return_address:#x}"))
    return places


def blocks_around(block):
    block = block.superblock
    while block is not None and not block.is_global and not block.is_static:
        yield block
        block = block.superblock


def thread_name(number, os_thread):
    name = "main" if number == 0 else f"T{number}"
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == os_thread:
            return f"{name} (gdb's thread {thread.num})"
    return f"{name} (ended)"


def symbol_name(address):
    """Empty: there is none."""
    text = gdb.execute(f"info symbol {address:#x}", to_string=True)
    return text.split(" in section")[0] if " in section" in text else ""


def symbol_at(address):
    name = symbol_name(address)
    return f"{name} ({address:#x})" if name else f"{address:#x}"


def read_race():
    """-> the racy address and the accesses, or None."""
    try:
        address = int(gdb.parse_and_eval("(unsigned long)&redflag_race"))
    except gdb.error:
        raise gdb.GdbError("this program has no Redflag runtime") from None
    memory = gdb.selected_inferior().read_memory(address, HEAD.size + MAX_ACCESSES * ACCESS.size).tobytes()
    version, count, racy = HEAD.unpack_from(memory)
    if version == 0 or count == 0:
        return None
    if version != VERSION or count > MAX_ACCESSES:
        raise gdb.GdbError(f"this script knows version {VERSION} of what the runtime writes down, and this is version {version}")
    return racy, [ACCESS.unpack_from(memory, HEAD.size + i * ACCESS.size) for i in range(count)]


class RedflagCommand(gdb.Command):
    """Data races, as Redflag sees them."""

    def __init__(self):
        super().__init__("redflag", gdb.COMMAND_DATA, prefix=True)


class RaceCommand(gdb.Command):
    """The race that the program has stopped at: all accesses, with their threads, stacks and locks."""

    def __init__(self):
        super().__init__("redflag race", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        race = read_race()
        if race is None:
            print("No race so far at which the program was to stop: set on_race=stop or on_race=core in REDFLAG_OPTIONS.")
            return
        racy, accesses = race
        print(f"DATA RACE on {symbol_at(racy)}")
        for i, fields in enumerate(accesses):
            address, size, os_thread, thread, kind, frame_count, lock_count = fields[:7]
            frames, locks = fields[7:7 + MAX_FRAMES], fields[7 + MAX_FRAMES:]
            print(f"  {'earlier ' if i else ''}{KINDS.get(kind, 'access')} of {size} byte{'' if size == 1 else 's'} at {address:#x} "
                  f"by thread {thread_name(thread, os_thread)}")
            number = 0
            for pc in frames[:frame_count]:
                for function, where in places_of(pc):
                    print(f"    #{number} {function}  {where}")
                    number += 1
            for lock in locks[:lock_count]:
                print(f"    holds {symbol_at(lock)}")


RedflagCommand()
RaceCommand()
