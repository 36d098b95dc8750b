"""Threads that have ended or not, and objects that end while somebody still looks at them.

Memory that is used too late is only read, and stays mapped, so that the programs end well.
"""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="missing-join",
        group="lifetime",
        title="The result is read before the join",
        racy="only the join orders the worker's write before what follows",
        right="the read comes after the join",
        code="""
$T result = 0;

void Worker() {
  result = 42;  //@
}

void Run(std::uint64_t) {
  std::thread worker = Spawn(Worker);
-|  Pause($delay);
+|  worker.join();
  Use(result);  //@
-|  worker.join();
}
""",
    ),
    Pattern(
        name="fork-join",
        group="lifetime",
        title="Two workers use one buffer, one after the other (RaceTrack, category A)",
        racy="the second worker starts before the first is joined",
        right="the first worker is joined before the second starts",
        code="""
$T buffer = 0;

void First() {
  buffer = 1;  //@
}

void Second() {
  buffer += 1;  //@
}

void Run(std::uint64_t) {
  std::thread first = Spawn(First);
-|  Pause($delay);
+|  first.join();
  std::thread second = Spawn(Second);
-|  first.join();
  second.join();
}
""",
    ),
    Pattern(
        name="detached",
        group="lifetime",
        title="A detached thread has ended long ago, and nobody waited for it",
        racy="that a thread has ended orders nothing: there is no join",
        right="the thread posts a semaphore that the reader waits for (POSIX 4.12)",
        headers=("semaphore.h",),
        code="""
$T note = 0;
sem_t done;

void Background() {
  note = 1;  //@
+|  sem_post(&done);
}

void Run(std::uint64_t) {
  sem_init(&done, 0, 0);
  Spawn(Background).detach();
-|  Pause($delay);
+|  sem_wait(&done);
  for (int i = 0; i < $few; ++i) Spawn([] {}).join();  // somebody else may get the ended thread's place
  Use(note);  //@
}
""",
    ),
    Pattern(
        name="vptr-in-destructor",
        group="lifetime",
        title="A destructor waits for a thread that still makes virtual calls (ThreadSanitizer, 6.3.10)",
        racy="the destructor ends the object's lifetime and resets its vptr, unordered with the call that reads it",
        right="the wait comes before the destructor (POSIX 4.12)",
        headers=("semaphore.h",),
        code="""
class Base {
 public:
  Base() { sem_init(&done_, 0, 0); }
  virtual int Value() { return 1; }
  void Done() { sem_post(&done_); }
  void WaitUntilDone() { sem_wait(&done_); }
  virtual ~Base() {  //@
-|    WaitUntilDone();
    sem_destroy(&done_);
  }

 private:
  sem_t done_;
};

class Derived : public Base {
 public:
  int Value() override { return 2; }
  ~Derived() override {  //@
    Keep(this);
  }
};

Base* object = nullptr;

void Caller() {
  Use(object->Value());  //@
  object->Done();
}

void Run(std::uint64_t) {
  object = new Derived;
  std::thread caller = Spawn(Caller);
  Pause(1);
+|  object->WaitUntilDone();
  delete object;
  caller.join();
}
""",
    ),
    Pattern(
        name="plain-refcount",
        group="lifetime",
        title="A reference count that is a plain int (ThreadSanitizer, 6.4.3)",
        racy="both owners change the plain count, unordered",
        right="the count is atomic",
        headers=("atomic",),
        code="""
-|int owners = 2;
+|std::atomic<int> owners = 2;

void Take() {
  owners += 1;  //@
}

void Drop() {
  const int left = owners -= 1;  //@
  if (left == 0) Use(left);
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] {
    Take();
    Drop();
    Drop();
  });
  std::thread b = Spawn(Drop);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="free-and-use",
        group="lifetime",
        title="A block is freed while another thread reads it",
        racy="the read of the object and the end of its storage are unordered",
        right="the reader is joined before the block is freed",
        headers=("cstdlib", "new"),
        choices=(
            {"make": "new (std::malloc(sizeof(Block))) Block", "end": "std::free(block)"},
            {"make": "new Block", "end": "delete block"},
        ),
        code="""
struct Block {
  char front[32] = {};
  $T value = 1;
};
Block* block = nullptr;

void Reader() {
  Use(block->value);  //@
}

void Freer() {
  $end;  //@
  Keep(&block);
}

void Run(std::uint64_t) {
  block = $make;
  std::thread reader = Spawn(Reader);
+|  reader.join();
  std::thread freer = Spawn(Freer);
-|  reader.join();
  freer.join();
}
""",
    ),
    Pattern(
        name="escaped-stack-object",
        group="lifetime",
        title="An object on the stack ends before the thread that got its address (ThreadSanitizer, 6.3.9)",
        racy="the destructor's write and the other thread's read are unordered",
        right="the other thread is joined before the scope ends",
        code="""
struct Box {
  $T value = 1;
  ~Box() {
    value = 0;  //@
    Keep(this);
  }
};

void Owner() {
  std::thread reader;
  {
    Box box;
    reader = Spawn([&box] {
      Use(box.value);  //@
    });
+|    reader.join();
  }
-|  reader.join();
}

void Run(std::uint64_t) {
  std::thread owner = Spawn(Owner);
  owner.join();
}
""",
    ),
    Pattern(
        name="leaked-thread-local",
        group="lifetime",
        title="The address of a thread's own variable gets out",
        racy="the owner writes its variable, unordered with the read through the leaked address",
        right="the reader is joined before the owner writes again",
        code="""
thread_local $T own = 1;

void Owner() {
  std::thread reader = Spawn([leaked = &own] {
    Use(*leaked);  //@
  });
+|  reader.join();
  own = 2;  //@
-|  reader.join();
  Keep(&own);
}

void Run(std::uint64_t) {
  std::thread owner = Spawn(Owner);
  owner.join();
}
""",
    ),
)
