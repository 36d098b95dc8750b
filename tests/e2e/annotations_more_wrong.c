// The same annotations beside what they do not cover; C. The race that is expected and does not come is told as well.
// FLAGS: -I{here}/../../include
#include <pthread.h>
#include <redflag/annotations.h>

#include "invisible.h"

int neighbour[2];
int expected_elsewhere[2];
int after_flush;
int watched_again;
int unprotected;
int never;

void* Worker(void* unused) {
  neighbour[0] = 1;                                // RACE(neighbour) CHAIN(neighbour): Worker
  expected_elsewhere[1] = 1;                       // RACE(elsewhere) CHAIN(elsewhere): Worker
  unprotected = ANNOTATE_UNPROTECTED_READ(never);  // RACE(unprotected) CHAIN(unprotected): Worker
  Arrive();
  Await(2);
  after_flush = 1;    // RACE(after_flush) CHAIN(after_flush): Worker
  watched_again = 1;  // RACE(watched_again) CHAIN(watched_again): Worker
  Arrive();
  return unused;
}

int main(void) {
  ANNOTATE_EXPECT_RACE(&expected_elsewhere[0], "the other one");
  pthread_t thread;
  pthread_create(&thread, NULL, Worker, NULL);
  Await(1);
  ANNOTATE_PUBLISH_MEMORY_RANGE(&neighbour[1], sizeof neighbour[1]);
  neighbour[0] = 2;           // RACE(neighbour) CHAIN(neighbour): main
  expected_elsewhere[1] = 2;  // RACE(elsewhere) CHAIN(elsewhere): main
  unprotected = 2;            // RACE(unprotected) CHAIN(unprotected): main
  ANNOTATE_ENABLE_RACE_DETECTION(0);
  never = 1;
  ANNOTATE_ENABLE_RACE_DETECTION(1);
  ANNOTATE_FLUSH_STATE();
  Arrive();
  Await(3);
  after_flush = 2;    // RACE(after_flush) CHAIN(after_flush): main
  watched_again = 2;  // RACE(watched_again) CHAIN(watched_again): main
  pthread_join(thread, NULL);
  return 0;
}
