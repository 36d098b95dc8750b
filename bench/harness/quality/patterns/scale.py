"""What a bounded memory of past accesses, or an update of it that is not atomic, loses."""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="simultaneous",
        group="scale",
        title="Both accesses at the same instant",
        racy="two plain writes, unordered: the relaxed rendezvous before them orders nothing",
        right="the writes are atomic",
        headers=("atomic",),
        choices=({"spins": "20000"}, {"spins": "60000"}),
        code="""
std::atomic<int> arrived = 0;
-|int cell = 0;
+|std::atomic<int> cell = 0;

void Meet() {
  arrived.fetch_add(1, std::memory_order_relaxed);
  for (int i = 1; i < $spins && arrived.load(std::memory_order_relaxed) < 2; ++i) {
    if (i % 1000 == 0) std::this_thread::yield();
  }
}

void First() {
  Meet();
  cell = 1;  //@
}

void Second() {
  Meet();
  cell = 2;  //@
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
        name="distant",
        group="scale",
        title="More than a million accesses of both threads lie between the two",
        racy="the write and the read are unordered, however far apart: only the join would order them",
        right="the read comes after the join",
        headers=("vector",),
        choices=({"many": "200000"}, {"many": "400000"}),
        code="""
$T far = 0;

[[gnu::noinline]] void Fill(std::vector<int>& bulk, std::size_t at) {
  bulk[at] += 1;
}

void Writer() {
  far = 1;  //@
  std::vector<int> bulk(65536);
  for (std::size_t i = 0; i < $many; ++i) Fill(bulk, i % 65536);
}

void Run(std::uint64_t) {
  std::thread writer = Spawn(Writer);
  std::vector<int> bulk(65536);
  for (std::size_t i = 0; i < $many; ++i) Fill(bulk, i % 65536);
-|  Pause($delay);
+|  writer.join();
  Use(far);  //@
-|  writer.join();
}
""",
    ),
    Pattern(
        name="many-readers",
        group="scale",
        title="One of several readers is not waited for before the write",
        racy="the forgotten reader is joined only after the write",
        right="every reader is joined before the write",
        headers=("vector",),
        choices=({"readers": "6"}, {"readers": "9"}),
        code="""
$T cell = 1;

void Forgotten() {
  Use(cell);  //@
}

void Reader() {
  Use(cell);
}

void Run(std::uint64_t) {
  std::thread forgotten = Spawn(Forgotten);
-|  Pause($delay);
+|  forgotten.join();
  std::vector<std::thread> readers;
  for (int i = 0; i < $readers; ++i) readers.push_back(Spawn(Reader));
  for (std::thread& reader : readers) reader.join();
  cell = 2;  //@
-|  forgotten.join();
}
""",
    ),
    Pattern(
        name="ended-places",
        group="scale",
        title="A thread that ended unjoined, and many threads after it",
        racy="the first thread is joined only after the read",
        right="the first thread is joined before the read",
        choices=({"later": "24"}, {"later": "40"}),
        code="""
$T note = 0;

void First() {
  note = 1;  //@
}

void Run(std::uint64_t) {
  std::thread first = Spawn(First);
-|  Pause($delay);
+|  first.join();
  for (int i = 0; i < $later; ++i) Spawn([] {}).join();
  Use(note);  //@
-|  first.join();
}
""",
    ),
    Pattern(
        name="two-in-a-word",
        group="scale",
        title="Two races in one word, one after the other",
        racy="each byte is a memory location of its own, written and read unordered",
        right="both bytes are accessed under one mutex",
        headers=("mutex",),
        code="""
struct Word {
  alignas(8) unsigned char low = 0;
  unsigned char high = 0;
};
Word word;
std::mutex mu;

void Writer() {
+|  std::lock_guard lock(mu);
  word.low = 1;  //@low
  word.high = 1;  //@high
}

void Reader() {
+|  std::lock_guard lock(mu);
  Use(word.low);  //@low
  Use(word.high);  //@high
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Writer);
  std::thread b = Spawn(Reader);
  a.join();
  b.join();
}
""",
    ),
)
