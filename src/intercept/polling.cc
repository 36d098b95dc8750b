// poll and select: who is told that there is something to read comes after who has written it, as if it had been read (files.cc): a program may be
// content with knowing. That one may write tells of nothing that anybody did for others.
#include <poll.h>
#include <sys/select.h>

#include "intercept/file_objects.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

void Ready(hooks::Pc pc, int fd) {
  if (const void* object = ObjectOfStream(fd, false)) hooks::Acquire(pc, object);
}

int Polled(hooks::Pc pc, const pollfd* files, nfds_t count, int ready) {
  constexpr int kToRead = POLLIN | POLLPRI | POLLRDHUP | POLLHUP | POLLERR;
  if (ready <= 0 || !hooks::Active()) return ready;
  for (nfds_t i = 0; i < count; ++i) {
    if ((files[i].revents & kToRead) != 0) Ready(pc, files[i].fd);
  }
  return ready;
}

int Selected(hooks::Pc pc, int count, const fd_set* to_read, int ready) {
  if (ready <= 0 || to_read == nullptr || !hooks::Active()) return ready;
  // A program may have a larger set than the type has room for.
  const auto* words = reinterpret_cast<const fd_mask*>(to_read);
  for (int fd = 0; fd < count; ++fd) {
    if ((static_cast<uint64_t>(words[fd / NFDBITS]) >> (fd % NFDBITS) & 1) != 0) Ready(pc, fd);
  }
  return ready;
}

}  // namespace

REDFLAG_INTERCEPT(int, poll, pollfd* files, nfds_t count, int timeout) {
  return Polled(REDFLAG_CALLER, files, count, real::poll(files, count, timeout));
}
REDFLAG_INTERCEPT(int, __poll_chk, pollfd* files, nfds_t count, int timeout, size_t room) {
  return Polled(REDFLAG_CALLER, files, count, real::__poll_chk(files, count, timeout, room));
}
REDFLAG_INTERCEPT(int, ppoll, pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  return Polled(REDFLAG_CALLER, files, count, real::ppoll(files, count, timeout, mask));
}
REDFLAG_INTERCEPT(int, __ppoll_chk, pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask,
                  size_t room) {
  return Polled(REDFLAG_CALLER, files, count, real::__ppoll_chk(files, count, timeout, mask, room));
}
REDFLAG_INTERCEPT(int, select, int count, fd_set* to_read, fd_set* to_write, fd_set* other, timeval* timeout) {
  return Selected(REDFLAG_CALLER, count, to_read, real::select(count, to_read, to_write, other, timeout));
}
REDFLAG_INTERCEPT(int, pselect, int count, fd_set* to_read, fd_set* to_write, fd_set* other, const timespec* timeout,
                  const sigset_t* mask) {
  return Selected(REDFLAG_CALLER, count, to_read, real::pselect(count, to_read, to_write, other, timeout, mask));
}

}  // namespace redflag
