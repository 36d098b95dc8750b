#include "runtime/ring_writer.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/arch.h"
#include "runtime/helper.h"
#include "runtime/shared_memory.h"

namespace redflag::rt {
namespace {

constexpr uint64_t kRingBytes = uint64_t{1} << 20;
constexpr int kMostWait = 2000;  // milliseconds, for room in the ring

void SleepMillisecond() {
  timespec wait = {.tv_sec = 0, .tv_nsec = 1'000'000};
  arch::Syscall(SYS_nanosleep, reinterpret_cast<int64_t>(&wait), 0);
}

}  // namespace

bool RingWriter::Map(int64_t& fd) {
  const auto size = static_cast<int64_t>(kRingDataOffset + kRingBytes);
  fd = NewSharedMemory("redflag", size);
  if (fd < 0) return false;
  const int64_t mapped = arch::Syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped < 0 && mapped >= -4095) return false;
  ring_ = reinterpret_cast<RingHeader*>(mapped);
  ring_->capacity = kRingBytes;
  __atomic_store_n(&ring_->magic, RingHeader::kMagic, __ATOMIC_RELEASE);
  return true;
}

bool RingWriter::Open(bool is_forked) {
  int64_t fd = -1;
  has_reader_ = Map(fd) && StartHelper(fd, *ring_, is_forked);
  if (fd >= 0) arch::Syscall(SYS_close, fd);
  return has_reader_;
}

void RingWriter::Leave() {
  if (ring_ != nullptr) {
    arch::Syscall(SYS_munmap, reinterpret_cast<int64_t>(ring_), static_cast<int64_t>(kRingDataOffset + kRingBytes));
  }
  ring_ = nullptr;
  has_reader_ = false;
}

bool RingWriter::AwaitRoom(uint64_t bytes) {
  for (int i = 0; ring_->head + bytes - __atomic_load_n(&ring_->tail, __ATOMIC_ACQUIRE) > ring_->capacity; ++i) {
    if (i == kMostWait || reader_failed()) {
      __atomic_fetch_add(&ring_->dropped, 1, __ATOMIC_RELAXED);
      return false;
    }
    SleepMillisecond();
  }
  return true;
}

void RingWriter::Put(Message& message) {
  const uint64_t bytes = message.Finish();
  if (!AwaitRoom(bytes)) return;
  const uint64_t head = ring_->head;
  for (uint64_t i = 0; i < bytes; ++i) *ByteAt(head + i) = message.bytes()[i];
  __atomic_store_n(&ring_->head, head + bytes, __ATOMIC_RELEASE);
  Wake();
}

void RingWriter::TakeOver(const RingWriter& other) {
  const uint64_t end = other.ring_->head;
  uint64_t begin = __atomic_load_n(&other.ring_->settled, __ATOMIC_ACQUIRE);
  if (end - begin > other.ring_->capacity)
    begin = __atomic_load_n(&other.ring_->tail, __ATOMIC_ACQUIRE);  // written over
  for (uint64_t at = begin; at < end;) {
    wire::MessageHeader header;
    for (uint64_t i = 0; i < sizeof header; ++i) reinterpret_cast<char*>(&header)[i] = *other.ByteAt(at + i);
    if (header.bytes == 0 || !AwaitRoom(header.bytes)) return;
    for (uint64_t i = 0; i < header.bytes; ++i) *ByteAt(ring_->head + i) = *other.ByteAt(at + i);
    __atomic_store_n(&ring_->head, ring_->head + header.bytes, __ATOMIC_RELEASE);
    Wake();
    at += header.bytes;
  }
}

void RingWriter::End() {
  __atomic_store_n(&ring_->writer_done, 1, __ATOMIC_RELEASE);
  Wake();
}

void RingWriter::Wake() {
  __atomic_fetch_add(&ring_->wake, 1, __ATOMIC_RELEASE);
  arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(&ring_->wake), FUTEX_WAKE, 1);
}

bool RingWriter::GiveUpWaiting() const {
  uint32_t nobody = 0;
  return __atomic_compare_exchange_n(&ring_->reader_lives, &nobody, FUTEX_OWNER_DIED, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

bool RingWriter::Await(int milliseconds) const {
  const auto is_drained = [&] {
    const uint32_t drained = __atomic_load_n(&ring_->drained, __ATOMIC_ACQUIRE);
    return static_cast<int32_t>(drained - __atomic_load_n(&ring_->wake, __ATOMIC_RELAXED)) >= 0;
  };
  for (int i = 0; i < milliseconds && !is_drained() && !reader_failed(); ++i) SleepMillisecond();
  return is_drained();
}

}  // namespace redflag::rt
