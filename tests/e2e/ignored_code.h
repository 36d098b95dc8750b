// For ignored_code.cc, which ignores this file.
#ifndef REDFLAG_TESTS_E2E_IGNORED_CODE_H_
#define REDFLAG_TESTS_E2E_IGNORED_CODE_H_

inline int by_file;
inline void InHeader() { ++by_file; }

#endif  // REDFLAG_TESTS_E2E_IGNORED_CODE_H_
