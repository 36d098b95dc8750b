#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

// Runs before every constructor, those of the library under test included.
bool early_calls_worked = false;
void* early_block = nullptr;

void CallEarly(int, char**, char**) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static pthread_t thread;
  early_block = malloc(100);
  void* block = realloc(calloc(3, 10), 1000);
  memset(early_block, 1, 100);
  early_calls_worked =
      early_block != nullptr && block != nullptr && pthread_mutex_lock(&mutex) == 0 &&
      pthread_mutex_unlock(&mutex) == 0 && pthread_once(&once, [] {}) == 0 &&
      pthread_create(&thread, nullptr, [](void* a) { return a; }, nullptr) == 0 && pthread_join(thread, nullptr) == 0;
  free(block);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const kCallEarly)(int, char**, char**) = CallEarly;

TEST(RealTest, CallsBeforeAnyConstructorWork) {
  EXPECT_TRUE(early_calls_worked);
  free(early_block);
}

TEST(RealTest, TheProgramIsNotToldWhatTheLookupMissed) { EXPECT_EQ(dlerror(), nullptr); }

TEST(RealTest, TheProgramCallsTheInterceptors) {
  for (const char* name : {"malloc", "memcpy", "pthread_create", "pthread_cond_wait", "__cxa_guard_acquire", "_exit"}) {
    Dl_info info = {};
    ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, name), &info), 0) << name;
    EXPECT_NE(std::string(info.dli_fname).find("libredflag"), std::string::npos) << name << " of " << info.dli_fname;
  }
}

// A condition variable of the old kind would not wake up, or worse.
TEST(RealTest, TheNewConditionVariablesAreFound) {
#if defined(__x86_64__)
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const timespec past = Past();
  pthread_mutex_lock(&mutex);
  EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &past), ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
  const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
  void* old_kind;
  memcpy(&old_kind, &condition, sizeof old_kind);
  EXPECT_EQ(condition.__data.__wrefs, fresh.__data.__wrefs);
  EXPECT_LT(reinterpret_cast<uintptr_t>(old_kind), 4096u) << "the old kind keeps a pointer in its first word";
#endif
}

}  // namespace
}  // namespace redflag
