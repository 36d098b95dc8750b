// Each kind of lock orders accesses in this run by sections that have nothing to do with them: one thread uses its variable before its section, another
// one after a later section of its own. Readers of a reader-writer lock, too, if a writer's section comes after theirs.
// DETECTORS: hb hybrid
// BY(recursive): hybrid
// BY(timed): hybrid
// BY(tried): hybrid
// BY(spin): hybrid
// BY(writers): hybrid
// BY(reader_first): hybrid
// BY(reader_last): hybrid
// BY(shared): hybrid
// BY(c11): hybrid
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "invisible.h"

int recursive, timed, tried, spinned, by_writers, reader_first, reader_last, shared, c11;
int unrelated;

template <typename First, typename Second>
void InTurn(int step, First first, Second second) {
  std::thread one([&] {
    first();
    Arrive();
  });
  std::thread other([&] {
    Await(step);
    second();
  });
  one.join();
  other.join();
}

void Recursive() {
  std::recursive_mutex mutex;
  const auto touch = [&] {
    const std::lock_guard<std::recursive_mutex> outer(mutex);
    const std::lock_guard<std::recursive_mutex> inner(mutex);
    ++unrelated;
  };
  InTurn(
      1,
      [&] {
        recursive = 1;  // RACE(recursive) CHAIN(recursive): lambda < lambda
        touch();
      },
      [&] {
        touch();
        recursive = 2;  // RACE(recursive) CHAIN(recursive): lambda < lambda
      });
}

void Timed() {
  std::timed_mutex mutex;
  const auto touch = [&] {
    if (!mutex.try_lock_for(std::chrono::minutes(1))) return;
    ++unrelated;
    mutex.unlock();
  };
  InTurn(
      2,
      [&] {
        timed = 1;  // RACE(timed) CHAIN(timed): lambda < lambda
        touch();
      },
      [&] {
        touch();
        timed = 2;  // RACE(timed) CHAIN(timed): lambda < lambda
      });
}

void Tried() {
  std::mutex mutex;
  const auto touch = [&] {
    if (!mutex.try_lock()) return;
    ++unrelated;
    mutex.unlock();
  };
  InTurn(
      3,
      [&] {
        tried = 1;  // RACE(tried) CHAIN(tried): lambda < lambda
        touch();
      },
      [&] {
        touch();
        tried = 2;  // RACE(tried) CHAIN(tried): lambda < lambda
      });
}

void Spin() {
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  const auto touch = [&] {
    pthread_spin_lock(&lock);
    ++unrelated;
    pthread_spin_unlock(&lock);
  };
  InTurn(
      4,
      [&] {
        spinned = 1;  // RACE(spin) CHAIN(spin): lambda < lambda
        touch();
      },
      [&] {
        touch();
        spinned = 2;  // RACE(spin) CHAIN(spin): lambda < lambda
      });
  pthread_spin_destroy(&lock);
}

void ReadersAndWriters() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const auto write = [&] {
    pthread_rwlock_wrlock(&lock);
    ++unrelated;
    pthread_rwlock_unlock(&lock);
  };
  const auto read = [&] {
    pthread_rwlock_rdlock(&lock);
    USE(unrelated);
    pthread_rwlock_unlock(&lock);
  };
  InTurn(
      5,
      [&] {
        by_writers = 1;  // RACE(writers) CHAIN(writers): lambda < lambda
        write();
      },
      [&] {
        write();
        by_writers = 2;  // RACE(writers) CHAIN(writers): lambda < lambda
      });
  InTurn(
      6,
      [&] {
        reader_first = 1;  // RACE(reader_first) CHAIN(reader_first): lambda < lambda
        read();
      },
      [&] {
        write();
        reader_first = 2;  // RACE(reader_first) CHAIN(reader_first): lambda < lambda
      });
  InTurn(
      7,
      [&] {
        reader_last = 1;  // RACE(reader_last) CHAIN(reader_last): lambda < lambda
        write();
      },
      [&] {
        read();
        reader_last = 2;  // RACE(reader_last) CHAIN(reader_last): lambda < lambda
      });
}

void Shared() {
  std::shared_mutex mutex;
  InTurn(
      8,
      [&] {
        shared = 1;  // RACE(shared) CHAIN(shared): lambda < lambda
        const std::unique_lock<std::shared_mutex> guard(mutex);
        ++unrelated;
      },
      [&] {
        {
          const std::shared_lock<std::shared_mutex> guard(mutex);
          USE(unrelated);
        }
        shared = 2;  // RACE(shared) CHAIN(shared): lambda < lambda
      });
}

void C11() {
  mtx_t mutex;
  mtx_init(&mutex, mtx_plain);
  const auto touch = [&] {
    mtx_lock(&mutex);
    ++unrelated;
    mtx_unlock(&mutex);
  };
  InTurn(
      9,
      [&] {
        c11 = 1;  // RACE(c11) CHAIN(c11): lambda < lambda
        touch();
      },
      [&] {
        touch();
        c11 = 2;  // RACE(c11) CHAIN(c11): lambda < lambda
      });
  mtx_destroy(&mutex);
}

int main() {
  Recursive();
  Timed();
  Tried();
  Spin();
  ReadersAndWriters();
  Shared();
  C11();
}
