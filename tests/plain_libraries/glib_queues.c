// What GLib hands from thread to thread: GAsyncQueue, GThreadPool, callbacks of a main loop, the result of a GTask.
// NORACE
// PACKAGES: gio-2.0
#include <gio/gio.h>
#include <stdlib.h>

typedef struct {
  int value;
} Item;

static GAsyncQueue* queue;
static int pushed_back[64];
static GMainLoop* loop;
static int dispatched, task_result;

static Item* NewItem(int value) {
  Item* item = g_new(Item, 1);
  item->value = value;
  return item;
}

static gpointer Produce(gpointer unused) {
  for (int i = 0; i < 300; ++i) g_async_queue_push(queue, NewItem(i));
  return unused;
}

static gpointer Consume(gpointer sum) {
  for (int i = 0; i < 300; ++i) {
    Item* item = g_async_queue_pop(queue);
    *(int*)sum += item->value;
    g_free(item);
  }
  return NULL;
}

static void InPool(gpointer data, gpointer user) {
  Item* item = data;
  int* results = user;
  results[item->value] = item->value;
  g_free(item);
}

static gboolean OnIdle(gpointer data) {
  Item* item = data;
  dispatched += item->value;
  g_free(item);
  if (dispatched == 100) g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

static gpointer Post(gpointer unused) {
  for (int i = 0; i < 100; ++i) g_idle_add(OnIdle, NewItem(1));
  return unused;
}

static void InTask(GTask* task, gpointer source, gpointer data, GCancellable* cancellable) {
  (void)source;
  (void)cancellable;
  Item* item = data;
  g_task_return_pointer(task, NewItem(item->value + 1), NULL);
}

static void TaskDone(GObject* source, GAsyncResult* result, gpointer data) {
  (void)source;
  (void)data;
  Item* item = g_task_propagate_pointer(G_TASK(result), NULL);
  task_result = item->value;
  g_free(item);
  g_main_loop_quit(loop);
}

int main(void) {
  queue = g_async_queue_new();
  int sums[2] = {0, 0};
  GThread* threads[4] = {g_thread_new("p", Produce, NULL), g_thread_new("p", Produce, NULL),
                         g_thread_new("c", Consume, &sums[0]), g_thread_new("c", Consume, &sums[1])};
  for (int i = 0; i < 4; ++i) g_thread_join(threads[i]);
  g_async_queue_unref(queue);

  GThreadPool* pool = g_thread_pool_new(InPool, pushed_back, 4, FALSE, NULL);
  for (int i = 0; i < 64; ++i) g_thread_pool_push(pool, NewItem(i), NULL);
  g_thread_pool_free(pool, FALSE, TRUE);
  int total = 0;
  for (int i = 0; i < 64; ++i) total += pushed_back[i];

  loop = g_main_loop_new(NULL, FALSE);
  threads[0] = g_thread_new("post", Post, NULL);
  g_main_loop_run(loop);
  g_thread_join(threads[0]);

  GTask* task = g_task_new(NULL, NULL, TaskDone, NULL);
  g_task_set_task_data(task, NewItem(41), g_free);
  g_task_run_in_thread(task, InTask);
  g_object_unref(task);
  g_main_loop_run(loop);
  g_main_loop_unref(loop);
  return sums[0] + sums[1] == 2 * 300 * 299 / 2 && total == 64 * 63 / 2 && dispatched == 100 && task_result == 42 ? 0
                                                                                                                  : 1;
}
