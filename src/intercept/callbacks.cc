// Functions of libc that call back into the program before they return: the place that called them is on the stack of what they
// call (calls.h). Functions of other libraries that do so are not known here: one frame is missing from the stacks of their callbacks.
#include <dirent.h>
#include <ftw.h>
#include <link.h>
#include <search.h>
#include <signal.h>

#include <cstdlib>

#include "intercept/calls.h"
#include "intercept/real.h"

namespace redflag {

// Result, name, parameters, arguments.
#define REDFLAG_CALLS_BACK(result, name, parameters, arguments) \
  REDFLAG_INTERCEPT(result, name, REDFLAG_UNPACK parameters) {  \
    REDFLAG_LEFT_BY_EXCEPTIONS;                                 \
    const Call call(REDFLAG_CALLER);                            \
    return real::name arguments;                                \
  }
#define REDFLAG_UNPACK(...) __VA_ARGS__

// ---- Sorting and searching ----

using Compare = int (*)(const void*, const void*);
using CompareWith = int (*)(const void*, const void*, void*);

REDFLAG_CALLS_BACK(void, qsort, (void* array, size_t count, size_t bytes, Compare compare),
                   (array, count, bytes, compare))
REDFLAG_CALLS_BACK(void, qsort_r, (void* array, size_t count, size_t bytes, CompareWith compare, void* argument),
                   (array, count, bytes, compare, argument))
REDFLAG_CALLS_BACK(void*, bsearch, (const void* key, const void* array, size_t count, size_t bytes, Compare compare),
                   (key, array, count, bytes, compare))
REDFLAG_CALLS_BACK(void*, lfind, (const void* key, const void* array, size_t* count, size_t bytes, Compare compare),
                   (key, array, count, bytes, compare))
REDFLAG_CALLS_BACK(void*, lsearch, (const void* key, void* array, size_t* count, size_t bytes, Compare compare),
                   (key, array, count, bytes, compare))
REDFLAG_CALLS_BACK(void*, tsearch, (const void* key, void** root, Compare compare), (key, root, compare))
REDFLAG_CALLS_BACK(void*, tfind, (const void* key, void* const* root, Compare compare), (key, root, compare))
REDFLAG_CALLS_BACK(void*, tdelete, (const void* key, void** root, Compare compare), (key, root, compare))
REDFLAG_CALLS_BACK(void, twalk, (const void* root, void (*action)(const void*, VISIT, int)), (root, action))
REDFLAG_CALLS_BACK(void, twalk_r, (const void* root, void (*action)(const void*, VISIT, void*), void* argument),
                   (root, action, argument))
REDFLAG_CALLS_BACK(void, tdestroy, (void* root, void (*action)(void*)), (root, action))

// ---- Directories ----

using Select = int (*)(const dirent*);
using Order = int (*)(const dirent**, const dirent**);

REDFLAG_CALLS_BACK(int, scandir, (const char* path, dirent*** names, Select select, Order order),
                   (path, names, select, order))
REDFLAG_CALLS_BACK(int, scandir64, (const char* path, dirent*** names, Select select, Order order),
                   (path, names, select, order))
REDFLAG_CALLS_BACK(int, ftw, (const char* path, int (*visit)(const char*, const struct stat*, int), int files),
                   (path, visit, files))
REDFLAG_CALLS_BACK(int, ftw64, (const char* path, int (*visit)(const char*, const struct stat*, int), int files),
                   (path, visit, files))
using VisitTree = int (*)(const char*, const struct stat*, int, FTW*);
REDFLAG_CALLS_BACK(int, nftw, (const char* path, VisitTree visit, int files, int flags), (path, visit, files, flags))
REDFLAG_CALLS_BACK(int, nftw64, (const char* path, VisitTree visit, int files, int flags), (path, visit, files, flags))

// ---- Signals that a thread sends to itself, or waits for: the handler runs before these return (signals.cc has more) ----

REDFLAG_CALLS_BACK(int, raise, (int signal), (signal))
REDFLAG_CALLS_BACK(int, sigsuspend, (const sigset_t* mask), (mask))
REDFLAG_CALLS_BACK(int, pause, (), ())

}  // namespace redflag
