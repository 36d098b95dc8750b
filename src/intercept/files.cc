// Files, pipes and sockets by descriptor: which memory the calls read and write, and what they order (file_objects.h). What hands on
// releases before the call, also if it then fails; what takes over acquires after it, also at the end of the file: somebody closed
// the other end.
//
// Not interposed: what stdio does with its buffers (stdio.cc has what comes of that); asynchronous and mapped I/O. polling.cc has poll and select.
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>

#include "base/arch.h"
#include "intercept/file_objects.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

void TellRead(hooks::Pc pc, const void* from, size_t bytes) {
  if (bytes != 0 && from != nullptr) hooks::Read(pc, from, bytes);
}
void TellWrite(hooks::Pc pc, void* to, size_t bytes) {
  if (bytes != 0 && to != nullptr) hooks::Write(pc, to, bytes);
}

// The first `bytes` of all that the vectors name.
template <class Tell>
void ForEachPart(const iovec* parts, size_t count, size_t bytes, Tell tell) {
  for (size_t i = 0; i < count && bytes != 0; ++i) {
    const size_t here = parts[i].iov_len < bytes ? parts[i].iov_len : bytes;
    tell(parts[i].iov_base, here);
    bytes -= here;
  }
}

void TellWritten(hooks::Pc pc, const iovec* parts, size_t count, size_t bytes) {
  ForEachPart(parts, count, bytes, [&](void* to, size_t here) { TellWrite(pc, to, here); });
}
void TellSent(hooks::Pc pc, const iovec* parts, size_t count) {
  ForEachPart(parts, count, SIZE_MAX, [&](const void* from, size_t here) { TellRead(pc, from, here); });
}

// A call that takes data from `fd`: `call` does it, `tell` says what of memory it has written, given how much came.
template <class Call, class Tell>
auto Receive(hooks::Pc pc, int fd, Call call, Tell tell) {
  if (!hooks::Active()) return call();
  // Before the call, since another thread may close the descriptor in the meantime.
  const void* object = ObjectOfReceiving(pc, fd);
  const auto result = call();
  if (result < 0) return result;
  if (object != nullptr) hooks::Acquire(pc, object);
  tell(result);
  return result;
}

template <class Call, class Tell>
auto Send(hooks::Pc pc, int fd, Call call, Tell tell) {
  if (!hooks::Active()) return call();
  const void* object = ObjectOfSending(pc, fd);
  tell();
  SendThrough(pc, object);
  return call();
}

// A peer's name that a call filled in.
void TellAddress(hooks::Pc pc, void* address, const socklen_t* bytes, socklen_t room) {
  if (address == nullptr || bytes == nullptr) return;
  TellWrite(pc, address, *bytes < room ? *bytes : room);
}

}  // namespace

// ---- Reading ----

#define REDFLAG_READ(name, parameters, arguments)                                                   \
  REDFLAG_INTERCEPT(ssize_t, name, REDFLAG_UNPACK parameters) {                                     \
    const hooks::Pc pc = REDFLAG_CALLER;                                                            \
    return Receive(                                                                                 \
        pc, fd, [&] { return real::name arguments; },                                               \
        [&](ssize_t came) {                                                                         \
          TellWrite(pc, to, static_cast<size_t>(came) < bytes ? static_cast<size_t>(came) : bytes); \
        });                                                                                         \
  }
#define REDFLAG_UNPACK(...) __VA_ARGS__
REDFLAG_READ(read, (int fd, void* to, size_t bytes), (fd, to, bytes))
REDFLAG_READ(pread, (int fd, void* to, size_t bytes, off_t at), (fd, to, bytes, at))
REDFLAG_READ(pread64, (int fd, void* to, size_t bytes, off_t at), (fd, to, bytes, at))
REDFLAG_READ(recv, (int fd, void* to, size_t bytes, int flags), (fd, to, bytes, flags))
// With the size of the object that the compiler knows `to` to be in: it is checked before anything else.
REDFLAG_READ(__read_chk, (int fd, void* to, size_t bytes, size_t room), (fd, to, bytes, room))
REDFLAG_READ(__pread_chk, (int fd, void* to, size_t bytes, off_t at, size_t room), (fd, to, bytes, at, room))
REDFLAG_READ(__pread64_chk, (int fd, void* to, size_t bytes, off_t at, size_t room), (fd, to, bytes, at, room))
REDFLAG_READ(__recv_chk, (int fd, void* to, size_t bytes, size_t room, int flags), (fd, to, bytes, room, flags))
#undef REDFLAG_READ

#define REDFLAG_RECVFROM(name, parameters, arguments)                                               \
  REDFLAG_INTERCEPT(ssize_t, name, REDFLAG_UNPACK parameters) {                                     \
    const hooks::Pc pc = REDFLAG_CALLER;                                                            \
    const socklen_t room_for_address = from_bytes != nullptr ? *from_bytes : 0;                     \
    return Receive(                                                                                 \
        pc, fd, [&] { return real::name arguments; },                                               \
        [&](ssize_t came) {                                                                         \
          TellWrite(pc, to, static_cast<size_t>(came) < bytes ? static_cast<size_t>(came) : bytes); \
          TellAddress(pc, from, from_bytes, room_for_address);                                      \
        });                                                                                         \
  }
REDFLAG_RECVFROM(recvfrom, (int fd, void* to, size_t bytes, int flags, sockaddr* from, socklen_t* from_bytes),
                 (fd, to, bytes, flags, from, from_bytes))
REDFLAG_RECVFROM(__recvfrom_chk,
                 (int fd, void* to, size_t bytes, size_t room, int flags, sockaddr* from, socklen_t* from_bytes),
                 (fd, to, bytes, room, flags, from, from_bytes))
#undef REDFLAG_RECVFROM

#define REDFLAG_READV(name, parameters, arguments)                                                             \
  REDFLAG_INTERCEPT(ssize_t, name, REDFLAG_UNPACK parameters) {                                                \
    const hooks::Pc pc = REDFLAG_CALLER;                                                                       \
    return Receive(                                                                                            \
        pc, fd, [&] { return real::name arguments; },                                                          \
        [&](ssize_t came) { TellWritten(pc, parts, static_cast<size_t>(count), static_cast<size_t>(came)); }); \
  }
REDFLAG_READV(readv, (int fd, const iovec* parts, int count), (fd, parts, count))
REDFLAG_READV(preadv, (int fd, const iovec* parts, int count, off_t at), (fd, parts, count, at))
REDFLAG_READV(preadv64, (int fd, const iovec* parts, int count, off_t at), (fd, parts, count, at))
REDFLAG_READV(preadv2, (int fd, const iovec* parts, int count, off_t at, int flags), (fd, parts, count, at, flags))
REDFLAG_READV(preadv64v2, (int fd, const iovec* parts, int count, off_t at, int flags), (fd, parts, count, at, flags))
#undef REDFLAG_READV

namespace {

void TellMessage(hooks::Pc pc, const msghdr& message, size_t came) {
  TellWritten(pc, message.msg_iov, message.msg_iovlen, came);
  TellWrite(pc, message.msg_name, message.msg_namelen);
  TellWrite(pc, message.msg_control, message.msg_controllen);
}

}  // namespace

REDFLAG_INTERCEPT(ssize_t, recvmsg, int fd, msghdr* message, int flags) {
  const hooks::Pc pc = REDFLAG_CALLER;
  return Receive(
      pc, fd, [&] { return real::recvmsg(fd, message, flags); },
      [&](ssize_t came) { TellMessage(pc, *message, static_cast<size_t>(came)); });
}

REDFLAG_INTERCEPT(int, recvmmsg, int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  const hooks::Pc pc = REDFLAG_CALLER;
  return Receive(
      pc, fd, [&] { return real::recvmmsg(fd, messages, count, flags, limit); },
      [&](int came) {
        for (int i = 0; i < came; ++i) TellMessage(pc, messages[i].msg_hdr, messages[i].msg_len);
      });
}

// ---- Writing ----

#define REDFLAG_WRITE(name, parameters, arguments)                                                 \
  REDFLAG_INTERCEPT(ssize_t, name, REDFLAG_UNPACK parameters) {                                    \
    const hooks::Pc pc = REDFLAG_CALLER;                                                           \
    return Send(pc, fd, [&] { return real::name arguments; }, [&] { TellRead(pc, from, bytes); }); \
  }
REDFLAG_WRITE(write, (int fd, const void* from, size_t bytes), (fd, from, bytes))
REDFLAG_WRITE(pwrite, (int fd, const void* from, size_t bytes, off_t at), (fd, from, bytes, at))
REDFLAG_WRITE(pwrite64, (int fd, const void* from, size_t bytes, off_t at), (fd, from, bytes, at))
REDFLAG_WRITE(send, (int fd, const void* from, size_t bytes, int flags), (fd, from, bytes, flags))
#undef REDFLAG_WRITE

#define REDFLAG_WRITEV(name, parameters, arguments)                                                              \
  REDFLAG_INTERCEPT(ssize_t, name, REDFLAG_UNPACK parameters) {                                                  \
    const hooks::Pc pc = REDFLAG_CALLER;                                                                         \
    return Send(                                                                                                 \
        pc, fd, [&] { return real::name arguments; }, [&] { TellSent(pc, parts, static_cast<size_t>(count)); }); \
  }
REDFLAG_WRITEV(writev, (int fd, const iovec* parts, int count), (fd, parts, count))
REDFLAG_WRITEV(pwritev, (int fd, const iovec* parts, int count, off_t at), (fd, parts, count, at))
REDFLAG_WRITEV(pwritev64, (int fd, const iovec* parts, int count, off_t at), (fd, parts, count, at))
REDFLAG_WRITEV(pwritev2, (int fd, const iovec* parts, int count, off_t at, int flags), (fd, parts, count, at, flags))
REDFLAG_WRITEV(pwritev64v2, (int fd, const iovec* parts, int count, off_t at, int flags), (fd, parts, count, at, flags))
#undef REDFLAG_WRITEV

REDFLAG_INTERCEPT(ssize_t, sendto, int fd, const void* from, size_t bytes, int flags, const sockaddr* to,
                  socklen_t to_bytes) {
  const hooks::Pc pc = REDFLAG_CALLER;
  return Send(
      pc, fd, [&] { return real::sendto(fd, from, bytes, flags, to, to_bytes); },
      [&] {
        TellRead(pc, from, bytes);
        TellRead(pc, to, to_bytes);
        if (to != nullptr) SendThrough(pc, ObjectOfAddress(to, to_bytes));
      });
}

namespace {

void TellSending(hooks::Pc pc, const msghdr& message) {
  TellSent(pc, message.msg_iov, message.msg_iovlen);
  TellRead(pc, message.msg_name, message.msg_namelen);
  TellRead(pc, message.msg_control, message.msg_controllen);
  if (message.msg_name != nullptr) SendThrough(pc, ObjectOfAddress(message.msg_name, message.msg_namelen));
}

}  // namespace

REDFLAG_INTERCEPT(ssize_t, sendmsg, int fd, const msghdr* message, int flags) {
  const hooks::Pc pc = REDFLAG_CALLER;
  return Send(pc, fd, [&] { return real::sendmsg(fd, message, flags); }, [&] { TellSending(pc, *message); });
}

REDFLAG_INTERCEPT(int, sendmmsg, int fd, mmsghdr* messages, unsigned count, int flags) {
  const hooks::Pc pc = REDFLAG_CALLER;
  return Send(
      pc, fd, [&] { return real::sendmmsg(fd, messages, count, flags); },
      [&] {
        for (unsigned i = 0; i < count; ++i) TellSending(pc, messages[i].msg_hdr);
      });
}

// ---- From one to the other ----

#define REDFLAG_MOVE(name, parameters, arguments)                                                            \
  REDFLAG_INTERCEPT(ssize_t, name, REDFLAG_UNPACK parameters) {                                              \
    const hooks::Pc pc = REDFLAG_CALLER;                                                                     \
    return Receive(                                                                                          \
        pc, in, [&] { return Send(pc, out, [&] { return real::name arguments; }, [] {}); }, [](ssize_t) {}); \
  }
REDFLAG_MOVE(sendfile, (int out, int in, off_t* at, size_t bytes), (out, in, at, bytes))
REDFLAG_MOVE(sendfile64, (int out, int in, off_t* at, size_t bytes), (out, in, at, bytes))
REDFLAG_MOVE(splice, (int in, off_t* in_at, int out, off_t* out_at, size_t bytes, unsigned flags),
             (in, in_at, out, out_at, bytes, flags))
REDFLAG_MOVE(tee, (int in, int out, size_t bytes, unsigned flags), (in, out, bytes, flags))
REDFLAG_MOVE(copy_file_range, (int in, off_t* in_at, int out, off_t* out_at, size_t bytes, unsigned flags),
             (in, in_at, out, out_at, bytes, flags))
#undef REDFLAG_MOVE

// ---- Connections: who connects comes before who accepts ----

REDFLAG_INTERCEPT(int, connect, int fd, const sockaddr* to, socklen_t bytes) {
  const hooks::Pc pc = REDFLAG_CALLER;
  if (hooks::Active()) {
    TellRead(pc, to, bytes);
    if (to != nullptr) SendThrough(pc, ObjectOfAddress(to, bytes));
  }
  return real::connect(fd, to, bytes);
}

#define REDFLAG_ACCEPT(name, parameters, arguments)                                                                 \
  REDFLAG_INTERCEPT(int, name, REDFLAG_UNPACK parameters) {                                                         \
    const hooks::Pc pc = REDFLAG_CALLER;                                                                            \
    const socklen_t room = bytes != nullptr ? *bytes : 0;                                                           \
    return Receive(pc, fd, [&] { return real::name arguments; }, [&](int) { TellAddress(pc, from, bytes, room); }); \
  }
REDFLAG_ACCEPT(accept, (int fd, sockaddr* from, socklen_t* bytes), (fd, from, bytes))
REDFLAG_ACCEPT(accept4, (int fd, sockaddr* from, socklen_t* bytes, int flags), (fd, from, bytes, flags))
#undef REDFLAG_ACCEPT

REDFLAG_INTERCEPT(int, shutdown, int fd, int how) {
  return Send(REDFLAG_CALLER, fd, [&] { return real::shutdown(fd, how); }, [] {});
}

// ---- epoll: what was registered or changed, or sent to what is registered, comes before who is told of it ----

REDFLAG_INTERCEPT(int, epoll_ctl, int epoll, int operation, int fd, epoll_event* event) {
  const hooks::Pc pc = REDFLAG_CALLER;
  if (operation != EPOLL_CTL_DEL && hooks::Active()) {
    const void* watched = ObjectOfReceiving(pc, fd);
    const void* watcher = ObjectOfReceiving(pc, epoll);
    if (watched != nullptr && watcher != nullptr) Watched(watched, watcher);
  }
  return Send(
      pc, epoll, [&] { return real::epoll_ctl(epoll, operation, fd, event); },
      [&] { TellRead(pc, event, sizeof *event); });
}

#define REDFLAG_EPOLL(name, parameters, arguments)                                                  \
  REDFLAG_INTERCEPT(int, name, REDFLAG_UNPACK parameters) {                                         \
    const hooks::Pc pc = REDFLAG_CALLER;                                                            \
    return Receive(                                                                                 \
        pc, fd, [&] { return real::name arguments; },                                               \
        [&](int came) { TellWrite(pc, events, static_cast<size_t>(came) * sizeof(epoll_event)); }); \
  }
REDFLAG_EPOLL(epoll_wait, (int fd, epoll_event* events, int most, int timeout), (fd, events, most, timeout))
REDFLAG_EPOLL(epoll_pwait, (int fd, epoll_event* events, int most, int timeout, const sigset_t* mask),
              (fd, events, most, timeout, mask))
REDFLAG_EPOLL(epoll_pwait2, (int fd, epoll_event* events, int most, const timespec* limit, const sigset_t* mask),
              (fd, events, most, limit, mask))
#undef REDFLAG_EPOLL

// ---- eventfd ----

REDFLAG_INTERCEPT(int, eventfd, unsigned value, int flags) {
  const int fd = real::eventfd(value, flags);
  if (fd >= 0) Closed(fd);  // a new one, whatever had its number
  return fd;
}

REDFLAG_INTERCEPT(int, eventfd_read, int fd, eventfd_t* value) {
  const hooks::Pc pc = REDFLAG_CALLER;
  return Receive(
      pc, fd, [&] { return real::eventfd_read(fd, value); }, [&](int) { TellWrite(pc, value, sizeof *value); });
}

REDFLAG_INTERCEPT(int, eventfd_write, int fd, eventfd_t value) {
  return Send(REDFLAG_CALLER, fd, [&] { return real::eventfd_write(fd, value); }, [] {});
}

// ---- Descriptors ----

REDFLAG_INTERCEPT(int, socketpair, int family, int type, int protocol, int* ends) {
  const int result = real::socketpair(family, type, protocol, ends);
  if (result != 0) return result;
  if (hooks::Active()) hooks::Write(REDFLAG_CALLER, ends, 2 * sizeof *ends);
  MadeTogether(ends[0], ends[1]);
  return result;
}

REDFLAG_INTERCEPT(int, pipe, int* ends) {
  const int result = real::pipe(ends);
  if (result == 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, ends, 2 * sizeof *ends);
  return result;
}

REDFLAG_INTERCEPT(int, pipe2, int* ends, int flags) {
  const int result = real::pipe2(ends, flags);
  if (result == 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, ends, 2 * sizeof *ends);
  return result;
}

// The other end sees the end of the file.
REDFLAG_INTERCEPT(int, close, int fd) {
  const hooks::Pc pc = REDFLAG_CALLER;
  if (hooks::Active()) SendThrough(pc, ObjectOfClosing(pc, fd));
  Closed(fd);
  return real::close(fd);
}

REDFLAG_INTERCEPT(int, fclose, FILE* file) {
  const hooks::Pc pc = REDFLAG_CALLER;
  const int fd = fileno(file);
  if (fd >= 0) {
    if (hooks::Active()) SendThrough(pc, ObjectOfClosing(pc, fd));
    Closed(fd);
  }
  return real::fclose(file);
}

namespace {

// `to` is closed, if it is one, and becomes another descriptor of what `fd` is of, at one stroke: programs do that to descriptors that
// others use, and to those alone who close them it matters. Was it one?
bool TellReplaced(hooks::Pc pc, int fd, int to) {
  if (!hooks::Active() || fd == to || arch::Syscall(SYS_fcntl, fd, F_GETFD) < 0) return false;
  if (arch::Syscall(SYS_fcntl, to, F_GETFD) < 0) return false;
  SendThrough(pc, ObjectOfSending(pc, to));
  return true;
}

}  // namespace

REDFLAG_INTERCEPT(int, dup, int fd) {
  const int duplicate = real::dup(fd);
  if (duplicate >= 0) Duplicated(fd, duplicate);
  return duplicate;
}

REDFLAG_INTERCEPT(int, close_range, unsigned first, unsigned last, int flags) {
  // CLOSE_RANGE_CLOEXEC closes nothing yet.
  if (hooks::Active() && (flags & CLOSE_RANGE_CLOEXEC) == 0) ForgetDescriptors(REDFLAG_CALLER, first, last);
  return real::close_range(first, last, flags);
}

REDFLAG_INTERCEPT(void, closefrom, int first) {
  if (hooks::Active() && first >= 0) ForgetDescriptors(REDFLAG_CALLER, static_cast<unsigned>(first), UINT32_MAX);
  real::closefrom(first);
}

REDFLAG_INTERCEPT(int, dup2, int fd, int to) {
  const bool replaces = TellReplaced(REDFLAG_CALLER, fd, to);
  const int duplicate = real::dup2(fd, to);
  if (duplicate >= 0) Duplicated(fd, duplicate);
  if (duplicate >= 0 && replaces) Replaced(REDFLAG_CALLER, to);
  return duplicate;
}

REDFLAG_INTERCEPT(int, dup3, int fd, int to, int flags) {
  const bool replaces = TellReplaced(REDFLAG_CALLER, fd, to);
  const int duplicate = real::dup3(fd, to, flags);
  if (duplicate >= 0) Duplicated(fd, duplicate);
  if (duplicate >= 0 && replaces) Replaced(REDFLAG_CALLER, to);
  return duplicate;
}

// Variadic in the headers: both architectures pass a third argument alike, and it is read only where it was given.
#define REDFLAG_FCNTL(name)                                                                        \
  REDFLAG_INTERCEPT(int, name, int fd, int command, uintptr_t argument) {                          \
    const int result = real::name(fd, command, argument);                                          \
    if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) Duplicated(fd, result); \
    return result;                                                                                 \
  }
REDFLAG_FCNTL(fcntl)
REDFLAG_FCNTL(fcntl64)
#undef REDFLAG_FCNTL

}  // namespace redflag
