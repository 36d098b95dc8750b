"""Two accesses with nothing between them, and neighbours that only look like the same memory location."""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="counter",
        group="plain",
        title="Two threads change a counter",
        racy="neither change happens before the other, and neither is atomic",
        right="both changes are under one mutex",
        headers=("mutex",),
        code="""
$T count = 0;
std::mutex mu;

void Add() {
+|  std::lock_guard lock(mu);
  count += 1;  //@
}

void Subtract() {
+|  std::lock_guard lock(mu);
  count -= 1;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Add);
  std::thread b = Spawn(Subtract);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="flag-bits",
        group="plain",
        title="Two threads clear one bit and set another, each with the same values (DataCollider, figure 4)",
        racy="both threads write the plain word, unordered; that they write the same values does not matter",
        right="each update is one atomic operation",
        headers=("atomic",),
        code="""
-|unsigned flags = 5;
+|std::atomic<unsigned> flags = 5;

void AddToCache() {
  flags &= ~4u;  //@
  flags |= 8u;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(AddToCache);
  std::thread b = Spawn(AddToCache);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="unlocked-read",
        group="plain",
        title="Writes are locked, the read is not (RaceTrack, category D)",
        racy="the read holds no lock, so no unlock of the writer orders it",
        right="the read holds the lock of the writes",
        headers=("mutex",),
        code="""
$T total = 0;
std::mutex mu;

void Writer() {
  for (int i = 0; i < $few; ++i) {
    std::lock_guard lock(mu);
    total += i;  //@
  }
}

void Reader() {
+|  std::lock_guard lock(mu);
  Use(total);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Writer);
  std::thread b = Spawn(Reader);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="copied-range",
        group="plain",
        title="A range is copied while one byte is written: inside it, or right behind it",
        racy="byte 40 is part of the 64 bytes that are copied, unordered with the write",
        right="only bytes 0 to 39 are copied; byte 40 is another memory location",
        headers=("cstring",),
        code="""
char packet[64] = {};
char copy[64] = {};
-|std::size_t length = 64;
+|std::size_t length = 40;

void Copy() {
  std::memcpy(copy, packet, length);  //@
  Keep(copy);
}

void Patch() {
  packet[40] = 1;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Copy);
  std::thread b = Spawn(Patch);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="adjacent",
        group="plain",
        title="Elements of one array: overlapping, or side by side in one word",
        racy="element 3 is written by both threads, unordered",
        right="element 4 is written by one thread alone; neighbours are different memory locations (intro.memory)",
        choices=({"E": "unsigned char"}, {"E": "short"}, {"E": "bool"}),
        code="""
alignas(16) $E cells[8] = {};
-|int second = 3;
+|int second = 4;

void First() {
  for (int i = 0; i < 4; ++i) cells[i] = 1;  //@
}

void Second() {
  cells[second] = 0;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(First);
  std::thread b = Spawn(Second);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="bit-fields",
        group="plain",
        title="Neighbouring bit-fields (ThreadSanitizer, 6.3.7)",
        racy="adjacent bit-fields are one memory location (intro.memory), written by both threads, unordered",
        right="a bit-field of width 0 makes them two memory locations",
        code="""
struct Flags {
  unsigned a : 4;
+|  unsigned : 0;
  unsigned b : 4;
};
Flags flags = {};

void SetA() {
  flags.a = 3;  //@
}

void SetB() {
  flags.b = 5;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(SetA);
  std::thread b = Spawn(SetB);
  a.join();
  b.join();
}
""",
    ),
)
