// The file of a binary trace: a header, then blocks one after the other, each with a checksum, then an end. Written by the host side
// while the program runs (collect/), so that at any moment all but the last block are whole. docs/trace-format.md has the layout.
//
// Invariants:
// - A block goes out in one piece. If it cannot, the file is cut back to the blocks before it, and nothing more is written.
// - Every byte is covered by a checksum: those of a block's header by one of its own, so that a scan may skip payloads.
// - No block has more than kMaxBlockBytes, before or after compression; a reader holds one at a time.
//
// A writer: one thread at a time. A BinaryFile never changes: any thread may read it, each with a BlockDecoder of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"

namespace redflag {

inline constexpr uint32_t kBinaryVersion = 1;
inline constexpr uint64_t kFileHeaderBytes = 32;
inline constexpr uint64_t kBlockHeaderBytes = 64;
inline constexpr uint32_t kMaxBlockBytes = 1u << 20;
inline constexpr uint32_t kMaxRecordedThread = 1u << 24;  // numbers of threads are smaller

enum class BlockType : uint8_t { kEvents = 1, kMessage = 2, kCheckpoint = 3, kNames = 4, kEnd = 5 };
enum class Compression : uint8_t { kNone = 0, kZstd = 1 };

// What the header of a block says.
struct FileBlock {
  BlockType type = BlockType::kEvents;
  Compression compression = Compression::kNone;
  Tid thread{};               // kEvents
  uint32_t events = 0;        // kEvents: there are no more than these
  uint64_t first_stamp = 0;   // kEvents: of the first event that has one, or less
  uint64_t last_stamp = 0;    // kEvents: of the last one; nothing relies on it. kCheckpoint: its stamp
  uint32_t raw_bytes = 0;     // of the payload
  uint32_t stored_bytes = 0;  // of the payload in the file
  uint64_t checksum = 0;      // of the payload in the file
  uint64_t offset = 0;        // where the header is; not in the file
  uint64_t end() const { return offset + kBlockHeaderBytes + stored_bytes; }
};

class BinaryWriter {
 public:
  // Takes over the descriptor of an empty file that is open for writing, also if it fails. The file is locked (flock) until it is
  // finished, so that nobody takes it for one that broke off.
  static std::variant<std::unique_ptr<BinaryWriter>, std::string> Create(int fd);
  ~BinaryWriter();
  BinaryWriter(const BinaryWriter&) = delete;
  BinaryWriter& operator=(const BinaryWriter&) = delete;

  // Records of one thread, in the encoding of events/trace_block.h, after those that were added before. First and last stamp: of the
  // events in it that have one. False: it could not be written; error() says why, and nothing more will be.
  bool AddEvents(Tid thread, uint64_t first_stamp, uint64_t last_stamp, uint32_t events,
                 std::span<const std::byte> records);
  // A message of events/wire.h.
  bool AddMessage(std::span<const std::byte> message);
  // Every event with a stamp up to `stamp` is in the blocks before this.
  bool AddCheckpoint(uint64_t stamp);
  // A piece of the names of a trace that was text (trace/binary_names.h).
  bool AddNames(std::span<const std::byte> names);
  // The recording is over: why, in words for the user.
  bool Finish(const std::string& ending);
  const std::string& error() const { return error_; }

 private:
  struct Compressor;

  explicit BinaryWriter(int fd);
  bool Add(FileBlock info, std::span<const std::byte> payload);
  bool Write(size_t bytes);

  int fd_;
  uint64_t offset_ = 0;
  uint64_t blocks_ = 0;
  bool finished_ = false;
  std::unique_ptr<Compressor> compressor_;
  std::vector<std::byte> buffer_;  // a block that is about to be written
  std::string error_;
};

// A file that is open for reading. Messages do not name the file.
class BinaryFile {
 public:
  // Does the file begin as binary traces do? False if it cannot be read.
  static bool IsBinary(const std::string& path);

  // The header of the file has been checked.
  static std::variant<std::unique_ptr<BinaryFile>, std::string> Open(const std::string& path);
  ~BinaryFile();
  BinaryFile(const BinaryFile&) = delete;
  BinaryFile& operator=(const BinaryFile&) = delete;

  uint64_t size() const { return size_; }

  // The header of the block at `offset`, the one with this number in the file, and is there room for its payload? Empty: all is well.
  std::string ReadHeader(uint64_t offset, uint64_t number, FileBlock& info) const;

  // The payload as it is in the file, after its checksum has been checked. Empty: all is well.
  std::string ReadStored(const FileBlock& info, std::vector<std::byte>& to) const;

 private:
  BinaryFile(int fd, uint64_t size) : fd_(fd), size_(size) {}
  // False: an error, or the file has become shorter.
  bool ReadAt(uint64_t offset, std::span<std::byte> to) const;

  int fd_;
  uint64_t size_;
};

// Reads payloads. One thread at a time.
class BlockDecoder {
 public:
  BlockDecoder();
  ~BlockDecoder();

  // `to` gets the payload as it was before compression. Empty: all is well.
  std::string Read(const BinaryFile& file, const FileBlock& info, std::vector<std::byte>& to);

 private:
  struct Decompressor;
  std::unique_ptr<Decompressor> decompressor_;
  std::vector<std::byte> stored_;
};

}  // namespace redflag
