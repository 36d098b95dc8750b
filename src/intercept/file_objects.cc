#include "intercept/file_objects.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/arch.h"
#include "base/hash_map.h"
#include "intercept/file_places.h"

namespace redflag {
namespace {

constexpr uint64_t kObjects = FilePlaces::kPlaces;
constexpr int kDescriptors = 1 << 16;

// Never read or written: addresses for what has none.
alignas(8) constinit char objects[kObjects * 8] = {};

// Which of them is of which file.
constinit FilePlaces places = {};

// By place, the place of who watches it, plus 1.
constinit uint32_t watchers[kObjects] = {};

constinit uint32_t numbers[kDescriptors] = {};  // of files without names; 0: none yet
constinit uint32_t last_number = 0;

// Likewise: of descriptors. And what each was last seen to be of, 0: not seen.
constinit uint64_t descriptors[kDescriptors] = {};
constinit uint64_t identities[kDescriptors] = {};

enum Namespace : uint64_t { kInode = 1, kPorts, kPort, kName, kNumber };

const void* ObjectOf(Namespace space, uint64_t a, uint64_t b = 0) {
  bool is_new = false;
  const uint64_t place = places.PlaceOf(HashKey(HashKey(a + (uint64_t{space} << 56)) + b), is_new);
  if (is_new) __atomic_store_n(&watchers[place], 0, __ATOMIC_RELAXED);
  return &objects[place * 8];
}

uint64_t IndexOf(const void* object) { return static_cast<uint64_t>(static_cast<const char*>(object) - objects) / 8; }

uint32_t NewNumber() { return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED); }

const void* ObjectOfNumber(int fd) {
  if (fd >= kDescriptors) return ObjectOf(kNumber, 0);
  uint32_t number = __atomic_load_n(&numbers[fd], __ATOMIC_RELAXED);
  if (number == 0) {
    const uint32_t fresh = NewNumber();
    if (__atomic_compare_exchange_n(&numbers[fd], &number, fresh, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      number = fresh;
    }
  }
  return ObjectOf(kNumber, number);
}

// ---- Sockets ----

union Address {
  sockaddr any;
  sockaddr_in in;
  sockaddr_in6 in6;
  sockaddr_un un;
};

struct Name {
  Address address;
  uint32_t bytes = 0;  // 0: it has none

  Name() = default;
  Name(int64_t call, int fd) {
    socklen_t size = sizeof address;
    if (arch::Syscall(call, fd, reinterpret_cast<int64_t>(&address), reinterpret_cast<int64_t>(&size)) == 0) {
      bytes = size < sizeof address ? size : sizeof address;
    }
  }

  bool is_internet() const {
    return (bytes >= sizeof(sockaddr_in) && address.any.sa_family == AF_INET) ||
           (bytes >= sizeof(sockaddr_in6) && address.any.sa_family == AF_INET6);
  }
  uint64_t port() const { return address.any.sa_family == AF_INET ? address.in.sin_port : address.in6.sin6_port; }
  bool is_path() const { return bytes > sizeof(sa_family_t) && address.any.sa_family == AF_UNIX; }
  uint64_t path() const {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < bytes - sizeof(sa_family_t); ++i) {
      if (address.un.sun_path[i] == '\0' && i > 0) break;  // names of the abstract kind begin with one
      hash = HashKey(hash + static_cast<unsigned char>(address.un.sun_path[i]) + 1);
    }
    return hash;
  }
};

bool IsStream(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  arch::Syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, reinterpret_cast<int64_t>(&type),
                reinterpret_cast<int64_t>(&size));
  return type != SOCK_DGRAM && type != SOCK_RAW;
}

const void* ObjectOfSocket(int fd, bool sending) {
  const Name own(SYS_getsockname, fd);
  const Name peer(SYS_getpeername, fd);
  if (own.is_internet()) {
    if (!IsStream(fd)) return ObjectOf(kPort, sending ? peer.port() : own.port());
    if (!peer.is_internet()) return ObjectOf(kPort, own.port());  // it listens
    const uint64_t a = own.port();
    const uint64_t b = peer.port();
    return a < b ? ObjectOf(kPorts, a, b) : ObjectOf(kPorts, b, a);
  }
  if (own.bytes != 0 && own.address.any.sa_family != AF_UNIX) return nullptr;
  // Of a connection one end has a name, the listener's.
  if (IsStream(fd)) {
    if (own.is_path()) return ObjectOf(kName, own.path());
    if (peer.is_path()) return ObjectOf(kName, peer.path());
    return ObjectOfNumber(fd);
  }
  const Name& receiver = sending ? peer : own;
  return receiver.is_path() ? ObjectOf(kName, receiver.path()) : ObjectOfNumber(fd);
}

enum class Purpose { kSend, kReceive, kClose };

void TellDescriptor(hooks::Pc pc, int fd, uint64_t identity, Purpose purpose) {
  if (fd >= kDescriptors) return;
  const void* descriptor = &descriptors[fd];
  if (__atomic_exchange_n(&identities[fd], identity, __ATOMIC_RELAXED) != identity) hooks::Renewed(pc, descriptor);
  if (purpose == Purpose::kClose) {
    hooks::Closing(pc, descriptor);
  } else {
    hooks::Using(pc, descriptor);
  }
}

bool Ask(int fd, struct stat& file) {
#if defined(SYS_newfstatat)
  constexpr int64_t kCall = SYS_newfstatat;
#else
  constexpr int64_t kCall = SYS_fstatat;
#endif
  return arch::Syscall(kCall, fd, reinterpret_cast<int64_t>(""), reinterpret_cast<int64_t>(&file), AT_EMPTY_PATH) == 0;
}

uint64_t IdentityOf(const struct stat& file) { return HashKey(HashKey(file.st_ino) + file.st_dev) | 1; }

const void* ObjectOfWhat(const struct stat& file, int fd, bool sending) {
  switch (file.st_mode & S_IFMT) {
    case S_IFIFO:
    case S_IFREG:
      return ObjectOf(kInode, file.st_ino, file.st_dev);
    case S_IFSOCK:
      return ObjectOfSocket(fd, sending);
    case 0:  // eventfd and the like: the kernel has one inode for all of them
      return ObjectOfNumber(fd);
    default:
      return nullptr;
  }
}

const void* ObjectOfFile(hooks::Pc pc, int fd, Purpose purpose) {
  struct stat file;
  if (fd < 0 || !Ask(fd, file)) return nullptr;
  TellDescriptor(pc, fd, IdentityOf(file), purpose);
  return ObjectOfWhat(file, fd, purpose != Purpose::kReceive);
}

void SetNumber(int fd, uint32_t number) {
  if (fd >= 0 && fd < kDescriptors) __atomic_store_n(&numbers[fd], number, __ATOMIC_RELAXED);
}

}  // namespace

const void* ObjectOfSending(hooks::Pc pc, int fd) { return ObjectOfFile(pc, fd, Purpose::kSend); }
const void* ObjectOfReceiving(hooks::Pc pc, int fd) { return ObjectOfFile(pc, fd, Purpose::kReceive); }
const void* ObjectOfClosing(hooks::Pc pc, int fd) { return ObjectOfFile(pc, fd, Purpose::kClose); }

const void* ObjectOfStream(int fd, bool sending) {
  struct stat file;
  return fd >= 0 && Ask(fd, file) ? ObjectOfWhat(file, fd, sending) : nullptr;
}

void SendThrough(hooks::Pc pc, const void* object) {
  if (object == nullptr) return;
  hooks::Release(pc, object);
  if (const void* watcher = WatcherOf(object)) hooks::Release(pc, watcher);
}

void ForgetDescriptors(hooks::Pc pc, unsigned first, unsigned last) {
  for (unsigned fd = first; fd <= last && fd < kDescriptors; ++fd) {
    if (__atomic_exchange_n(&identities[fd], 0, __ATOMIC_RELAXED) != 0) hooks::Renewed(pc, &descriptors[fd]);
    SetNumber(static_cast<int>(fd), 0);
  }
}

void Watched(const void* object, const void* watcher) {
  __atomic_store_n(&watchers[IndexOf(object)], static_cast<uint32_t>(IndexOf(watcher) + 1), __ATOMIC_RELAXED);
}

const void* WatcherOf(const void* object) {
  const uint32_t watcher = __atomic_load_n(&watchers[IndexOf(object)], __ATOMIC_RELAXED);
  return watcher == 0 ? nullptr : &objects[(uint64_t{watcher} - 1) * 8];
}

void Replaced(hooks::Pc pc, int fd) {
  struct stat file;
  if (fd < 0 || fd >= kDescriptors || !Ask(fd, file)) return;
  __atomic_store_n(&identities[fd], IdentityOf(file), __ATOMIC_RELAXED);
  hooks::Made(pc, &descriptors[fd]);
}

int DescriptorAt(uint64_t address) {
  const uint64_t offset = address - reinterpret_cast<uint64_t>(descriptors);
  return offset < sizeof descriptors ? static_cast<int>(offset / sizeof *descriptors) : -1;
}

const void* ObjectOfAddress(const void* address, uint32_t bytes) {
  Name name;
  name.bytes = bytes < sizeof name.address ? bytes : sizeof name.address;
  __builtin_memcpy(&name.address, address, name.bytes);
  if (name.is_internet()) return ObjectOf(kPort, name.port());
  return name.is_path() ? ObjectOf(kName, name.path()) : nullptr;
}

void MadeTogether(int fd, int other) {
  const uint32_t number = NewNumber();
  SetNumber(fd, number);
  SetNumber(other, number);
}

void Duplicated(int fd, int duplicate) {
  if (fd < 0 || fd >= kDescriptors) return;
  uint32_t number = __atomic_load_n(&numbers[fd], __ATOMIC_RELAXED);
  if (number == 0) SetNumber(fd, number = NewNumber());
  SetNumber(duplicate, number);
}

void Closed(int fd) { SetNumber(fd, 0); }

}  // namespace redflag
