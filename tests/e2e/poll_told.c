// Who is told by poll or select that there is something to read, or that the other end was closed, comes after who did that.
// NORACE
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

int first[2], second[2], third[2], data[3];

void* Writer(void* unused) {
  data[0] = 1;
  if (write(first[1], "x", 1) != 1) abort();
  data[1] = 1;
  if (write(second[1], "x", 1) != 1) abort();
  data[2] = 1;
  close(third[1]);
  return unused;
}

int main() {
  if (pipe(first) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, second) != 0 || pipe(third) != 0) abort();
  pthread_t thread;
  pthread_create(&thread, 0, Writer, 0);
  struct pollfd one = {first[0], POLLIN, 0};
  if (poll(&one, 1, -1) != 1 || data[0] != 1) abort();
  fd_set set;
  FD_ZERO(&set);
  FD_SET(second[0], &set);
  if (select(second[0] + 1, &set, 0, 0, 0) != 1 || data[1] != 1) abort();
  struct pollfd end = {third[0], 0, 0};
  if (ppoll(&end, 1, 0, 0) != 1 || data[2] != 1) abort();
  pthread_join(thread, 0);
}
