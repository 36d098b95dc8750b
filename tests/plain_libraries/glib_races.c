// Races of a program's own code, with GLib all around them: two functions of a pool, a field that is changed after it was given away, a variable that is
// read without its GMutex.
// PACKAGES: glib-2.0
// FLAGS: -I{here}/../e2e
#include <glib.h>

#include "invisible.h"

typedef struct {
  int value;
} Item;

int in_pool, locked;  // not static: what nobody reads may go
static GMutex mutex;

// Both are under way at the same time, in two threads.
static void First(gpointer data, gpointer unused) {
  (void)unused;
  if (GPOINTER_TO_INT(data) == 1) {
    in_pool = 1;  // RACE(pool) CHAIN(pool): First CHAIN(pool): First < First
    Arrive();
    Await(2);
  } else {
    Await(1);
    in_pool = 2;  // RACE(pool) CHAIN(pool): First CHAIN(pool): First < First
    Arrive();
  }
}

static gpointer Take(gpointer queue) {
  Item* item = g_async_queue_pop(queue);
  Await(3);
  USE(item->value);  // RACE(item) CHAIN(item): Take
  return NULL;
}

static gpointer Lock(gpointer unused) {
  g_mutex_lock(&mutex);
  locked = 1;  // RACE(unlocked) CHAIN(unlocked): Lock
  g_mutex_unlock(&mutex);
  Arrive();
  return unused;
}

int main(void) {
  GThreadPool* pool = g_thread_pool_new(First, NULL, 2, TRUE, NULL);
  g_thread_pool_push(pool, GINT_TO_POINTER(1), NULL);
  g_thread_pool_push(pool, GINT_TO_POINTER(2), NULL);
  g_thread_pool_free(pool, FALSE, TRUE);

  GAsyncQueue* queue = g_async_queue_new();
  GThread* taker = g_thread_new("take", Take, queue);
  Item* item = g_new0(Item, 1);
  g_async_queue_push(queue, item);
  item->value = 3;  // RACE(item) CHAIN(item): main
  Arrive();
  g_thread_join(taker);
  g_free(item);
  g_async_queue_unref(queue);

  GThread* locker = g_thread_new("lock", Lock, NULL);
  Await(4);
  USE(locked);  // RACE(unlocked) CHAIN(unlocked): main
  g_thread_join(locker);
  return 0;
}
