// The writing end of a ring, as the runtime has it but in plain C++: for tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "events/ring.h"

namespace redflag {

class RingWriter {
 public:
  explicit RingWriter(uint64_t capacity) : capacity_(capacity), fd_(memfd_create("ring", MFD_CLOEXEC)) {
    if (ftruncate(fd_, static_cast<off_t>(kRingDataOffset + capacity)) != 0) __builtin_trap();
    void* memory = mmap(nullptr, kRingDataOffset + capacity, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    memory_ = static_cast<std::byte*>(memory);
    header().capacity = capacity;
    header().magic = RingHeader::kMagic;
  }
  ~RingWriter() {
    munmap(memory_, kRingDataOffset + capacity_);
    close(fd_);
  }
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  int fd() const { return fd_; }
  RingHeader& header() const { return *reinterpret_cast<RingHeader*>(memory_); }
  std::byte* data() const { return memory_ + kRingDataOffset; }

  // False: there is no room.
  bool Publish(std::span<const std::byte> message) {
    const uint64_t head = header().head;
    const uint64_t tail = std::atomic_ref(header().tail).load(std::memory_order_acquire);
    if (capacity_ - (head - tail) < message.size()) return false;
    for (size_t i = 0; i < message.size(); ++i) data()[(head + i) % capacity_] = message[i];
    std::atomic_ref(header().head).store(head + message.size(), std::memory_order_release);
    std::atomic_ref(header().wake).fetch_add(1);
    return true;
  }

  void Done() { std::atomic_ref(header().writer_done).store(1); }

 private:
  uint64_t capacity_;
  int fd_;
  std::byte* memory_;
};

}  // namespace redflag
