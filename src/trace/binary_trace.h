// BinaryTrace: a recorded run as an EventSource. The events of all threads come in one order that respects what is known of the order in which
// they happened (events/trace_block.h, "Stamps"): the events of a thread up to its next stamp follow the event that has its last one.
//
// A trace that was made from text (trace/binary_convert.h) also has the names that text traces have: Load() gives all of it.
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
  struct Options {
    bool partial = false;  // of a file that breaks off or is damaged, the part before that, as far as it is consistent
  };

  // Looks at the beginning of the file only.
  static bool IsBinary(const std::string& path);

  // The trace, or what is wrong with the file, in words.
  static std::variant<std::unique_ptr<BinaryTrace>, std::string> Open(const std::string& path, const Options& options);

  std::unique_ptr<EventStream> Open() const override;
  const std::string& name() const override;
  uint64_t event_count() const override;
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
};

}  // namespace redflag
