// operator delete frees what another thread wrote last, unordered.
// PATTERN(node): free while in use
// RANK(node): high
#include <pthread.h>

#include "invisible.h"

struct Node {
  long key;
  long value;
};

void* User(void* node) {
  static_cast<Node*>(node)->value = 1;  // RACE(node) CHAIN(node): User
  Arrive();
  return nullptr;
}

int main() {
  Node* node = new Node{1, 2};
  pthread_t thread;
  pthread_create(&thread, nullptr, User, node);
  Await(1);
  delete node;  // RACE(node) CHAIN(node): main
  pthread_join(thread, nullptr);
}
