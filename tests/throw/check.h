// What the programs of this folder share: they check themselves, and end with status 1 at the first thing that is wrong.
#ifndef REDFLAG_TESTS_THROW_CHECK_H_
#define REDFLAG_TESTS_THROW_CHECK_H_

#include <cstdio>
#include <cstdlib>

#include "../e2e/invisible.h"

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                              \
    }                                                                        \
  } while (0)

#define CHECK_THROWS(statement)                  \
  do {                                           \
    bool is_thrown = false;                      \
    try {                                        \
      statement;                                 \
    } catch (const redflag::data_race_error&) {  \
      is_thrown = true;                          \
    }                                            \
    CHECK(is_thrown && "thrown by " #statement); \
  } while (0)

#endif
