// RingWriter: the writer's end of the ring (events/ring.h), and the helper process at the other end of it. Of the functions that change the ring
// or what is in it, one at a time: under the lock of whoever owns this.
#pragma once

#include <cstdint>

#include "events/ring.h"
#include "runtime/message.h"

namespace redflag::rt {

class RingWriter {
 public:
  // A ring and its reader. False: there is none, and nothing may be put. `is_forked`: see StartHelper.
  bool Open(bool is_forked);
  // In the child of a fork: the ring is the parent's. Or nobody reads it any more.
  void Leave();
  // What the reader of another ring, which has died, has not read, or had read and held back: to this one's.
  void TakeOver(const RingWriter& other);

  // If there is no room, waits a while for the reader; then the message is dropped and counted.
  void Put(Message& message);
  // Nothing more will come.
  void End();
  // Until everything was read and written, at most so long. "no": it was not.
  bool Await(int milliseconds) const;
  // A reader that has not begun to read counts as dead from now on; if it comes after all, it goes away again. "no": there is one that has.
  bool GiveUpWaiting() const;

  bool has_reader() const { return has_reader_; }
  bool reader_failed() const { return __atomic_load_n(&ring_->reader_failed, __ATOMIC_ACQUIRE) != 0 || reader_died(); }
  bool reader_died() const { return has_reader_ && ring_->ReaderHasDied(); }
  bool has_unread() const { return __atomic_load_n(&ring_->tail, __ATOMIC_ACQUIRE) != ring_->head; }
  uint64_t dropped() const { return __atomic_load_n(&ring_->dropped, __ATOMIC_RELAXED); }
  uint64_t suppressed() const { return ring_ == nullptr ? 0 : __atomic_load_n(&ring_->suppressed, __ATOMIC_RELAXED); }

 private:
  bool Map(int64_t& fd);
  bool AwaitRoom(uint64_t bytes);
  char* ByteAt(uint64_t position) const {
    return reinterpret_cast<char*>(ring_) + kRingDataOffset + (position & (ring_->capacity - 1));
  }
  void Wake();

  RingHeader* ring_ = nullptr;
  bool has_reader_ = false;
};

}  // namespace redflag::rt
