/* What a program and the runtime of Redflag say to each other about races, in C: the functions behind redflag/race_error.hpp, which is what
 * C++ programs use. All are weak: without a runtime in the process they are null, and nothing is checked.
 *
 * The runtime never throws. It says that an access races, before the access; the program, which has the C++ library, throws. */
#ifndef REDFLAG_RACE_ABI_H_
#define REDFLAG_RACE_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens when an access races. Those from throw on happen at every racy access; the others after a report, which is written once for
 * each pair of places. Numbers: never changed. */
enum redflag_on_race {
  REDFLAG_ON_RACE_INHERIT = 0,     /* as the next outer scope, the thread or the process says */
  REDFLAG_ON_RACE_REPORT = 1,      /* report, and go on */
  REDFLAG_ON_RACE_STOP = 2,        /* ... and stop for a debugger */
  REDFLAG_ON_RACE_CORE = 3,        /* ... and end by SIGABRT, with a core file */
  REDFLAG_ON_RACE_ABORT = 4,       /* ... and end by SIGABRT */
  REDFLAG_ON_RACE_END = 5,         /* ... and end */
  REDFLAG_ON_RACE_THROW = 6,       /* throw redflag::data_race_error in place of the access */
  REDFLAG_ON_RACE_STOP_THREAD = 7, /* end the thread in place of the access, with its destructors */
  REDFLAG_ON_RACE_CALLBACK = 8     /* call a function of the program before the access */
};

/* One access of a race. */
struct redflag_race_access {
  uint64_t address;
  uint32_t bytes;
  uint32_t os_thread; /* as the system numbers it */
  uint32_t thread;    /* as reports number it */
  uint32_t kind;      /* bit 0: not atomic; bit 1: writes */
  uint32_t frame_count;
  uint32_t lock_count;
  uint64_t frames[64]; /* return addresses, innermost first */
  uint64_t locks[8];   /* held at the access, as far as is known */
};

/* A race. tools/redflag-gdb.py knows the layout, and goes by `version`. */
struct redflag_race_info {
  uint32_t version; /* 0: there is none */
  uint32_t access_count;
  uint64_t address;                        /* of the first racy byte */
  struct redflag_race_access accesses[17]; /* the one that is about to happen first */
};

typedef void (*redflag_race_callback)(const struct redflag_race_info* race, void* data);

struct redflag_race_policy {
  uint32_t on_race; /* enum redflag_on_race */
  uint32_t reserved;
  redflag_race_callback callback; /* for REDFLAG_ON_RACE_CALLBACK; null: the one of the process */
  void* data;
};

#define REDFLAG_RACE_ABI __attribute__((weak))

/* An access is about to happen: does it race? `own`: what to do then, or null for what scope, thread and process say. Answers what is left to
 * do for the caller in place of the access: REDFLAG_ON_RACE_THROW, ..._STOP_THREAD, or ..._CALLBACK before it; otherwise 0, and the
 * access is recorded. *race is good until the thread's next call. */
REDFLAG_RACE_ABI int redflag_check_access(const volatile void* memory, size_t bytes, int is_write,
                                          const struct redflag_race_policy* own, const struct redflag_race_info** race);
/* The access that the calling thread was refused last happens after all. `why`: it could not be thrown, and what the option throw_else says is
 * done first; null if that is as intended (a callback has returned). */
REDFLAG_RACE_ABI void redflag_refused_access_happens(const char* why);

/* The policy of the process or of the calling thread. The one that was there goes to `old` unless that is null. */
REDFLAG_RACE_ABI void redflag_set_process_policy(const struct redflag_race_policy* policy,
                                                 struct redflag_race_policy* old);
REDFLAG_RACE_ABI void redflag_set_thread_policy(const struct redflag_race_policy* policy,
                                                struct redflag_race_policy* old);
/* The policy for races on this memory, before any other; until the memory is freed, or REDFLAG_ON_RACE_INHERIT is given. */
REDFLAG_RACE_ABI void redflag_set_memory_policy(const volatile void* memory, size_t bytes,
                                                const struct redflag_race_policy* policy);

/* How the program throws, for accesses that the compiler has instrumented. */
struct redflag_thrower {
  uint32_t version; /* 1 */
  uint32_t reserved;
  /* Is it certain that what is thrown by (or, if is_exit, the thread ended by) the function that returns to this address is caught (unwinds
   * to the end)? Null if so, else why not. The calls between this function and that one are on the stack. */
  const char* (*why_not)(uintptr_t return_address, int is_exit);
  void (*throw_race)(void); /* does not return */
  void (*exit_thread)(void);
};
REDFLAG_RACE_ABI void redflag_set_thrower(const struct redflag_thrower* thrower);
/* The race that the calling thread is about to throw. */
REDFLAG_RACE_ABI const struct redflag_race_info* redflag_current_race(void);
/* The policy by which it was told so: for the callback. */
REDFLAG_RACE_ABI void redflag_current_policy(struct redflag_race_policy* policy);
/* Is an access allowed to throw although nobody is known to catch it (the option throw_unproven)? */
REDFLAG_RACE_ABI int redflag_throws_unproven(void);

#ifdef __cplusplus
}
#endif

#endif
