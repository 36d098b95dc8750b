// What the runtime asks of the system without libc: the environment, the list of mapped files, a line on standard error.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/flags.h"

namespace redflag::rt {

// A file, read through a buffer, character by character. One that can't be read is empty.
class TextFile {
 public:
  explicit TextFile(const char* path);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  // -1 at the end.
  int Next() { return at_ == filled_ && !Fill() ? -1 : static_cast<unsigned char>(buffer_[at_++]); }

 private:
  bool Fill();

  int64_t fd_;
  int64_t at_ = 0;
  int64_t filled_ = 0;
  char buffer_[4096];
};

// A file mapped for execution.
struct MappedFile {
  uint64_t begin, end;  // its executable part
  uint64_t bias;        // what to subtract from an address to get that in the file
  char path[512];
};

// At the start, once: where there is no /proc, what is loaded now is all that will be known.
void ReadLoadedFiles();

// Calls visit(file) for each; visit answers whether to go on.
void ForEachMappedFile(bool (*visit)(const MappedFile& file, void* data), void* data);

// The same for each part of memory that the program may have written to.
void ForEachWritableMapping(void (*visit)(uint64_t begin, uint64_t end, void* data), void* data);

// Physical memory in use by the process; 0 if the system does not tell.
uint64_t ResidentBytes();

// Does a debugger, or another tracer, look at this process?
bool IsTraced();

// Does the process have rights that whoever started it has not (setuid)? Then nothing that the environment says counts, and nothing is
// started.
bool IsPrivileged();

// The value of a variable of the environment the process was started with, in `value`; false if there is none or it is too long.
bool GetEnvironment(const char* name, char* value, size_t capacity);

// Are reports to have the words of ThreadSanitizer?
bool HasTsanForm();

Flags FlagsFromEnvironment();

// Writes "==PID== first second" to standard error, as one write.
void Complain(const char* first, const char* second = "", const char* third = "", const char* fourth = "");

// Text in a buffer of fixed size; what does not fit is cut.
class Line {
 public:
  Line& Add(const char* text);
  Line& Add(uint64_t number, unsigned base = 10);
  void Print() const;  // to standard error
  const char* text();

 private:
  char text_[1024];
  size_t length_ = 0;
};

}  // namespace redflag::rt
