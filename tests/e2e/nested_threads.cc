// NORACE
// Threads that create and join threads, all at once: libc hands the blocks of ended threads on, by locks that nobody sees.
#include <thread>
#include <vector>

void Leaf() {}

void Branch() {
  for (int i = 0; i < 20; ++i) {
    std::thread a(Leaf);
    std::thread b(Leaf);
    a.join();
    b.join();
  }
}

int main() {
  std::vector<std::thread> branches;
  for (int i = 0; i < 4; ++i) branches.emplace_back(Branch);
  for (std::thread& branch : branches) branch.join();
}
