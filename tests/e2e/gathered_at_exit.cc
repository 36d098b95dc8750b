// Two who write once, by less than a word, and then do nothing that anybody could see: one spins, one ends the process.
// DETECTORS: hb hybrid
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

char flag;

namespace {

[[gnu::noinline]] void Raise(char value) {
  // CHAIN(flag): Raise < main
  // CHAIN(flag): Raise < lambda
  flag = value;  // RACE(flag)
}

}  // namespace

int main() {
  std::thread([] {
    Raise(1);
    for (;;) pause();
  }).detach();
  usleep(300'000);
  Raise(2);
  std::exit(0);
}
