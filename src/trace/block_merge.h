// BlockMerge: the blocks of all threads as one stream of events, in the order of their stamps (events/trace_block.h).
//
// The rule: of all threads, the one whose next stamped event has the smallest stamp goes on: that event, and those after it up to the
// thread's next stamp. It is found with a heap; as long as a thread has the smallest stamp, the heap is not touched.
//
// A thread is opened when its turn comes for the first time, until then the header of its first block vouches for the stamp; and it is
// closed at the end of its last block.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "events/trace_block.h"
#include "trace/binary_file.h"
#include "trace/event_stream.h"
#include "trace/shard.h"

namespace redflag {

// Where the events of one thread are, in order.
struct ThreadBlocks {
  Tid thread{};
  std::vector<FileBlock> blocks;
};

// Numbers in events are smaller than these.
struct EventBounds {
  uint32_t threads = 0;
  uint32_t positions = 0;  // or kNoPosition
  uint32_t syncs = 0;
  uint32_t functions = 0;
  uint32_t texts = 0;
  uint32_t contexts = 0;  // of definitions
};

// What is wrong with an event in itself; empty: nothing.
std::string EventProblem(const Event& event, const EventBounds& bounds);

// `owner` keeps everything else alive.
struct MergeInput {
  std::shared_ptr<const void> owner;
  const BinaryFile* file = nullptr;
  const std::string* path = nullptr;
  const std::vector<ThreadBlocks>* threads = nullptr;
  EventBounds bounds;
  uint64_t horizon = UINT64_MAX;  // events with a greater stamp, and what their thread does after that, are left out
  Shard shard{};                  // plain accesses that are no business of its are left out, too
};

class BlockMerge : public EventStream {
 public:
  explicit BlockMerge(MergeInput input);

  std::span<const Event> Next() override;
  std::span<const uint64_t> places() const override { return {places_.data(), places_.empty() ? 0 : count_}; }
  uint64_t passed() const override { return passed_; }
  const std::string& error() const override { return error_; }
  const std::vector<RecordedContext>& contexts() const override { return contexts_; }

 private:
  static constexpr size_t kBatch = 4096;

  struct Cursor {
    const ThreadBlocks* of = nullptr;
    size_t block = 0;                   // which one is being read
    std::optional<BlockReader> reader;  // none: not opened yet
    std::vector<std::byte> records;
    Event waiting{};            // has the stamp `stamp`, comes next
    uint64_t stamp = kNoStamp;  // the last one that was read
    uint64_t events = 0;        // of this block
  };
  struct Turn {
    uint64_t stamp;  // of the next stamped event; of a thread that is not open, it may be smaller than that
    Cursor* cursor;
  };

  bool Choose();
  void Run();
  template <bool kIsPart>
  void RunOn();
  void OpenThread(Cursor& cursor);
  bool NextBlock(Cursor& cursor);
  bool LoadBlock(Cursor& cursor);
  bool Define(const BlockReader& reader, const Cursor& cursor);
  bool HasGoodStamp(const Cursor& cursor, uint64_t stamp);
  bool IsSound(const Event& event, const Cursor& cursor);
  bool CheckOther(const Event& event, const Cursor& cursor);
  void Close(Cursor& cursor);
  void SiftDown(size_t at);
  uint64_t SecondStamp() const;
  void Fail(const Cursor& cursor, std::string_view what);
  void Finish();

  const MergeInput input_;
  BlockDecoder decoder_;
  std::vector<Cursor> cursors_;
  std::vector<Turn> heap_;        // the smallest first
  Cursor* current_ = nullptr;     // the first of the heap, while it goes on
  uint64_t emitted_ = 0;          // the last stamp
  uint64_t second_ = 0;           // while a thread goes on: the smallest stamp of the others
  std::vector<Event> batch_;      // has room for kBatch, or for all there are
  std::vector<uint64_t> places_;  // of the events in the batch; of a part only
  size_t count_ = 0;
  uint64_t passed_ = 0;
  ShardFilter filter_;
  std::vector<RecordedContext> contexts_;
  std::string error_;
};

}  // namespace redflag
