// A message (events/wire.h) in the making.
#pragma once

#include <cstdint>

#include "events/wire.h"

namespace redflag::rt {

class Message {
 public:
  void Begin(wire::MessageType type) {
    used_ = 0;
    is_whole_ = true;
    Add(wire::MessageHeader{.bytes = 0, .type = type, .version = wire::kVersion});
  }

  // What does not fit is left out, and the message makes no sense to its reader: is_whole() tells.
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
  bool is_whole() const { return is_whole_; }

 private:
  void AddBytes(const char* from, uint32_t count) {
    is_whole_ &= used_ + count <= wire::kMaxMessage - 8;
    if (!is_whole_) return;
    for (uint32_t i = 0; i < count; ++i) bytes_[used_ + i] = from[i];
    used_ += count;
  }

  uint32_t used_ = 0;
  bool is_whole_ = true;
  alignas(8) char bytes_[wire::kMaxMessage] = {};
};

}  // namespace redflag::rt
