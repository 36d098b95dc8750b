// GMutex, GCond, GRWLock, GRecMutex and the ways to do something once: made of futexes inside GLib, or of locks of pthreads.
// NORACE
// PACKAGES: glib-2.0
#include <glib.h>
#include <stdlib.h>

static GMutex mutex;
static GCond changed;
static int count, ready;
static GRWLock table_lock;
static int table[8];
static GRecMutex recursive;
static int nested;
static gsize once_word;
static int* made_once;
static GOnce once = G_ONCE_INIT;
static gint bit_word;
static int under_bit;

static int* MadeOnce(void) {
  if (g_once_init_enter(&once_word)) {
    made_once = g_new(int, 1);
    *made_once = 7;
    g_once_init_leave(&once_word, 1);
  }
  return made_once;
}

static gpointer Make(gpointer argument) {
  int* made = g_new(int, 1);
  *made = *(int*)argument;
  return made;
}

static gpointer Work(gpointer argument) {
  int five = 5;
  long sum = 0;
  for (int i = 0; i < 100; ++i) {
    g_mutex_lock(&mutex);
    ++count;
    g_mutex_unlock(&mutex);
    if (g_mutex_trylock(&mutex)) {
      ++count;
      g_mutex_unlock(&mutex);
    }
    g_rw_lock_reader_lock(&table_lock);
    sum += table[i % 8];
    g_rw_lock_reader_unlock(&table_lock);
    g_rw_lock_writer_lock(&table_lock);
    ++table[i % 8];
    g_rw_lock_writer_unlock(&table_lock);
    g_rec_mutex_lock(&recursive);
    g_rec_mutex_lock(&recursive);
    ++nested;
    g_rec_mutex_unlock(&recursive);
    g_rec_mutex_unlock(&recursive);
    g_bit_lock(&bit_word, 3);
    ++under_bit;
    g_bit_unlock(&bit_word, 3);
  }
  sum += *MadeOnce();
  sum += *(int*)g_once(&once, Make, &five);
  g_mutex_lock(&mutex);
  ++ready;
  g_cond_signal(&changed);
  g_mutex_unlock(&mutex);
  *(long*)argument = sum;
  return NULL;
}

int main(void) {
  GThread* threads[4];
  long sums[4];
  for (int i = 0; i < 4; ++i) threads[i] = g_thread_new("work", Work, &sums[i]);
  g_mutex_lock(&mutex);
  while (ready < 4) g_cond_wait(&changed, &mutex);
  const int seen = count;
  const gint64 soon = g_get_monotonic_time() + 1000;
  g_cond_wait_until(&changed, &mutex, soon);
  g_mutex_unlock(&mutex);
  for (int i = 0; i < 4; ++i) g_thread_join(threads[i]);
  if (seen < 400 || nested != 400 || under_bit != 400) abort();
  g_free(once.retval);
  g_free(made_once);
  return 0;
}
