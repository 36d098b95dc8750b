// From addresses to names and places in the source. Files are opened when the first address in them is asked for, and every
// answer is kept: races come back to the same few places.
//
// Not safe for several threads at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/symbol_file.h"
#include "report/race_report.h"

namespace redflag {

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();

  // The frames of a return address (the byte before it is looked up), of the file as `identity` knows it. Innermost first,
  // never empty: a frame of module and offset if nothing else is known.
  const std::vector<Frame>& Frames(const std::string& path, const FileIdentity& identity, uint64_t return_address);

  std::optional<SymbolFile::Variable> Variable(const std::string& path, const FileIdentity& identity, uint64_t address);

  // Of thread-local memory, so far from the thread pointer.
  std::optional<SymbolFile::Variable> ThreadLocal(const std::string& path, const FileIdentity& identity,
                                                  int64_t offset);

  // What can be in a block of this size, by the code before a return address (SymbolFile::ObjectsAt).
  std::vector<SymbolFile::Object> Objects(const std::string& path, const FileIdentity& identity,
                                          uint64_t return_address, uint64_t size, uint64_t bytes,
                                          const std::vector<uint64_t>& offsets);

  // At an address on a stack, if the function that a call returns to has its frame there (SymbolFile::LocalAt).
  std::optional<SymbolFile::Local> Local(const std::string& path, const FileIdentity& identity, uint64_t return_address,
                                         const DwarfFrames::Call& call, uint64_t address);

  // SymbolFile::FrameEndAt.
  std::optional<uint64_t> FrameEnd(const std::string& path, const FileIdentity& identity, uint64_t return_address,
                                   uint64_t slot);

  // Is the address within what the file is loaded into?
  bool Covers(const std::string& path, const FileIdentity& identity, uint64_t address);

  // Why a file has no names, one sentence each; each is told once.
  std::vector<std::string> TakeNotes() { return std::exchange(notes_, {}); }

 private:
  struct Entry {
    std::unique_ptr<SymbolFile> file;  // null: it cannot be had
    std::unordered_map<uint64_t, std::vector<Frame>> frames;
  };
  Entry& EntryFor(const std::string& path, const FileIdentity& identity);

  std::map<std::pair<std::string, FileIdentity>, Entry> entries_;
  std::vector<std::string> notes_;
};

}  // namespace redflag
