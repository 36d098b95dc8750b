"""Publication of a value by something that is not synchronization, and initialization that happens twice.

What publishes and what is published are cache lines apart, so that a report of one does not keep a tool from the other.
"""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="done-flag",
        group="publication",
        title="A plain bool says that the result is there (ThreadSanitizer, 6.3.3)",
        racy="the flag is written and read unordered, and so is the result behind it",
        right="the flag is atomic, sequentially consistent",
        headers=("atomic",),
        code="""
alignas(64) $T result = 0;
-|alignas(64) bool done = false;
+|alignas(64) std::atomic<bool> done = false;

void Worker() {
  result = 42;  //@result
  done = true;  //@flag
}

[[gnu::noinline]] bool Done() { return done; }  //@flag

void Watcher() {
  if (!Await(Done)) return;
  Use(result);  //@result
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Worker);
  std::thread b = Spawn(Watcher);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="published-pointer",
        group="publication",
        title="A plain pointer publishes an object (ThreadSanitizer, 6.3.4)",
        racy="the pointer is written and read unordered, and so is the object behind it",
        right="the pointer is stored with release and loaded with acquire",
        headers=("atomic",),
        code="""
struct Item {
  $T value = 0;
};
alignas(64) Item storage;
-|alignas(64) Item* item = nullptr;
+|alignas(64) std::atomic<Item*> item = nullptr;

void Publisher() {
  storage.value = 7;  //@object
-|  item = &storage;  //@pointer
+|  item.store(&storage, std::memory_order_release);  //@pointer
}

-|[[gnu::noinline]] Item* Peek() { return item; }  //@pointer
+|[[gnu::noinline]] Item* Peek() { return item.load(std::memory_order_acquire); }  //@pointer

void Subscriber() {
  Item* mine = nullptr;
  Await([&mine] { return (mine = Peek()) != nullptr; });
  if (mine == nullptr) return;
  Use(mine->value);  //@object
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Publisher);
  std::thread b = Spawn(Subscriber);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="double-checked",
        group="publication",
        title="Double-checked locking (ThreadSanitizer, 6.3.8; RaceTrack, category E)",
        racy="the first check holds no lock, so neither the pointer nor the object behind it is ordered with its writer",
        right="the pointer is stored with release, and the first check acquires",
        headers=("atomic", "mutex"),
        code="""
struct Config {
  $T value = 0;
};
alignas(64) Config storage;
-|alignas(64) Config* instance = nullptr;
+|alignas(64) std::atomic<Config*> instance = nullptr;
std::mutex mu;

Config* Get() {
-|  Config* seen = instance;  //@pointer
+|  Config* seen = instance.load(std::memory_order_acquire);  //@pointer
  if (seen != nullptr) return seen;
  std::lock_guard lock(mu);
  seen = instance;
  if (seen == nullptr) {
    seen = &storage;
    seen->value = 7;  //@object
-|    instance = seen;  //@pointer
+|    instance.store(seen, std::memory_order_release);  //@pointer
  }
  return seen;
}

void User(int delay) {
  Pause(delay);
  Config* config = Get();
  Use(config->value);  //@object
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { User(1); });
  std::thread b = Spawn([] { User($delay); });
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="lazy-init",
        group="publication",
        title="Unlocked lazy initialization (ThreadSanitizer, 6.3.5; RaceTrack, category H)",
        racy="check and store of the pointer are unordered between threads, and so is the object behind it",
        right="a static local variable is initialized once, and that synchronizes with every later pass",
        code="""
struct Table {
  $T value = 0;
};
alignas(64) Table slots[2];
-|alignas(64) Table* table = nullptr;

Table* Get(int who) {
-|  Table* seen = table;  //@pointer
-|  if (seen == nullptr) {
-|    seen = &slots[who];
-|    seen->value = 7;  //@object
-|    table = seen;  //@pointer
-|  }
-|  return seen;
+|  static Table* const table = [who] {
+|    slots[who].value = 7;  //@object
+|    return &slots[who];
+|  }();
+|  return table;  //@pointer
}

void User(int who) {
  Table* mine = Get(who);
  Use(mine->value);  //@object
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { User(0); });
  std::thread b = Spawn([] { User(1); });
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="missing-call-once",
        group="publication",
        title="A table is set up behind a plain flag where call_once belongs",
        racy="the flag is checked and set unordered, and the table is filled unordered with its use",
        right="call_once runs the setup once and returns to nobody before it is done",
        headers=("mutex",),
        code="""
alignas(64) $T table[4] = {};
-|alignas(64) bool ready = false;
+|std::once_flag once;

void Fill() {
  for (int i = 0; i < 4; ++i) table[i] = 7;  //@table
}

void User(int index) {
-|  if (!ready) {  //@flag
-|    Fill();
-|    ready = true;  //@flag
-|  }
+|  std::call_once(once, Fill);
  Use(table[index]);  //@table
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { User(1); });
  std::thread b = Spawn([] { User(2); });
  a.join();
  b.join();
}
""",
    ),
)
