// What the files of the compiler's ABI share: how an entry point is declared, and who called it.
#pragma once

#include <cstdint>

// Names that begin with two underscores are the compilers', and so are these functions.
#define REDFLAG_ABI extern "C" __attribute__((visibility("default")))

// What programs may define, and the runtime asks for.
extern "C" {
[[gnu::weak]] const char* __tsan_default_options();
[[gnu::weak]] const char* __tsan_default_suppressions();
[[gnu::weak]] void __tsan_on_initialize();
[[gnu::weak]] int __tsan_on_finalize(int failed);
[[gnu::weak]] void __tsan_on_report(void* report);
}

// The place in the program from which the entry point was called. Good in the entry point itself, and in a function that it
// jumped to.
#define REDFLAG_CALLER reinterpret_cast<uint64_t>(__builtin_return_address(0))
