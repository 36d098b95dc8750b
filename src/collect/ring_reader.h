// The reading end of the ring (events/ring.h). The memory is shared with a program that may crash, be killed or scribble on it at
// any moment, so nothing in it is believed: each position and size is checked, what the reader needs later it keeps in private
// memory, and a message is copied out before anybody looks at it. A ring that makes no sense is broken for good: messages carry
// no mark by which to find the next one.
//
// One thread only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "events/ring.h"

namespace redflag {

class RingReader {
 public:
  enum class Status {
    kMessage,  // message() is the next one
    kTimeout,  // nothing came
    kDone,     // the writer said that it is done; everything has been read
    kDead,     // the writer's process is gone; everything that it published has been read
    kBroken,   // the ring makes no sense: error()
  };

  // Maps the ring that `fd` refers to; the descriptor may be closed then. `writer`: the process that writes. An error in words if
  // that is no ring.
  static std::variant<std::unique_ptr<RingReader>, std::string> Open(int fd, pid_t writer);

  ~RingReader();
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  // Waits for the next message, no longer than `timeout`. Frees its place in the ring at once: the writer never waits for a report.
  Status Next(std::chrono::milliseconds timeout);

  // Of the last kMessage; private memory, until the next call of Next.
  std::span<const std::byte> message() const { return message_; }

  // The last message has been dealt with, report and all: tells a writer that waits for it. `suppressed`: how many races were not
  // reported, so far.
  void Finish(uint64_t suppressed = 0);

  // Where the last message began. All before `position` has been reported: should this process die, whoever takes its place begins there.
  uint64_t position() const { return tail_ - message_.size(); }
  uint64_t end() const { return tail_; }
  void Settle(uint64_t position);

  // Nothing more will be read: a writer that waits need not wait longer.
  void Abandon();

  // Messages that found no room, as the writer counts them.
  uint64_t dropped() const;

  const std::string& error() const { return error_; }

 private:
  RingReader(std::byte* memory, size_t mapped, uint64_t capacity, uint64_t tail, int pidfd);

  RingHeader& header() const { return *reinterpret_cast<RingHeader*>(memory_); }
  bool WriterIsDead();
  Status Break(std::string why);
  Status Take(uint64_t head);
  void Copy(uint64_t position, std::byte* to, size_t bytes) const;
  void Sleep(uint32_t wake_seen, std::chrono::milliseconds timeout);

  std::byte* memory_;
  size_t mapped_;
  uint64_t capacity_;
  uint64_t tail_;
  int pidfd_;  // -1: the process was gone from the start
  bool dead_ = false;
  bool broken_ = false;
  std::vector<std::byte> message_;
  std::string error_;
};

}  // namespace redflag
