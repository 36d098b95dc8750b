// Much of everything at once. storm WHAT SECONDS|COUNT
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

int shared;

static void Race() {
  std::thread other([] { shared = 1; });
  shared = 2;
  other.join();
}

// Each of 64 threads goes through all that is intercepted, in an order of its own.
static void Everything(long seconds) {
  constexpr int kThreads = 64;
  std::atomic<bool> stop{false};
  std::atomic<long> rounds{0};
  static std::mutex mutex;
  static std::shared_mutex shared_mutex;
  static std::recursive_mutex recursive;
  static std::timed_mutex timed;
  static std::condition_variable condition;
  static pthread_spinlock_t spin;
  static sem_t semaphore;
  static long guarded[5];
  static pthread_key_t key;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  sem_init(&semaphore, 0, 4);
  pthread_key_create(&key, std::free);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      unsigned state = static_cast<unsigned>(i) * 2654435761u + 1;
      int pipes[2];
      if (pipe(pipes) != 0) std::abort();
      const int event = eventfd(0, EFD_NONBLOCK);
      while (!stop.load(std::memory_order_relaxed)) {
        state = state * 1664525u + 1013904223u;
        switch (state >> 24 & 15) {
          case 0: {
            const std::lock_guard<std::mutex> guard(mutex);
            ++guarded[0];
            condition.notify_one();
            break;
          }
          case 1: {
            std::unique_lock<std::mutex> guard(mutex);
            condition.wait_for(guard, std::chrono::microseconds(50));
            ++guarded[0];
            break;
          }
          case 2: {
            const std::shared_lock<std::shared_mutex> guard(shared_mutex);
            if (guarded[1] < 0) std::abort();
            break;
          }
          case 3: {
            const std::lock_guard<std::shared_mutex> guard(shared_mutex);
            ++guarded[1];
            break;
          }
          case 4: {
            const std::lock_guard<std::recursive_mutex> guard(recursive);
            const std::lock_guard<std::recursive_mutex> again(recursive);
            ++guarded[2];
            break;
          }
          case 5:
            if (timed.try_lock_for(std::chrono::microseconds(20))) {
              ++guarded[3];
              timed.unlock();
            }
            break;
          case 6:
            pthread_spin_lock(&spin);
            ++guarded[4];
            pthread_spin_unlock(&spin);
            break;
          case 7:
            sem_wait(&semaphore);
            sem_post(&semaphore);
            break;
          case 8: {
            char text[64];
            std::snprintf(text, sizeof text, "%u", state);
            if (write(pipes[1], text, 8) != 8 || read(pipes[0], text, 8) != 8) std::abort();
            break;
          }
          case 9: {
            char* block = static_cast<char*>(std::malloc(state >> 16 & 4095));
            block = static_cast<char*>(std::realloc(block, (state >> 12 & 8191) + 1));
            std::memset(block, 1, 1);
            std::free(block);
            break;
          }
          case 10: {
            void* page = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            static_cast<volatile char*>(page)[state >> 20 & 65535] = 1;
            munmap(page, 65536);
            break;
          }
          case 11: {
            uint64_t one = 1;
            if (write(event, &one, sizeof one) < 0 || read(event, &one, sizeof one) < 0) std::abort();
            break;
          }
          case 12:
            std::thread([] {}).join();
            break;
          case 13: {
            std::string text(state >> 20 & 255, 'x');
            std::vector<std::string> copies(3, text);
            if (copies[2].size() != text.size()) std::abort();
            break;
          }
          case 14: {
            const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
            if (null >= 0) close(null);
            break;
          }
          case 15:
            if (pthread_getspecific(key) == nullptr) pthread_setspecific(key, std::malloc(8));
            break;
        }
        rounds.fetch_add(1, std::memory_order_relaxed);
      }
      close(pipes[0]);
      close(pipes[1]);
      close(event);
    });
  }
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("everything %d\n", rounds.load() > 1000);
}

static std::atomic<long> handled;
static void Handle(int) { handled.fetch_add(1, std::memory_order_relaxed); }

static void Signals(long count) {
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  std::atomic<bool> stop{false};
  std::mutex mutex;
  long sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const std::lock_guard<std::mutex> guard(mutex);
        std::string text(40, 'x');
        sum += static_cast<long>(text.size());
      }
    });
  }
  for (long i = 0; i < count; ++i) pthread_kill(threads[static_cast<size_t>(i) % 4].native_handle(), SIGUSR1);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("signals %d %d\n", handled.load() > 0, sum % 40 == 0);
}

static void Libraries(long count, const char* library) {
  long answers = 0;
  for (long i = 0; i < count; ++i) {
    void* handle = dlopen(library, RTLD_NOW);
    if (handle == nullptr) std::abort();
    answers += reinterpret_cast<int (*)()>(dlsym(handle, "answer"))();
    dlclose(handle);
  }
  std::printf("answers %ld\n", answers);
}

static void Forks(long count) {
  long right = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (long j = 0; j < count / 2; ++j) {
        const pid_t child = fork();
        if (child == 0) {
          char* block = static_cast<char*>(std::malloc(100));
          block[0] = 1;
          std::free(block);
          _exit(static_cast<int>(j % 100));
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) std::abort();
        const std::lock_guard<std::mutex> guard(mutex);
        right += WIFEXITED(status) && WEXITSTATUS(status) == j % 100;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("forks %ld\n", right);
}

static void Threads(long count) {
  long sum = 0;
  std::atomic<long> detached{0};
  for (long i = 0; i < count; ++i) {
    if (i % 16 == 0) {
      std::thread([&] { detached.fetch_add(1); }).detach();
    } else {
      std::thread([&] { ++sum; }).join();
    }
  }
  while (detached.load() < (count + 15) / 16) std::this_thread::yield();
  std::printf("threads %ld %ld\n", sum, detached.load());
}

// Many threads create and join at once, so that handles pass from one to another all the time. What a child has written its joiner may read.
static void Joins(long seconds) {
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      for (long round = 1; !stop.load(std::memory_order_relaxed); ++round) {
        long seen = 0;
        std::thread([&] { seen = round; }).join();
        if (seen != round) wrong.fetch_add(1);
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("joins %ld\n", wrong.load());
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const long amount = argc > 2 ? std::atol(argv[2]) : 1;
  if (what == "everything") Everything(amount);
  if (what == "signals") Signals(amount);
  if (what == "libraries") Libraries(amount, argv[3]);
  if (what == "forks") Forks(amount);
  if (what == "threads") Threads(amount);
  if (what == "joins") Joins(amount);
  Race();
  return 3;
}
