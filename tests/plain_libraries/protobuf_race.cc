// A message that one thread changes after it has given it away.
// PACKAGES: protobuf
// FLAGS: -U__SANITIZE_THREAD__ -I{here}/../e2e
#include <google/protobuf/timestamp.pb.h>

#include <atomic>
#include <thread>

#include "invisible.h"

static std::atomic<google::protobuf::Timestamp*> handed_over;

// Not in place, where clang at -O2 does not tell of the write.
NOINLINE static void Change(google::protobuf::Timestamp& message) {
  message.set_seconds(2);  // RACE(message) CHAIN(message): Change < main
}

int main() {
  google::protobuf::Timestamp message;
  message.set_seconds(1);
  std::thread reader([] {
    google::protobuf::Timestamp* taken;
    while ((taken = handed_over.load()) == nullptr) std::this_thread::yield();
    Await(1);
    USE(taken->seconds());  // RACE(message) CHAIN(message): lambda
  });
  handed_over = &message;
  Change(message);
  Arrive();
  reader.join();
}
