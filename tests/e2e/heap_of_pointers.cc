// What a block of the heap is, where no member function is at work: parameters, local variables, smart pointers and variables of the file
// that are pointers to objects of its size say it, on both sides the same.
// VARIABLE(parameter): Queue::head
// VARIABLE(smart): Account::balance
// VARIABLE(global): Settings::limits[2]
// VARIABLE(doubt):
#include <pthread.h>
#include <stdlib.h>

#include <memory>

#include "invisible.h"

// As in C: the type has no other name.
typedef struct {
  void* lock;
  int tail;
  int head;
  char name[48];
} Queue;

struct Account {
  long owner;
  long balance;
  long history[11];
};

struct Settings {
  int version;
  int limits[40];
};
static Settings* settings;

// Who can tell these two from each other?
struct Apple {
  long weight;
  long color[22];
};
struct Pear {
  long weight;
  long taste[22];
};

NOINLINE void Push(Queue* queue) {
  queue->head = 1;  // RACE(parameter) CHAIN(parameter): Push < Worker
}
NOINLINE void Pay(const std::unique_ptr<Account>& account) {
  account->balance = 1;  // RACE(smart) CHAIN(smart): Pay < Worker
}
NOINLINE void Eat(Apple* apple, Pear* pear) {
  apple->weight = 1;  // RACE(doubt) CHAIN(doubt): Eat < Worker
  USE(pear);
}

static Queue* queue;
static std::unique_ptr<Account> account;
static Apple* apple;
static Pear* pear;

void* Worker(void*) {
  Push(queue);
  Pay(account);
  settings->limits[2] = 1;  // RACE(global) CHAIN(global): Worker
  Eat(apple, pear);
  Arrive();
  return nullptr;
}

int main() {
  queue = static_cast<Queue*>(calloc(1, sizeof(Queue)));
  account = std::make_unique<Account>();
  settings = new Settings();
  apple = new Apple();
  pear = new Pear();
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  queue->head = 2;          // RACE(parameter) CHAIN(parameter): main
  account->balance = 2;     // RACE(smart) CHAIN(smart): main
  settings->limits[2] = 2;  // RACE(global) CHAIN(global): main
  apple->weight = 2;        // RACE(doubt) CHAIN(doubt): main
  pthread_join(thread, nullptr);
  free(queue);
  delete settings;
  delete apple;
  delete pear;
}
