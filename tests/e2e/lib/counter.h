// The shared library of shared_library.cc.
#ifndef REDFLAG_TESTS_E2E_LIB_COUNTER_H_
#define REDFLAG_TESTS_E2E_LIB_COUNTER_H_

void CountUp();
int CountNow();

#endif  // REDFLAG_TESTS_E2E_LIB_COUNTER_H_
