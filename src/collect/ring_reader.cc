#include "collect/ring_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

#include "events/wire.h"

namespace redflag {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The longest sleep: the death of a process does not wake a futex.
constexpr milliseconds kSlice{100};
constexpr uint64_t kMaxCapacity = uint64_t{1} << 32;
constexpr uint64_t kMinCapacity = 64;

template <class Word>
std::atomic_ref<Word> Atomic(Word& word) {
  return std::atomic_ref<Word>(word);
}

void FutexWait(uint32_t& word, uint32_t seen, milliseconds timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (timeout - seconds).count() * 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

// When the thread that says so ends, be it killed, the kernel marks the futex for whoever looks at it. The list that the kernel reads then is
// ours alone: only the futex is shared.
struct Life {
  robust_list_head head;
  robust_list held;
};
thread_local Life life;

void StopSaying() { life.head.list.next = &life.head.list; }

// "no": the writer has waited for too long, and another reader is in our place.
bool SayThatWeLive(uint32_t& futex) {
  StopSaying();
  uint32_t seen = std::atomic_ref<uint32_t>(futex).load(std::memory_order_acquire);
  const auto self = static_cast<uint32_t>(syscall(SYS_gettid));
  do {
    if (seen == FUTEX_OWNER_DIED) return false;
  } while (!std::atomic_ref<uint32_t>(futex).compare_exchange_weak(seen, self, std::memory_order_acq_rel));
  life.held.next = &life.head.list;
  life.head.list_op_pending = nullptr;
  life.head.futex_offset = reinterpret_cast<long>(&futex) - reinterpret_cast<long>(&life.held);
  if (syscall(SYS_set_robust_list, &life.head, sizeof life.head) == 0) life.head.list.next = &life.held;
  return true;
}

void FutexWake(uint32_t& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace

std::variant<std::unique_ptr<RingReader>, std::string> RingReader::Open(int fd, pid_t writer) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return fmt::format("cannot look at descriptor {}: {}", fd, std::strerror(errno));
  const auto size = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
  if (size <= kRingDataOffset) return fmt::format("descriptor {} is too small for a ring ({} bytes)", fd, size);
  // A memfd that shrinks under a mapping would kill the reader. Where seals are not allowed, this fails, and that is all.
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);

  void* first = mmap(nullptr, kRingDataOffset, PROT_READ, MAP_SHARED, fd, 0);
  if (first == MAP_FAILED) return fmt::format("cannot map descriptor {}: {}", fd, std::strerror(errno));
  const auto* header = static_cast<const RingHeader*>(first);
  const uint64_t magic = header->magic;
  const uint64_t capacity = header->capacity;
  const uint64_t tail = header->tail;
  munmap(first, kRingDataOffset);

  if (magic != RingHeader::kMagic) return fmt::format("descriptor {} is no ring (magic {:#x})", fd, magic);
  if (capacity < kMinCapacity || capacity > kMaxCapacity || (capacity & (capacity - 1)) != 0 ||
      capacity > size - kRingDataOffset) {
    return fmt::format("the ring says that it holds {} bytes; its file has {}", capacity, size);
  }
  if (tail % 8 != 0) return fmt::format("the ring was read up to {:#x}, which is not aligned", tail);
  const size_t mapped = kRingDataOffset + capacity;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return fmt::format("cannot map the ring: {}", std::strerror(errno));

  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, writer, 0));
  if (pidfd < 0 && errno != ESRCH) {
    const int error = errno;
    munmap(memory, mapped);
    return fmt::format("cannot watch process {}: {}", writer, std::strerror(error));
  }
  return std::unique_ptr<RingReader>(new RingReader(static_cast<std::byte*>(memory), mapped, capacity, tail, pidfd));
}

RingReader::RingReader(std::byte* memory, size_t mapped, uint64_t capacity, uint64_t tail, int pidfd)
    : memory_(memory), mapped_(mapped), capacity_(capacity), tail_(tail), pidfd_(pidfd), dead_(pidfd < 0) {
  if (!SayThatWeLive(header().reader_lives)) tail_ = Atomic(header().head).load(std::memory_order_acquire);
}

RingReader::~RingReader() {
  StopSaying();
  if (pidfd_ >= 0) close(pidfd_);
  munmap(memory_, mapped_);
}

bool RingReader::WriterIsDead() {
  if (dead_) return true;
  pollfd watched{.fd = pidfd_, .events = POLLIN, .revents = 0};
  dead_ = poll(&watched, 1, 0) > 0;
  return dead_;
}

RingReader::Status RingReader::Next(milliseconds timeout) {
  if (broken_) return Status::kBroken;
  const Clock::time_point deadline = Clock::now() + timeout;
  for (;;) {
    // In this order: whatever is published before the end is seen after the end was noticed.
    const bool dead = WriterIsDead();
    const bool done = Atomic(header().writer_done).load(std::memory_order_acquire) != 0;
    const uint32_t wake = Atomic(header().wake).load(std::memory_order_acquire);
    const uint64_t head = Atomic(header().head).load(std::memory_order_acquire);
    if (head != tail_) return Take(head);
    if (done) return Status::kDone;
    if (dead) return Status::kDead;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left <= milliseconds::zero()) return Status::kTimeout;
    Sleep(wake, std::min(left, kSlice));
  }
}

// `wake` was read before `head`, which had nothing new: a publication since then has changed it, and the kernel sees that.
void RingReader::Sleep(uint32_t wake_seen, milliseconds timeout) {
  const auto waits = Atomic(header().reader_waits);
  waits.store(1, std::memory_order_seq_cst);
  FutexWait(header().wake, wake_seen, timeout);
  waits.store(0, std::memory_order_relaxed);
}

RingReader::Status RingReader::Break(std::string why) {
  broken_ = true;
  error_ = std::move(why);
  Abandon();
  return Status::kBroken;
}

RingReader::Status RingReader::Take(uint64_t head) {
  const uint64_t available = head - tail_;  // a head that went back gives a huge number
  if (head % 8 != 0 || available > capacity_) {
    return Break(fmt::format("the ring was written up to {:#x} and read up to {:#x}: it was overwritten", head, tail_));
  }
  wire::MessageHeader message{};
  Copy(tail_, reinterpret_cast<std::byte*>(&message), sizeof message);
  if (message.bytes < sizeof message || message.bytes % 8 != 0 || message.bytes > wire::kMaxMessage ||
      message.bytes > available) {
    return Break(fmt::format("a message of {} bytes where {} are left: it was overwritten", message.bytes, available));
  }
  message_.resize(message.bytes);
  // The size stays what was checked, whatever the ring says by now.
  std::memcpy(message_.data(), &message, sizeof message);
  Copy(tail_ + sizeof message, message_.data() + sizeof message, message.bytes - sizeof message);
  tail_ += message.bytes;
  Atomic(header().tail).store(tail_, std::memory_order_release);
  return Status::kMessage;
}

void RingReader::Copy(uint64_t position, std::byte* to, size_t bytes) const {
  const std::byte* data = memory_ + kRingDataOffset;
  const uint64_t begin = position & (capacity_ - 1);
  const size_t until_end = std::min<uint64_t>(bytes, capacity_ - begin);
  std::memcpy(to, data + begin, until_end);
  std::memcpy(to + until_end, data, bytes - until_end);
}

uint64_t RingReader::dropped() const { return Atomic(header().dropped).load(std::memory_order_relaxed); }

void RingReader::Finish(uint64_t suppressed) {
  Atomic(header().suppressed).store(suppressed, std::memory_order_relaxed);
  Atomic(header().drained).fetch_add(1, std::memory_order_release);
  FutexWake(header().drained);
}

void RingReader::Settle(uint64_t position) { Atomic(header().settled).store(position, std::memory_order_release); }

// One more: that nothing will come may have been seen before it was counted.
void RingReader::Abandon() {
  const uint32_t wake = Atomic(header().wake).load(std::memory_order_acquire);
  Atomic(header().drained).store(wake + 1, std::memory_order_release);
  FutexWake(header().drained);
}

}  // namespace redflag
