#include "intercept/real.h"

#include <dlfcn.h>
#include <link.h>

#include "base/check.h"
#include "intercept/order.h"

namespace redflag::real {

extern "C" {
// The ends of the array that REDFLAG_REAL fills: made by the linker.
[[gnu::visibility("hidden")]] extern Symbol __start_redflag_real[];
[[gnu::visibility("hidden")]] extern Symbol __stop_redflag_real[];
// The ends of this library.
[[gnu::visibility("hidden")]] extern const char __ehdr_start;  // NOLINT: the linker's name
[[gnu::visibility("hidden")]] extern const char _end;          // NOLINT
}

namespace {

constexpr size_t kEarlyBytes = size_t{64} << 10;

// Each block is preceded by its size.
alignas(16) constinit char early_memory[kEarlyBytes] = {};
constinit size_t early_used = 0;

[[gnu::tls_model("initial-exec")]] constinit thread_local bool looking_up = false;

bool StartsWith(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

bool IsOurs(const void* address) {
  return address >= static_cast<const void*>(&__ehdr_start) && address < static_cast<const void*>(&_end);
}

// Does it begin like that? A `#` stands for a number.
bool Fits(const char* text, const char* pattern) {
  for (; *pattern != '\0'; ++pattern) {
    if (*pattern != '#') {
      if (*text++ != *pattern) return false;
      continue;
    }
    if (*text < '0' || *text > '9') return false;
    while (*text >= '0' && *text <= '9') ++text;
  }
  return true;
}

// Libraries that not every program has, by their functions' names. A plugin may also have brought one for itself alone, out of the reach of
// ordinary lookup: the C++ library in a C program, for one.
struct Library {
  const char* functions;
  const char* name;
  // No other library has functions of such names: a search elsewhere would be in vain, which is not free.
  bool has_them_all;
};
constexpr Library kLibraries[] = {
    {"_ZN3tbb", "libtbb.so.12", true}, {"_ZN#Q", "libQt5Core.so.5", true}, {"g_task_", "libgio-2.0.so.0", true},
    {"g_", "libglib-2.0.so.0", true},  {"_Z", "libstdc++.so.6", false},    {"__cxa_", "libstdc++.so.6", false},
};

bool IsLoaded(const char* library) {
  return dl_iterate_phdr(
             [](dl_phdr_info* info, size_t, void* wanted) {
               const char* name = info->dlpi_name;
               for (const char* at = name; *at != '\0'; ++at) {
                 if (*at == '/') name = at + 1;
               }
               return StartsWith(name, static_cast<const char*>(wanted)) ? 1 : 0;
             },
             const_cast<char*>(library)) != 0;  // NOLINT: it is not changed
}

void* LookupIn(const Library& library, const char* name) {
  void* handle = IsLoaded(library.name) ? dlopen(library.name, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  if (handle == nullptr) return nullptr;
  void* address = dlsym(handle, name);
  dlclose(handle);
  return address;
}

void* Lookup(const char* name) {
  const Library* library = nullptr;
  for (const Library& candidate : kLibraries) {
    if (library == nullptr && Fits(name, candidate.functions)) library = &candidate;
  }
  if (library != nullptr && library->has_them_all) return LookupIn(*library, name);
#if defined(__x86_64__)
  // Two generations of condition variables live in libc; plain lookup is not sure to give the one that programs have
  // been linked with these twenty years. pthread_cond_clockwait is younger and has one version.
  if (StartsWith(name, "pthread_cond_") && !StartsWith(name, "pthread_cond_clock")) {
    if (void* address = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2")) return address;
  }
#endif
  if (void* address = dlsym(RTLD_NEXT, name)) return address;
  // If libc comes before this library, its functions are those that programs call.
  if (void* address = dlsym(RTLD_DEFAULT, name); address != nullptr && !IsOurs(address)) return address;
  return library == nullptr ? nullptr : LookupIn(*library, name);
}

// Two threads may do this at the same time: they find the same.
[[gnu::constructor(101)]] void FindAll() {
  looking_up = true;
  for (Symbol* symbol = __start_redflag_real; symbol != __stop_redflag_real; ++symbol) {
    if (!symbol->found()) symbol->Find();
  }
  // What is missing, such as __cxa_guard_acquire in a program without C++, is no error that the program should hear of.
  dlerror();
  looking_up = false;
}

}  // namespace

void Symbol::Find() { __atomic_store_n(&address_, Lookup(name_), __ATOMIC_RELAXED); }

void* Symbol::FirstUse() const {
  // Before the constructors: perhaps an allocator that begins its work, and can't be asked for the memory that a lookup in vain needs. So this
  // one alone, which is there.
  const bool was_looking_up = looking_up;
  looking_up = true;
  const_cast<Symbol*>(this)->Find();  // NOLINT: what is remembered is no change
  looking_up = was_looking_up;
  // A program that calls a function which libc does not have could not have been linked without this library.
  if (!found()) CheckFailed(name_, __FILE__, __LINE__);
  return address_;
}

bool LookingUp() { return looking_up; }

bool AllocatorComesFirst() { return IsOurs(dlsym(RTLD_DEFAULT, "malloc")); }

bool ComesFirst() { return IsOurs(dlsym(RTLD_DEFAULT, "pthread_mutex_lock")); }

bool ComesAfterAnother() {
  Dl_info first;
  Dl_info libc;
  return dladdr(dlsym(RTLD_DEFAULT, "pthread_mutex_lock"), &first) != 0 &&
         dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &libc) != 0 && first.dli_fbase != libc.dli_fbase &&
         !IsOurs(dlsym(RTLD_DEFAULT, "pthread_mutex_lock"));
}

void* EarlyBlock(size_t bytes, size_t align) {
  if (align < 16) align = 16;
  REDFLAG_CHECK(bytes < kEarlyBytes && align < kEarlyBytes);
  const size_t need = sizeof(size_t) + align + bytes;
  const size_t begin = __atomic_fetch_add(&early_used, need, __ATOMIC_RELAXED);
  REDFLAG_CHECK(begin + need <= kEarlyBytes);
  const auto base = reinterpret_cast<uintptr_t>(early_memory);
  char* block = early_memory + (((base + begin + sizeof(size_t) + align - 1) & ~(align - 1)) - base);
  reinterpret_cast<size_t*>(block)[-1] = bytes;
  return block;
}

bool IsEarlyBlock(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(early_memory) < kEarlyBytes;
}

size_t EarlyBlockSize(const void* block) { return static_cast<const size_t*>(block)[-1]; }

}  // namespace redflag::real
