// What is wrong with a text trace and where, in the form that users see. Made by the text reader; pure
// functions, any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace redflag {

struct TraceError {
  uint32_t line = 1;
  uint32_t column = 1;  // in characters, not bytes; a tab is one
  std::string message;
  std::string source;          // the line, or the part of it around the column, fit to be shown
  uint32_t source_column = 1;  // the column within `source`
};

// `offset` is the byte of `line` that the error is at; line.size() for its end. `line` may be any bytes.
TraceError ErrorAt(uint32_t line_number, std::string_view line, size_t offset, std::string_view message);

// NAME:LINE:COLUMN: error: MESSAGE, then the source line and a caret under the column; each with its line
// end.
std::string FormatError(const TraceError& error, std::string_view name);

}  // namespace redflag
