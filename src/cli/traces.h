// Traces for commands: text or recordings, told apart by how they begin.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "trace/binary_trace.h"
#include "trace/event_stream.h"
#include "trace/trace.h"

namespace redflag::cli {

struct LoadedTrace {
  std::unique_ptr<Trace> text;          // null: a recording
  std::unique_ptr<BinaryTrace> binary;  // null: text; a binary file that was made from text is text
  std::unique_ptr<EventSource> of_text;

  bool is_recording() const { return text == nullptr; }
  const EventSource& source() const { return is_recording() ? static_cast<const EventSource&>(*binary) : *of_text; }
};

// A text trace, or what is wrong, for PrintProblem. `-` is standard input.
std::variant<Trace, std::string> ReadText(const std::string& path);

// To standard error. What is wrong with a text trace comes with its place and line, and is printed as it is.
void PrintProblem(const std::string& problem);

// `-` is standard input. Prints the error and returns nothing if the trace cannot be had.
std::optional<LoadedTrace> LoadTrace(const std::string& path, bool partial);

// The same for files of the same size that begin and end alike; empty: it cannot be read.
std::string IdentityOf(const std::string& path);

}  // namespace redflag::cli
