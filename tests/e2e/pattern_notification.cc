// A plain flag tells another thread that something is done (ThreadSanitizer 6.3.3).
// PATTERN(done): notification flag
// RANK(done): high
// VARIABLE(done): done
#include <pthread.h>
#include <unistd.h>

bool done;

void* Worker(void*) {
  done = true;  // RACE(done) CHAIN(done): Worker
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  while (!done) usleep(1000);  // RACE(done) CHAIN(done): main
  pthread_join(thread, nullptr);
}
