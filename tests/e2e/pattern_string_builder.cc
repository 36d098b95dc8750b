// The StringBuilder bug of RaceTrack 4.1.1: a thread decides by `owner`, unlocked, whether the buffer is its own.
// PATTERN(owner): check then act
// RANK(owner): high
// VARIABLE(owner): builder.owner
// PATTERN(buffer): unsynchronized access
// RANK(buffer): medium
// VARIABLE(buffer): builder.buffer
#include <pthread.h>

#include "invisible.h"

struct StringBuilder {
  long owner = 0;
  const char* buffer = "";

  NOINLINE void ReplaceBuffer(const char* text, long me) {
    owner = me;     // RACE(owner) CHAIN(owner): ReplaceBuffer < Worker
    buffer = text;  // RACE(buffer) CHAIN(buffer): ReplaceBuffer < Worker
  }

  NOINLINE const char* ToString(long me) {
    const char* text = buffer;  // RACE(buffer) CHAIN(buffer): ToString < main
    USE(text);
    // CHAIN(owner): ToString < main
    if (owner == me || owner == 0) {  // RACE(owner)
      owner = 0;
      return text;
    }
    return "a copy";
  }
} builder;

void* Worker(void*) {
  builder.ReplaceBuffer("changed", 1);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(builder.ToString(2));
  pthread_join(thread, nullptr);
}
