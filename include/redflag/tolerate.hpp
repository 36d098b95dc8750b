// ToleRace for C++: run on, correctly, in spite of a race that cannot be mended today.
//
// A thread takes a lock and accesses a variable; somewhere else a thread accesses the same variable and forgets the lock. Here the first one works on a
// copy while it is in its critical section, so that it sees one value throughout and nobody sees its intermediate ones; at the end the copy is
// published, unless somebody else has changed the variable meanwhile: that is detected, and a policy says what to do.
//
//   #include <redflag/tolerate.hpp>          // and link with -lredflag_tolerate
//
//   redflag::tolerant_mutex mutex("scripts");               // in place of std::mutex
//   redflag::tolerated<Script*> current(mutex, nullptr);    // in place of Script*
//
//   {
//     std::lock_guard lock(mutex);
//     if (current == nullptr) current = &fallback;          // the section's own copy
//     base = current;
//   }
//   current = nullptr;                                      // from outside: the race, now a relaxed access of one word
//
//   tolerant_mutex                 for std::mutex; tolerant_recursive_mutex, tolerant_timed_mutex, tolerant_shared_mutex, ...
//   tolerant_pthread_mutex m(p)    for a pthread_mutex_t that is there already
//   tolerated<T> v(m, initial, policy)         a scalar, a struct, an array or a pointer
//   tolerated<T&> v(m, variable, policy)       a variable that is there already
//   tolerated_target<T> v(m, *pointer, policy) the target of a pointer, inside of a section
//   auto s = v.lock(); s->x = 1;               takes the mutex, and works on the copy
//   read_once(x), write_once(x, value)         one relaxed access: from outside, or the only one of a section
//
// docs/tolerate.md says what is promised of which race, what it costs, and which options there are (REDFLAG_OPTIONS=tolerate=...).
#pragma once

#include "redflag/race_error.hpp"
#include "redflag/tolerate/mutex.hpp"
#include "redflag/tolerate/outside.hpp"
#include "redflag/tolerate/section.hpp"
#include "redflag/tolerate/variable.hpp"
