"""Barriers, condition variables, semaphores, latches and futures, used almost right."""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="missing-second-barrier",
        group="sync",
        title="Write, barrier, read the neighbour's cell, and on to the next round without a second barrier",
        racy="a read of one round and the neighbour's write of the next lie between the same two barriers",
        right="a barrier on either side of the reads (std::barrier, or POSIX 4.12)",
        headers=("barrier", "pthread.h"),
        choices=(
            {
                "barrier": "pthread_barrier_t phase",
                "init": "pthread_barrier_init(&phase, nullptr, 2)",
                "wait": "pthread_barrier_wait(&phase)",
            },
            {"barrier": "std::barrier<> phase(2)", "init": "Keep(&phase)", "wait": "phase.arrive_and_wait()"},
        ),
        code="""
$barrier;
$T cells[2] = {};

void Member(int me) {
  for (int round = 0; round < $few; ++round) {
    cells[me] = round;  //@
    $wait;
    Use(cells[1 - me]);  //@
+|    $wait;
  }
}

void Run(std::uint64_t) {
  $init;
  std::thread a = Spawn([] { Member(0); });
  std::thread b = Spawn([] { Member(1); });
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="unlocked-predicate",
        group="sync",
        title="The predicate of a condition variable is set without its mutex (ThreadSanitizer, 6.4.1)",
        racy="the predicate is written without the mutex under which it is read, and the item goes with it",
        right="the predicate is set under the mutex; whoever sees it set sees the item",
        headers=("chrono", "condition_variable", "mutex"),
        code="""
alignas(64) bool ready = false;
alignas(64) $T item = 0;
alignas(64) std::mutex mu;
std::condition_variable cv;

void Producer() {
  item = 42;  //@item
  {
+|    std::lock_guard lock(mu);
    ready = true;  //@flag
  }
  cv.notify_one();
}

void Consumer() {
  const auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(15);
  std::unique_lock lock(mu);
  while (!ready) {  //@flag
    if (cv.wait_until(lock, deadline) == std::cv_status::timeout) return;
  }
  lock.unlock();
  Use(item);  //@item
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Consumer);
  std::thread b = Spawn(Producer);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="semaphore-count",
        group="sync",
        title="A semaphore used as a mutex, with a count of two",
        racy="two threads may be inside at once, unordered",
        right="a count of one lets in one thread at a time, ordered by post and wait (std::, or POSIX 4.12)",
        headers=("semaphore", "semaphore.h"),
        choices=(
            {
                "semaphore": "sem_t gate",
                "init": "sem_init(&gate, 0, static_cast<unsigned>(count))",
                "wait": "sem_wait(&gate)",
                "post": "sem_post(&gate)",
            },
            {
                "semaphore": "std::counting_semaphore<2> gate(count)",
                "init": "Keep(&gate)",
                "wait": "gate.acquire()",
                "post": "gate.release()",
            },
        ),
        code="""
$T total = 0;
-|int count = 2;
+|int count = 1;
$semaphore;

void Add() {
  for (int i = 0; i < $few; ++i) {
    $wait;
    total += 1;  //@
    Pause(100);
    $post;
  }
}

void Subtract() {
  for (int i = 0; i < $few; ++i) {
    $wait;
    total -= 1;  //@
    Pause(100);
    $post;
  }
}

void Run(std::uint64_t) {
  $init;
  std::thread a = Spawn(Add);
  std::thread b = Spawn(Subtract);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="early-count-down",
        group="sync",
        title="A worker counts the latch down before it writes its part",
        racy="what comes after the count_down is not ordered before the return of wait",
        right="the part is written before the count_down",
        headers=("latch",),
        code="""
std::latch done(2);
$T parts[2] = {};

void Worker(int who) {
-|  done.count_down();
  parts[who] = 1;  //@
+|  done.count_down();
}

void Collector() {
  done.wait();
  Use(parts[0] + parts[1]);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { Worker(0); });
  std::thread b = Spawn([] { Worker(1); });
  std::thread c = Spawn(Collector);
  a.join();
  b.join();
  c.join();
}
""",
    ),
    Pattern(
        name="future-not-waited-for",
        group="sync",
        title="What a task of a thread pool leaves behind is read before its future is waited for",
        racy="only the wait orders the task before what follows",
        right="the read comes after the wait",
        headers=("deque", "future", "mutex"),
        code="""
$T result = 0;
std::deque<std::packaged_task<void()>> tasks;
std::mutex mu;

void PoolThread() {
  std::packaged_task<void()> task;
  {
    std::lock_guard lock(mu);
    task = std::move(tasks.front());
    tasks.pop_front();
  }
  task();
}

void Compute() {
  result = 42;  //@
}

void Run(std::uint64_t) {
  std::packaged_task<void()> task(Compute);
  std::future<void> future = task.get_future();
  {
    std::lock_guard lock(mu);
    tasks.push_back(std::move(task));
  }
  std::thread pool = Spawn(PoolThread);
-|  Pause($delay);
+|  future.wait();
  Use(result);  //@
  pool.join();
}
""",
    ),
    Pattern(
        name="late-promise",
        group="sync",
        title="A promise is kept before the value beside it is written",
        racy="what comes after set_value is not ordered before the return of get",
        right="the value is written before set_value",
        headers=("future",),
        code="""
std::promise<int> promise;
$T beside = 0;

void Producer() {
-|  promise.set_value(1);
  beside = 2;  //@
+|  promise.set_value(1);
}

void Consumer(std::future<int> future) {
  Use(future.get());
  Use(beside);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn([future = promise.get_future()]() mutable { Consumer(std::move(future)); });
  std::thread b = Spawn(Producer);
  a.join();
  b.join();
}
""",
    ),
)
