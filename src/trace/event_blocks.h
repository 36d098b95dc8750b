// EventBlocks: events one by one, in any interleaving of threads, to the blocks of a BinaryWriter. For what is made on the host side;
// a program under test fills its blocks itself (runtime/recorder.h).
//
// Memory: one block of each thread that has one under way. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "events/trace_block.h"
#include "trace/binary_file.h"

namespace redflag {

class EventBlocks {
 public:
  // The writer must outlive it.
  explicit EventBlocks(BinaryWriter& writer) : writer_(writer) {}

  // The events of a thread in their order; the first has a stamp, and stamps of a thread increase. False: the writer says why.
  bool Add(const Event& event, uint64_t stamp = kNoStamp);
  bool AddContext(Tid thread, uint32_t context, uint32_t caller, uint64_t place);
  // Writes what has not been written.
  bool Flush();

 private:
  static constexpr size_t kBlockBytes = 1u << 16;

  struct Block {
    BlockState state{};
    uint64_t first_stamp = 0;
    uint32_t events = 0;
    std::vector<uint8_t> records;
  };

  Block& BlockOf(Tid thread);
  bool Write(Tid thread, Block& block);
  bool Extend(Tid thread, Block& block, const uint8_t* begin, const uint8_t* end);

  BinaryWriter& writer_;
  std::map<Tid, Block> blocks_;
  Tid last_{};
  Block* of_last_ = nullptr;
};

}  // namespace redflag
