// A member function starts a thread that uses `this`.
#include <thread>

#include "invisible.h"

struct Server {
  int requests = 0;
  NOINLINE void Count() {
    ++requests;  // RACE(requests) CHAIN(requests): Count < lambda
  }
  void Run() {
    std::thread worker([this] {
      Count();
      Arrive();
    });
    Await(1);
    requests = 0;  // RACE(requests) CHAIN(requests): Run < main
    worker.join();
  }
};

int main() {
  static Server server;
  server.Run();
}
