// Figure 1 of DataCollider: a status and a count of packets are bit-fields of one word, and one update hides the other.
// PATTERN(word): bit-field neighbours
// RANK(word): high
// VARIABLE(word): st
#include <pthread.h>

#include "invisible.h"

struct {
  int status : 4;
  int pktRcvd : 28;
} st;

void* Receiver(void*) {
  st.pktRcvd++;  // RACE(word) CHAIN(word): Receiver
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Receiver, nullptr);
  Await(1);
  st.status = 1;  // RACE(word) CHAIN(word): main
  pthread_join(thread, nullptr);
}
