// Everything that hands bytes from one thread to another: socketpairs, connections, datagrams, eventfd, files, the end of a file,
// duplicates of descriptors.
// NORACE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "invisible.h"

#define CHECK(condition) \
  if (!(condition)) abort()

int payload;

struct Ends {
  int from;
  int to;
  bool close_only;
};

void* Sender(void* argument) {
  const Ends ends = *static_cast<Ends*>(argument);
  ++payload;
  const uint64_t one = 1;
  if (!ends.close_only) CHECK(write(ends.to, &one, sizeof one) == sizeof one);
  close(ends.to);
  return nullptr;
}

void Exchange(int from, int to, bool close_only = false) {
  Ends ends = {from, to, close_only};
  pthread_t thread;
  pthread_create(&thread, nullptr, Sender, &ends);
  uint64_t word = 0;
  CHECK(read(from, &word, sizeof word) == (close_only ? 0 : sizeof word));
  ++payload;
  pthread_join(thread, nullptr);
  close(from);
}

void* Connect(void* argument) {
  ++payload;
  const auto& address = *static_cast<sockaddr_in*>(argument);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return reinterpret_cast<void*>(static_cast<intptr_t>(client));
}

void Tcp() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(listen(listener, 1) == 0);
  socklen_t size = sizeof address;
  CHECK(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  pthread_t thread;
  pthread_create(&thread, nullptr, Connect, &address);
  const int server = accept(listener, nullptr, nullptr);
  CHECK(server >= 0);
  ++payload;
  void* client = nullptr;
  pthread_join(thread, &client);
  Exchange(server, static_cast<int>(reinterpret_cast<intptr_t>(client)));
  close(listener);
}

void* SendDatagram(void* argument) {
  ++payload;
  const auto& address = *static_cast<sockaddr_in*>(argument);
  const int sender = socket(AF_INET, SOCK_DGRAM, 0);
  CHECK(sendto(sender, "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 1);
  close(sender);
  return nullptr;
}

void Udp() {
  const int receiver = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(bind(receiver, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  CHECK(getsockname(receiver, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  pthread_t thread;
  pthread_create(&thread, nullptr, SendDatagram, &address);
  char byte;
  sockaddr_in from;
  size = sizeof from;
  CHECK(recvfrom(receiver, &byte, 1, 0, reinterpret_cast<sockaddr*>(&from), &size) == 1);
  ++payload;
  pthread_join(thread, nullptr);
  close(receiver);
}

struct Poll {
  int epoll;
  int fd;
};

void* Register(void* argument) {
  const Poll poll = *static_cast<Poll*>(argument);
  ++payload;
  epoll_event event = {};
  event.events = EPOLLOUT;
  event.data.ptr = &payload;
  CHECK(epoll_ctl(poll.epoll, EPOLL_CTL_ADD, poll.fd, &event) == 0);
  return nullptr;
}

void Epoll() {
  Poll poll = {epoll_create1(0), eventfd(0, 0)};
  pthread_t thread;
  pthread_create(&thread, nullptr, Register, &poll);
  epoll_event event = {};
  CHECK(epoll_wait(poll.epoll, &event, 1, -1) == 1);
  ++*static_cast<int*>(event.data.ptr);
  pthread_join(thread, nullptr);
}

int main() {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  Exchange(ends[0], ends[1]);
  CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  Exchange(ends[1], dup(ends[0]));
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  Exchange(ends[0], ends[1], true);
  CHECK(pipe(ends) == 0);
  const int duplicate = fcntl(ends[1], F_DUPFD, 100);
  close(ends[1]);
  Exchange(ends[0], duplicate);
  const int event = eventfd(0, 0);
  Exchange(event, dup(event));
  Tcp();
  Udp();
  Epoll();
}
