// Figure 1 of the ToleRace paper, mended by two declarations: a script is tested and used under a lock, and somebody clears it without the lock.
//
//   c++ -std=c++20 -pthread examples/tolerate.cc -lredflag_tolerate -o tolerate
//   ./tolerate                                        all is well
//   REDFLAG_OPTIONS=tolerate=testing ./tolerate       says each time what was tolerated, and where
//   REDFLAG_OPTIONS=tolerate=off ./tolerate           the race is back: uses of null are counted
#include <atomic>
#include <cstdio>
#include <mutex>
#include <redflag/tolerate.hpp>
#include <thread>

namespace {

struct Script {
  int lines;
};
Script fallback{1};
Script loaded{100};

redflag::tolerant_mutex mutex("scripts");
redflag::tolerated<Script*> current(mutex, &loaded);

std::atomic<bool> is_done{false};

// Takes the lock, as it should.
int CompileMany() {
  int nulls = 0;
  for (int i = 0; i < 20'000; ++i) {
    Script* base = nullptr;
    {
      std::lock_guard lock(mutex);
      if (current == nullptr) {
        base = &fallback;
      } else {
        std::this_thread::yield();  // whatever takes time
        base = current;
      }
    }
    if (base == nullptr) ++nulls;  // base->Compile() would crash
  }
  is_done = true;
  return nulls;
}

// Forgets it.
void ClearMany() {
  while (!is_done) {
    current = nullptr;
    current = &loaded;
  }
}

}  // namespace

int main() {
  std::thread racy(ClearMany);
  const int nulls = CompileMany();
  racy.join();
  std::printf("uses of null: %d\n", nulls);
  return nulls == 0 ? 0 : 1;
}
