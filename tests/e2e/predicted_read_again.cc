// A thread reads without a lock, writes with it, and reads again without: the second read is not the first, although the thread has the locks again that it had then. Nothing but an
// empty critical section orders it before what another thread writes. Others have read their parts of the same 8 bytes, so that these don't fit into a cell.
// The write is told of too: a race names all that is not ordered, also what a lock keeps apart.
// DETECTORS: hb hybrid
// BY(again): hybrid
// BY(beside): hybrid
#include <mutex>
#include <thread>

#include "invisible.h"

struct {
  short mine;
  short others[3];
} shared;
std::mutex mutex;

void ReadOther(int index) { USE(shared.others[index]); }

void ReadWriteRead() {
  USE(shared.mine);
  {
    const std::lock_guard<std::mutex> guard(mutex);
    shared.mine = 1;  // RACE(beside) CHAIN(beside): ReadWriteRead
  }
  USE(shared.mine);  // RACE(again) CHAIN(again): ReadWriteRead
  {
    const std::lock_guard<std::mutex> guard(mutex);
  }
  Arrive();
}

int main() {
  std::thread others[3];
  for (int i = 0; i < 3; ++i) others[i] = std::thread(ReadOther, i);
  for (std::thread& other : others) other.join();
  std::thread reader(ReadWriteRead);
  Await(1);
  {
    const std::lock_guard<std::mutex> guard(mutex);
    shared.mine = 2;  // RACE(again) CHAIN(again): main RACE(beside) CHAIN(beside): main
  }
  reader.join();
}
