// Who is told by epoll that something was written comes after the write, even if it never reads.
// NORACE
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int value;
int event;

void* Worker(void*) {
  value = 1;
  const uint64_t one = 1;
  if (write(event, &one, sizeof one) != sizeof one) _exit(2);
  return nullptr;
}

int main() {
  const int epoll = epoll_create1(0);
  event = eventfd(0, 0);
  epoll_event wanted = {};
  wanted.events = EPOLLIN;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted) != 0) return 2;
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  epoll_event came = {};
  if (epoll_wait(epoll, &came, 1, -1) != 1) return 2;
  value = 2;
  close(event);
  pthread_join(thread, nullptr);
  close(epoll);
}
