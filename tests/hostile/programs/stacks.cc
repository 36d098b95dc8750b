// Stacks that are out of the ordinary: deep recursion, exceptions through many frames, jumps out of handlers, coroutines by swapcontext.
// stacks WHAT [N]
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

int shared;

static void Race() {
  std::thread other([] { shared = 1; });
  shared = 2;
  other.join();
}

static long frames;
static volatile long sink;

__attribute__((noinline)) static long Down(long left) {
  if (left == 0) return 0;
  const long below = Down(left - 1);
  sink = below;
  return below + 1;
}

static void* Deep(void*) {
  std::printf("%ld frames\n", Down(frames));
  return nullptr;
}

static void DeepRecursion() {
  const size_t bytes = static_cast<size_t>(frames) * 128 + (1u << 20);
  void* stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) std::abort();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, stack, bytes) != 0) std::abort();
  pthread_t thread;
  if (pthread_create(&thread, &attributes, Deep, nullptr) != 0) std::abort();
  pthread_join(thread, nullptr);
}

struct Guard {
  ~Guard() { ++destroyed; }
  static int destroyed;
};
int Guard::destroyed;

__attribute__((noinline)) static void Throw(long left) {
  const Guard guard;
  if (left == 0) throw std::string("from below");
  Throw(left - 1);
  sink = left;
}

static sigjmp_buf back;
static void JumpOut(int) { siglongjmp(back, 1); }

__attribute__((noinline)) static void Spin(long left) {
  if (left > 0) Spin(left - 1);
  for (;;) sink = sink + 1;
}

static void Jumps() {
  struct sigaction action = {};
  action.sa_handler = JumpOut;
  sigaction(SIGALRM, &action, nullptr);
  volatile int jumps = 0;
  for (int i = 0; i < 200; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      ualarm(500, 0);
      Spin(i % 50);
    }
    jumps = jumps + 1;
  }
  std::printf("%d jumps\n", jumps);
}

static ucontext_t home, coroutine;
static int steps;
static void Coroutine() {
  for (int i = 0; i < 1000; ++i) {
    steps = steps + 1;
    Down(i % 20);
    swapcontext(&coroutine, &home);
  }
}

static void Coroutines() {
  static char stack[256 << 10];
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = sizeof stack;
  coroutine.uc_link = &home;
  makecontext(&coroutine, Coroutine, 0);
  for (int i = 0; i < 1000; ++i) {
    swapcontext(&home, &coroutine);
    Down(i % 10);
  }
  std::printf("%d steps\n", steps);
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  frames = argc > 2 ? std::atol(argv[2]) : 1000;
  if (what == "deep") DeepRecursion();
  if (what == "throw") {
    for (int i = 0; i < 20; ++i) {
      try {
        Throw(frames);
      } catch (const std::string& text) {
        sink = static_cast<long>(text.size());
      }
    }
    std::printf("%d destroyed\n", Guard::destroyed);
  }
  if (what == "jump") Jumps();
  if (what == "coroutine") Coroutines();
  Race();
  return 3;
}
