/* C11 threads, all of them: thread-specific storage and its destructors, exits, detached threads, timed and recursive mutexes. */
// NORACE
#include <threads.h>
#include <time.h>

#include "invisible.h"

#define CHECK(condition) \
  if (!(condition)) abort()

static tss_t key;
static mtx_t mutex;
static mtx_t timed;
static cnd_t condition;
static int destroyed;
static int counted;
static int finished;

static struct timespec Soon(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  now.tv_sec += 100;
  return now;
}

static void Destroy(void* value) {
  mtx_lock(&mutex);
  destroyed += *(int*)value;
  mtx_unlock(&mutex);
  free(value);
}

static int Joined(void* argument) {
  int* value = malloc(sizeof *value);
  *value = *(int*)argument;
  CHECK(tss_set(key, value) == thrd_success && tss_get(key) == value);
  const struct timespec soon = Soon();
  CHECK(mtx_timedlock(&timed, &soon) == thrd_success);
  CHECK(mtx_trylock(&timed) == thrd_success);
  ++counted;
  mtx_unlock(&timed);
  ++counted;
  mtx_unlock(&timed);
  thrd_exit(7);
}

static int Detached(void* unused) {
  (void)unused;
  mtx_lock(&mutex);
  finished = 1;
  cnd_broadcast(&condition);
  mtx_unlock(&mutex);
  return 0;
}

int main(void) {
  CHECK(tss_create(&key, Destroy) == thrd_success);
  CHECK(mtx_init(&mutex, mtx_plain) == thrd_success);
  CHECK(mtx_init(&timed, mtx_timed | mtx_recursive) == thrd_success);
  CHECK(cnd_init(&condition) == thrd_success);
  thrd_t threads[3];
  int numbers[3] = {1, 2, 3};
  for (int i = 0; i < 3; ++i) CHECK(thrd_create(&threads[i], Joined, &numbers[i]) == thrd_success);
  for (int i = 0; i < 3; ++i) {
    int result = 0;
    CHECK(thrd_join(threads[i], &result) == thrd_success && result == 7);
  }
  CHECK(destroyed == 6 && counted == 6);
  thrd_t detached;
  CHECK(thrd_create(&detached, Detached, NULL) == thrd_success);
  CHECK(thrd_detach(detached) == thrd_success);
  mtx_lock(&mutex);
  const struct timespec soon = Soon();
  while (!finished) CHECK(cnd_timedwait(&condition, &mutex, &soon) == thrd_success);
  mtx_unlock(&mutex);
  tss_delete(key);
  cnd_destroy(&condition);
  mtx_destroy(&timed);
  mtx_destroy(&mutex);
  return 0;
}
