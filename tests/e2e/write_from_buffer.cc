// write(2), writev(2) and send(2) read buffers that another thread writes; readv(2) writes its own.
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "invisible.h"

char written[8];
char parts[16];
char sent[8];
char scattered[16];

void* Writer(void*) {
  written[7] = 1;     // RACE(written) CHAIN(written): Writer
  parts[12] = 1;      // RACE(parts) CHAIN(parts): Writer
  sent[0] = 1;        // RACE(sent) CHAIN(sent): Writer
  USE(scattered[9]);  // RACE(scattered) CHAIN(scattered): Writer
  scattered[3] = 1;
  Arrive();
  return nullptr;
}

int main() {
  int ends[2];
  if (pipe(ends) != 0) abort();
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) abort();
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  Await(1);
  if (write(ends[1], written, 8) != 8) abort();  // RACE(written) CHAIN(written): main
  iovec out[2] = {{parts, 4}, {parts + 8, 8}};
  if (writev(ends[1], out, 2) != 12) abort();   // RACE(parts) CHAIN(parts): main
  if (send(pair[0], sent, 8, 0) != 8) abort();  // RACE(sent) CHAIN(sent): main
  iovec in[2] = {{scattered, 2}, {scattered + 8, 2}};
  if (readv(ends[0], in, 2) != 4) abort();  // RACE(scattered) CHAIN(scattered): main
  pthread_join(thread, nullptr);
}
