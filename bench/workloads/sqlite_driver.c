// Drives sqlite from several threads, in memory. Linked with the amalgamation; the options and the output are those of
// workload.h (this is C, as sqlite is): the size is in rows.
//
//   sqlite_driver [--threads N] [--size N]
//
// Each thread takes its share of the rows and has two connections that no other thread uses. To a database of its own
// it inserts the rows, indexes, updates and queries them: threads have only the allocator and the like in common. To a
// database that all share through one cache it then adds up the rows in small transactions, and looks up a table there
// that nobody writes: here threads wait for one another, with unlock-notify as sqlite's manual describes it.
//
// The checksum is a sum over rows: it depends neither on the number of threads nor on their order.
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

enum {
  kMaxThreads = 1024,
  kGroups = 97,       // of rows in the shared table
  kBatch = 20,        // rows in a shared transaction
  kReferences = 500,  // rows of the table that nobody writes
};

static const char* const kSharedName = "file:shared?mode=memory&cache=shared";

static void Fail(sqlite3* db, const char* what) {
  fprintf(stderr, "sqlite_driver: %s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

// splitmix64: the same numbers on every machine.
static uint64_t Mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Another connection holds what this one needs: sqlite calls back when it lets go.
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int fired;
} Waiter;

static void Fire(void** waiters, int count) {
  for (int i = 0; i < count; ++i) {
    Waiter* waiter = waiters[i];
    pthread_mutex_lock(&waiter->mutex);
    waiter->fired = 1;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->mutex);
  }
}

static void WaitForUnlock(sqlite3* db) {
  static _Thread_local Waiter waiter = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
  waiter.fired = 0;
  if (sqlite3_unlock_notify(db, Fire, &waiter) != SQLITE_OK) Fail(db, "unlock_notify");
  pthread_mutex_lock(&waiter.mutex);
  while (!waiter.fired) pthread_cond_wait(&waiter.changed, &waiter.mutex);
  pthread_mutex_unlock(&waiter.mutex);
}

// One step, as often as others are in the way.
static int Step(sqlite3* db, sqlite3_stmt* statement) {
  for (;;) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW || code == SQLITE_DONE) return code;
    if (code != SQLITE_LOCKED) Fail(db, sqlite3_sql(statement));
    sqlite3_reset(statement);
    WaitForUnlock(db);
  }
}

static sqlite3* Open(const char* name) {
  sqlite3* db = NULL;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
  if (sqlite3_open_v2(name, &db, flags, NULL) != SQLITE_OK) Fail(db, name);
  return db;
}

static sqlite3_stmt* Prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = NULL;
  for (;;) {
    const int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) return statement;
    if (code != SQLITE_LOCKED) Fail(db, sql);
    WaitForUnlock(db);
  }
}

// Runs a statement to its end with the integers that it asks for.
static void Run(sqlite3* db, sqlite3_stmt* statement, int count, ...) {
  va_list values;
  va_start(values, count);
  for (int i = 1; i <= count; ++i) sqlite3_bind_int64(statement, i, va_arg(values, sqlite3_int64));
  va_end(values);
  while (Step(db, statement) == SQLITE_ROW) continue;
  sqlite3_reset(statement);
}

static void Execute(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = Prepare(db, sql);
  Run(db, statement, 0);
  sqlite3_finalize(statement);
}

// The first column of the first row.
static uint64_t Value(sqlite3* db, sqlite3_stmt* statement, sqlite3_int64 argument) {
  sqlite3_bind_int64(statement, 1, argument);
  if (Step(db, statement) != SQLITE_ROW) Fail(db, "a query has no result");
  const uint64_t value = (uint64_t)sqlite3_column_int64(statement, 0);
  sqlite3_reset(statement);
  return value;
}

static uint64_t Query(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = Prepare(db, sql);
  const uint64_t value = Value(db, statement, 0);
  sqlite3_finalize(statement);
  return value;
}

typedef struct {
  pthread_t thread;
  uint64_t begin, end;  // rows
  uint64_t checksum;
} Share;

static sqlite3_int64 Group(uint64_t row) { return (sqlite3_int64)(Mix(row) % kGroups); }
static sqlite3_int64 Amount(uint64_t row) { return (sqlite3_int64)(Mix(~row) % 1000); }

static uint64_t WorkAlone(const Share* share) {
  sqlite3* db = Open(":memory:");
  Execute(db, "CREATE TABLE rows(id INTEGER PRIMARY KEY, part INTEGER, amount INTEGER, note TEXT)");
  Execute(db, "BEGIN");
  sqlite3_stmt* insert = Prepare(db, "INSERT INTO rows VALUES(?1, ?2, ?3, printf('row %d of part %d', ?1, ?2))");
  for (uint64_t row = share->begin; row < share->end; ++row)
    Run(db, insert, 3, (sqlite3_int64)row, Group(row), Amount(row));
  sqlite3_finalize(insert);
  Execute(db, "COMMIT");
  Execute(db, "CREATE INDEX by_part ON rows(part, amount)");
  sqlite3_stmt* update = Prepare(db, "UPDATE rows SET amount = amount + 1 WHERE part = ?1 AND amount < 500");
  for (sqlite3_int64 part = 0; part < kGroups; part += 3) Run(db, update, 1, part);
  sqlite3_finalize(update);
  uint64_t sum = Query(db, "SELECT sum(amount * length(note)) FROM rows WHERE note LIKE '%7%' AND ?1 = 0");
  sqlite3_stmt* pick = Prepare(db, "SELECT total(amount) FROM rows WHERE part = ?1 AND amount BETWEEN 100 AND 900");
  for (sqlite3_int64 part = 0; part < kGroups; ++part) sum += Value(db, pick, part);
  sqlite3_finalize(pick);
  sqlite3_close(db);
  return sum;
}

static uint64_t WorkTogether(const Share* share) {
  sqlite3* db = Open(kSharedName);
  uint64_t sum = 0;
  sqlite3_stmt* begin = Prepare(db, "BEGIN IMMEDIATE");
  sqlite3_stmt* commit = Prepare(db, "COMMIT");
  sqlite3_stmt* add = Prepare(db, "UPDATE totals SET amount = amount + ?2, count = count + 1 WHERE part = ?1");
  sqlite3_stmt* look = Prepare(db, "SELECT weight FROM weights WHERE id = ?1");
  for (uint64_t row = share->begin; row < share->end;) {
    const uint64_t batch_end = row + kBatch < share->end ? row + kBatch : share->end;
    for (uint64_t r = row; r < batch_end; ++r) sum += Value(db, look, (sqlite3_int64)(Mix(r) % kReferences));
    Run(db, begin, 0);
    for (; row < batch_end; ++row) Run(db, add, 2, Group(row), Amount(row));
    Run(db, commit, 0);
  }
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  sqlite3_finalize(add);
  sqlite3_finalize(look);
  sqlite3_close(db);
  return sum;
}

static void* Work(void* argument) {
  Share* share = argument;
  share->checksum = WorkAlone(share) + WorkTogether(share);
  return NULL;
}

static void FillShared(sqlite3* db) {
  Execute(db, "CREATE TABLE totals(part INTEGER PRIMARY KEY, amount INTEGER, count INTEGER)");
  Execute(db, "CREATE TABLE weights(id INTEGER PRIMARY KEY, weight INTEGER)");
  Execute(db, "BEGIN");
  sqlite3_stmt* total = Prepare(db, "INSERT INTO totals VALUES(?1, 0, 0)");
  for (sqlite3_int64 part = 0; part < kGroups; ++part) Run(db, total, 1, part);
  sqlite3_finalize(total);
  sqlite3_stmt* weight = Prepare(db, "INSERT INTO weights VALUES(?1, ?2)");
  for (sqlite3_int64 id = 0; id < kReferences; ++id) Run(db, weight, 2, id, Amount((uint64_t)id));
  sqlite3_finalize(weight);
  Execute(db, "COMMIT");
}

static void Usage(void) {
  fprintf(stderr, "usage: sqlite_driver [--threads N] [--size N], both at least 1\n");
  exit(2);
}

int main(int argc, char** argv) {
  uint64_t threads = 4, size = 10000;
  for (int i = 1; i < argc; i += 2) {
    char* end = NULL;
    const uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], &end, 10) : 0;
    if (value == 0 || *end != '\0') Usage();
    if (strcmp(argv[i], "--threads") == 0 && value <= kMaxThreads)
      threads = value;
    else if (strcmp(argv[i], "--size") == 0)
      size = value;
    else
      Usage();
  }

  sqlite3* db = Open(kSharedName);  // keeps the shared database alive
  FillShared(db);
  static Share shares[kMaxThreads];
  for (uint64_t i = 0; i < threads; ++i) {
    shares[i].begin = size * i / threads;
    shares[i].end = size * (i + 1) / threads;
    if (pthread_create(&shares[i].thread, NULL, Work, &shares[i]) != 0) Fail(db, "pthread_create");
  }
  uint64_t checksum = 0;
  for (uint64_t i = 0; i < threads; ++i) {
    pthread_join(shares[i].thread, NULL);
    checksum += shares[i].checksum;
  }
  if (Query(db, "SELECT sum(count) FROM totals WHERE ?1 = 0") != size) Fail(db, "updates were lost");
  checksum = Mix(checksum) + Query(db, "SELECT sum((part + 1) * amount) FROM totals WHERE ?1 = 0");
  sqlite3_close(db);
  return printf("sqlite checksum=%016" PRIx64 "\n", checksum) > 0 && fflush(stdout) == 0 ? 0 : 1;
}
