// BinaryTrace: a recorded run as an EventSource. The events of all threads come in one order that respects what is known of the order in which
// they happened (events/trace_block.h, "Stamps"): the events of a thread up to its next stamp follow the event that has its last one.
//
// A trace that was made from text (trace/binary_convert.h) also has the names that text traces have: Load() gives all of it.
//
// Events that come out of a stream have been checked one by one: numbers are in their ranges, no bytes lie past the end of the address
// space. Whether they make sense together (trace/checker.h) is known of those only that Load() gives.
//
// Memory: the list of blocks, and one block of each thread that is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "trace/binary_file.h"
#include "trace/event_stream.h"

namespace redflag {

class BinaryTrace : public EventSource {
 public:
  // What events may have. Threads: kMaxRecordedThread.
  static constexpr uint64_t kMaxAccess = uint64_t{1} << 28;  // bytes of a plain access
  static constexpr uint64_t kMaxRange = uint64_t{1} << 40;   // bytes of an allocation or another range
  static constexpr uint32_t kMaxContext = 1u << 26;          // numbers of contexts are smaller, those of ...
  static constexpr uint32_t kMaxName = 1u << 30;    // ... objects that have an address: the numbers are names only
  static constexpr uint32_t kMaxObject = 1u << 24;  // ... objects, functions and texts too

  struct Options {
    bool partial = false;  // of a file that breaks off or is damaged, the part before that, as far as it is consistent
  };

  // Looks at the beginning of the file only.
  static bool IsBinary(const std::string& path);

  // The trace, or what is wrong with the file, in words. Reads the headers of all blocks, and payloads only if they are no events; with
  // `partial` all of it, to know what is damaged.
  static std::variant<std::unique_ptr<BinaryTrace>, std::string> Open(const std::string& path, const Options& options);

  // Contexts are defined by the thread that used them first, which may come later in the stream than another one that used them:
  // contexts() of the stream is complete at its end. One that was never defined has no place and no caller.
  std::unique_ptr<EventStream> Open() const override;
  std::unique_ptr<EventStream> OpenPart(Shard shard) const override;
  const std::string& name() const override;
  // There are no more; of a trace that was opened with `partial`, there may be fewer.
  uint64_t event_count() const override;
  // Of a recorded run: its first thread, if it did anything.
  std::span<const Tid> initial_threads() const override;

  // What the program said of itself while it was recorded: messages of events/wire.h, in order.
  const std::vector<std::vector<std::byte>>& messages() const;

  // How the recording ended; empty: the file breaks off, and `partial` was wanted.
  const std::string& ending() const;
  // What was left out because of `partial`, in words; empty: nothing.
  const std::string& left_out() const;

  // Was it made from a text trace? Then Load() gives that: events, names and expectations.
  bool has_names() const;
  std::variant<Trace, std::string> Load() const;

  ~BinaryTrace() override;

 private:
  struct Parts;
  explicit BinaryTrace(std::shared_ptr<Parts> parts);
  std::shared_ptr<const Parts> parts_;  // also of streams that are open
};

}  // namespace redflag
