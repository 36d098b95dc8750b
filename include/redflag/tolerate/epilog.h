/* The epilog table of ToleRace (Nagpal, Pattabiraman, Kirovski, Zorn: section 2), for C and C++: what becomes of a word when the critical
 * section that worked on a copy of it ends. This is the only place that has the table: tolerate/engine.hpp asks it, and so does code that a compiler
 * generates, through the functions of libredflag_tolerate below.
 *
 *   original   what the word held when the section began
 *   local      what the section made of its own copy
 *   global     what the word holds now
 *
 *                     global == original      global != original
 *   local == original   leave                   leave (the section came first, then the other)
 *   local != original   publish                 conflict: both changed it, no order of the two explains it */
#ifndef REDFLAG_TOLERATE_EPILOG_H_
#define REDFLAG_TOLERATE_EPILOG_H_

#include <stdint.h>

typedef enum redflag_tolerate_action {
  REDFLAG_TOLERATE_LEAVE = 0,
  REDFLAG_TOLERATE_PUBLISH = 1, /* by compare-exchange: the word may change between this answer and the store */
  REDFLAG_TOLERATE_CONFLICT = 2
} redflag_tolerate_action;

static inline redflag_tolerate_action redflag_tolerate_decide(uint64_t original, uint64_t local, uint64_t global) {
  if (local == original) return REDFLAG_TOLERATE_LEAVE;
  return global == original ? REDFLAG_TOLERATE_PUBLISH : REDFLAG_TOLERATE_CONFLICT;
}

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What happens to a word in conflict. The numbers are those of redflag::on_conflict. */
typedef enum redflag_tolerate_policy {
  REDFLAG_TOLERATE_REPORT = 0,     /* report it; the section's value is published */
  REDFLAG_TOLERATE_LOCAL_WINS = 1, /* the section's value is published */
  REDFLAG_TOLERATE_OTHER_WINS = 2, /* the other's value stays */
  REDFLAG_TOLERATE_ABORT = 3       /* report it; abort() */
} redflag_tolerate_policy;

/* A critical section of generated code: one static object for each. */
typedef struct redflag_tolerate_site {
  const char* section; /* its name; may be null */
  const char* file;    /* where it is; may be null */
  int32_t line;
  int32_t policy; /* redflag_tolerate_policy */
  int32_t choice; /* belongs to the library; 0 at first */
  int32_t reserved;
} redflag_tolerate_site;

/* The table, as a function of the library. */
redflag_tolerate_action redflag_tolerate_table(uint64_t original, uint64_t local, uint64_t global);

/* Is the section one that is tolerated in this process (REDFLAG_OPTIONS=tolerate=...)? Asked once at its beginning: 0 means that it works on the
 * variables themselves. */
int redflag_tolerate_chosen(redflag_tolerate_site* site);

/* The whole epilog of one variable of 1, 2, 4 or 8 aligned bytes: asks the table, publishes by compare-exchange, and settles and reports a conflict.
 * Answers what the table said in the end. */
redflag_tolerate_action redflag_tolerate_epilog(redflag_tolerate_site* site, void* global, uint64_t original,
                                                uint64_t local, uint32_t bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* REDFLAG_TOLERATE_EPILOG_H_ */
