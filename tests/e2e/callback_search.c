/* bsearch and twalk call back: who called them is in the chain. */
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

#include "invisible.h"

int found;
int visited;
int numbers[4] = {0, 1, 2, 3};

NOINLINE int Compare(const void* a, const void* b) {
  ++found;  // RACE(found) CHAIN(found): Compare < Search < Worker
  return *(const int*)a - *(const int*)b;
}

NOINLINE void Search(void) {
  const int key = 2;
  USE(bsearch(&key, numbers, 4, sizeof(int), Compare));
}

NOINLINE int Order(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

NOINLINE void Visit(const void* node, VISIT order, int level) {
  (void)node, (void)order, (void)level;
  ++visited;  // RACE(visited) CHAIN(visited): Visit < Walk < Worker
}

NOINLINE void Walk(void) {
  void* root = NULL;
  tsearch(&numbers[1], &root, Order);
  twalk(root, Visit);
  tdelete(&numbers[1], &root, Order);
}

void* Worker(void* unused) {
  Search();
  Walk();
  Arrive();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, Worker, NULL);
  Await(1);
  USE(found);    // RACE(found) CHAIN(found): main
  USE(visited);  // RACE(visited) CHAIN(visited): main
  pthread_join(thread, NULL);
  return 0;
}
