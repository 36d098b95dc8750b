// A buffer that is filled byte by byte, and read byte by byte by somebody who does not wait: the one instruction, the other, and the bytes between them that
// only one of them touches.
// DETECTORS: hb hybrid
#include <atomic>
#include <cstdint>
#include <thread>

namespace {

struct Shared {
  uint8_t filled[64];
  uint8_t apart[64];
  uint16_t halves[32];
};
Shared shared;
std::atomic<int> turns{0};  // relaxed: orders nothing

[[gnu::noinline]] void Fill(uint8_t* to, int from, int step) {
  for (int i = from; i < 64; i += step) to[i] = static_cast<uint8_t>(i);  // RACE(bytes) CHAIN(bytes): Fill < main
}

[[gnu::noinline]] int Sum(const uint8_t* bytes) {
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += bytes[i];  // RACE(bytes) CHAIN(bytes): Sum < lambda
  return sum;
}

// Every second byte is the one's, the others are the other's.
[[gnu::noinline]] void FillApart(int first) {
  for (int i = first; i < 64; i += 2) shared.apart[i] = 1;
}

[[gnu::noinline]] void WriteHalf(uint16_t value) {
  // CHAIN(halves): WriteHalf < main
  // CHAIN(halves): WriteHalf < lambda
  shared.halves[5] = value;  // RACE(halves)
}

void Await(int turn) {
  while (turns.load(std::memory_order_relaxed) < turn) std::this_thread::yield();
}

}  // namespace

int main() {
  std::thread other([] {
    FillApart(1);
    Await(1);
    const int sum = Sum(shared.filled);
    WriteHalf(static_cast<uint16_t>(sum));
    turns.store(2, std::memory_order_relaxed);
  });
  FillApart(0);
  Fill(shared.filled, 0, 1);
  WriteHalf(1);
  turns.store(1, std::memory_order_relaxed);
  other.join();
  return shared.filled[0];
}
