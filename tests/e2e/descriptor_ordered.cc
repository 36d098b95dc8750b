// Descriptors that are closed when their users have ended, or have said so; numbers that are used again; and closes that nobody sees.
// NORACE
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "invisible.h"

int ends[2];
int event;

NOINLINE void Use(int fd) {
  char byte = 1;
  if (write(fd, &byte, 1) != 1) abort();
}

// Its last words come through the descriptor itself.
void* Writer(void*) {
  Use(ends[1]);
  return nullptr;
}
void ThroughThePipe() {
  if (pipe(ends) != 0) abort();
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  close(ends[1]);
  close(ends[0]);
  pthread_join(thread, nullptr);
}

// The same numbers, of other files, used by others.
void* Opener(void*) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) abort();
  Use(pair[0]);
  Arrive();
  Await(2);
  close(pair[0]);
  close(pair[1]);
  return nullptr;
}
void NumbersAgain() {
  if (pipe(ends) != 0) abort();
  Use(ends[1]);
  syscall(SYS_close, ends[0]);  // unseen
  syscall(SYS_close, ends[1]);
  pthread_t thread;
  pthread_create(&thread, nullptr, Opener, nullptr);
  Await(1);
  int mine[2];
  if (pipe(mine) != 0) abort();
  Use(mine[1]);
  Arrive();
  close(mine[0]);
  close(mine[1]);
  pthread_join(thread, nullptr);
}

void* Closer(void*) {
  uint64_t one;
  if (read(event, &one, sizeof one) != sizeof one) abort();
  close(event);
  return nullptr;
}
void ThroughAnEvent() {
  event = eventfd(0, 0);
  pthread_t thread;
  pthread_create(&thread, nullptr, Closer, nullptr);
  const uint64_t one = 1;
  if (write(event, &one, sizeof one) != sizeof one) abort();
  pthread_join(thread, nullptr);
}

int main() {
  ThroughThePipe();
  NumbersAgain();
  ThroughAnEvent();
}
