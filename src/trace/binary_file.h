// The file of a binary trace: a header, then blocks one after the other, each with a checksum, then an end. Written by the host side
// while the program runs (collect/), so that at any moment all but the last block are whole.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "base/ids.h"

namespace redflag {

class BinaryWriter {
 public:
  // Takes over the descriptor of an empty file that is open for writing.
  static std::variant<std::unique_ptr<BinaryWriter>, std::string> Create(int fd);
  virtual ~BinaryWriter() = default;

  // Records of one thread, in the encoding of events/trace_block.h, after those that were added before. First and last stamp: of the
  // events in it that have one. False: it could not be written; error() says why, and nothing more will be.
  virtual bool AddEvents(Tid thread, uint64_t first_stamp, uint64_t last_stamp, uint32_t events,
                         std::span<const std::byte> records) = 0;
  // A message of events/wire.h.
  virtual bool AddMessage(std::span<const std::byte> message) = 0;
  // Every event with a stamp up to `stamp` is in the blocks before this.
  virtual bool AddCheckpoint(uint64_t stamp) = 0;
  // The recording is over: why, in words for the user.
  virtual bool Finish(const std::string& ending) = 0;
  virtual const std::string& error() const = 0;
};

}  // namespace redflag
