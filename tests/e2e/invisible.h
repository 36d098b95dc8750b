// How a program of this folder puts accesses of several threads in a known order without the detector seeing any: a count
// of arrivals that only the kernel changes, through the futex system call. No instrumented access, no atomic operation and
// no intercepted function is involved, so nothing here orders anything as far as the detector knows; the accesses really
// happen in this order in every run.
//
//   thread 1: x = 1; Arrive();     thread 2: Await(1); x = 2;         2 after 1
//   everybody: Arrive(); Await(4);                                    four threads meet
//
// The count only grows: later steps use higher numbers. Nothing waits for ever: a program that hangs is killed.
#ifndef REDFLAG_TESTS_E2E_INVISIBLE_H_
#define REDFLAG_TESTS_E2E_INVISIBLE_H_

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The compiler must not drop a value that the program only reads, nor leave reading it to the assembler.
#define USE(value) __asm__ volatile("" : : "r"(value))

#define INVISIBLE __attribute__((no_sanitize("thread"), noinline, unused))
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))

static volatile int arrivals;

INVISIBLE static void Arrive(void) {
  // Adds 1 and wakes everybody.
  syscall(SYS_futex, &arrivals, FUTEX_WAKE_OP, 0x7fffffff, 0x7fffffff, &arrivals,
          FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, -1));
}

INVISIBLE static void Await(int count) {
  for (int tries = 0; tries < 600; ++tries) {
    const int now = arrivals;
    if (now >= count) return;
    struct timespec tenth = {0, 100000000};
    syscall(SYS_futex, &arrivals, FUTEX_WAIT, now, &tenth, 0, 0);
  }
  abort();
}

__attribute__((constructor, no_sanitize("thread"))) static void DieInTime(void) { alarm(240); }

#endif  // REDFLAG_TESTS_E2E_INVISIBLE_H_
