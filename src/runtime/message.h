// A message (events/wire.h) in the making.
#pragma once

#include <cstdint>

#include "events/wire.h"

namespace redflag::rt {

class Message {
 public:
  void Begin(wire::MessageType type) {
    used_ = 0;
    Add(wire::MessageHeader{.bytes = 0, .type = type, .version = wire::kVersion});
  }

  // What does not fit is left out: the reader sees a message that ends early, and says so.
  template <class T>
  void Add(const T& part) {
    static_assert(sizeof(T) % 8 == 0 && alignof(T) <= 8);
    AddBytes(reinterpret_cast<const char*>(&part), sizeof(T));
  }
  void AddText(const char* text) {
    uint32_t length = 0;
    while (text[length] != '\0') ++length;
    Add(wire::Text{.bytes = length, .reserved = 0});
    AddBytes(text, length);
    while (used_ % 8 != 0) bytes_[used_++] = 0;
  }

  // The size of the whole message.
  uint64_t Finish() {
    reinterpret_cast<wire::MessageHeader*>(bytes_)->bytes = used_;
    return used_;
  }
  const char* bytes() const { return bytes_; }

 private:
  void AddBytes(const char* from, uint32_t count) {
    if (used_ + count > wire::kMaxMessage - 8) return;
    for (uint32_t i = 0; i < count; ++i) bytes_[used_ + i] = from[i];
    used_ += count;
  }

  uint32_t used_ = 0;
  alignas(8) char bytes_[wire::kMaxMessage] = {};
};

}  // namespace redflag::rt
