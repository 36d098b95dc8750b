"""Containers and queues. Containers never grow beyond what they reserved, so that a racing reader stays inside them."""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="growing-container",
        group="structure",
        title="A container grows while it is iterated (ThreadSanitizer, 6.3.2)",
        racy="push_back writes what the iteration reads, unordered",
        right="both hold the mutex",
        headers=("mutex", "string", "vector"),
        choices=({"container": "std::vector<int>"}, {"container": "std::string"}),
        code="""
$container items;
std::mutex mu;

void Grow() {
  for (int i = 0; i < $few; ++i) {
+|    std::lock_guard lock(mu);
    items.push_back(static_cast<char>(i));  //@
  }
}

void Iterate() {
  int sum = 0;
+|  std::lock_guard lock(mu);
  const std::size_t size = items.size();  //@
  for (std::size_t i = 0; i < size; ++i) {
    sum += items[i];  //@
  }
  Use(sum);
}

void Run(std::uint64_t) {
  items.reserve(64);
  items.push_back(1);
  std::thread a = Spawn(Grow);
  std::thread b = Spawn(Iterate);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="erased-from-map",
        group="structure",
        title="A value is looked up in a map under the lock and used after another thread erased it",
        racy="the erasure ends the element's lifetime, unordered with the read after the unlock",
        right="the element is used under the lock",
        headers=("map", "mutex"),
        code="""
struct Entry {
  char front[32] = {};
  $T value = 1;
};
std::map<int, Entry> entries;
std::mutex mu;

void Reader() {
-|  Entry* entry = nullptr;
-|  {
-|    std::lock_guard lock(mu);
-|    entry = &entries[1];
-|  }
-|  Pause(1);
-|  Use(entry->value);  //@
+|  std::lock_guard lock(mu);
+|  Entry* entry = &entries[1];
+|  Use(entry->value);  //@
}

void Eraser() {
  Pause(50);
  std::lock_guard lock(mu);
  entries.erase(1);  //@
}

void Run(std::uint64_t) {
  entries[1].value = 5;
  std::thread a = Spawn(Reader);
  std::thread b = Spawn(Eraser);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="queue-by-pointer",
        group="structure",
        title="A message is queued by pointer, and its sender goes on using it",
        racy="the sender's next write comes after its unlock, unordered with the receiver's read",
        right="the message is queued by value",
        headers=("deque", "mutex"),
        code="""
struct Message {
  $T value = 0;
};
Message message;
-|std::deque<Message*> queue;
+|std::deque<Message> queue;
std::mutex mu;

void Sender() {
  for (int i = 0; i < $few; ++i) {
    message.value = i;  //@
    std::lock_guard lock(mu);
-|    queue.push_back(&message);
+|    queue.push_back(message);
  }
  message.value = -1;  //@
}

void Receiver() {
  for (int i = 0; i < $few; ++i) {
-|    Message* got = nullptr;
+|    Message got;
    const bool taken = Await([&got] {
      std::lock_guard lock(mu);
      if (queue.empty()) return false;
      got = queue.front();
      queue.pop_front();
      return true;
    });
    if (!taken) return;
-|    Use(got->value);  //@
+|    Use(got.value);  //@
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Receiver);
  std::thread b = Spawn(Sender);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="unlocked-cache",
        group="structure",
        title="Writers of a cache exclude each other, readers run right in (RaceTrack, category F)",
        racy="the reader of a slot holds no lock, so nothing orders it with the writer of the slot",
        right="the reader holds the lock",
        headers=("mutex",),
        code="""
struct Slot {
  int key = 0;
  $T value = 0;
};
Slot slots[4];
std::mutex mu;

void Store(int key) {
  std::lock_guard lock(mu);
  Slot& slot = slots[key % 4];
  slot.key = key;  //@
  slot.value = 2;  //@
}

void Find(int key) {
+|  std::lock_guard lock(mu);
  Slot& slot = slots[key % 4];
  const int found = slot.key;  //@
  Use(found);
  if (found == key) {
    Use(slot.value);  //@
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { Store(5); });
  std::thread b = Spawn([] { Find(5); });
  a.join();
  b.join();
}
""",
    ),
)
