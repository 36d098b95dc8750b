// The rest of the annotations, from the public header: nothing here is reported.
// NORACE
// FLAGS: -I{here}/../../include
#include <pthread.h>
#include <redflag/annotations.h>
#include <unistd.h>

#include "invisible.h"

int counter;
ANNOTATE_BENIGN_RACE_STATIC(counter, "statistics")
int expected;
int published[3];
int taken_back[3];
int behind_barrier[2];
int signalled;
int unprotected;
int flushed;
int unwatched;
int last;
char barrier, condition, queue, mutex_like;
int queued;

void Meet(int arrivals) {
  ANNOTATE_BARRIER_WAIT_BEFORE(&barrier);
  Arrive();
  Await(arrivals);
  ANNOTATE_BARRIER_WAIT_AFTER(&barrier);
}

void* Worker(void*) {
  counter = 1;
  expected = 1;
  for (int& word : published) word = 1;
  ANNOTATE_PUBLISH_MEMORY_RANGE(&published[1], sizeof published[1]);
  taken_back[1] = 1;
  signalled = 1;
  ANNOTATE_CONDVAR_SIGNAL(&condition);
  queued = 1;
  ANNOTATE_PCQ_PUT(&queue);
  unprotected = 1;
  flushed = 1;
  behind_barrier[0] = 1;
  Meet(2);
  USE(behind_barrier[1]);
  Arrive();
  Await(4);
  unwatched = 1;
  Arrive();
  return nullptr;
}

int main() {
  ANNOTATE_EXPECT_RACE(&expected, "for the test");
  ANNOTATE_BARRIER_INIT(&barrier, 2, 0);
  ANNOTATE_PCQ_CREATE(&queue);
  ANNOTATE_PURE_HAPPENS_BEFORE_MUTEX(&mutex_like);
  ANNOTATE_NOT_HAPPENS_BEFORE_MUTEX(&mutex_like);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  behind_barrier[1] = 1;
  Await(1);
  USE(counter);
  expected = 2;
  published[1] = 2;
  ANNOTATE_UNPUBLISH_MEMORY_RANGE(&taken_back[1], sizeof taken_back[1]);
  taken_back[1] = 2;
  ANNOTATE_CONDVAR_LOCK_WAIT(&condition, &mutex_like);
  USE(signalled);
  ANNOTATE_PCQ_GET(&queue);
  USE(queued);
  USE(ANNOTATE_UNPROTECTED_READ(unprotected));
  Meet(2);
  USE(behind_barrier[0]);
  ANNOTATE_BARRIER_DESTROY(&barrier);
  ANNOTATE_FLUSH_EXPECTED_RACES();
  Await(3);
  ANNOTATE_FLUSH_STATE();
  flushed = 2;
  ANNOTATE_ENABLE_RACE_DETECTION(0);
  unwatched = 2;
  Arrive();
  Await(5);
  unwatched = 3;
  ANNOTATE_ENABLE_RACE_DETECTION(1);
  pthread_join(thread, nullptr);
  ANNOTATE_TRACE_MEMORY(&last);
  ANNOTATE_NO_OP(&last);
  ANNOTATE_THREAD_NAME("main");
}
