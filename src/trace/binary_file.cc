#include "trace/binary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#define XXH_INLINE_ALL  // NOLINT: the name is theirs
#include <xxhash.h>
#ifdef REDFLAG_ZSTD  // not in cross builds
#include <zstd.h>
#endif

namespace redflag {
namespace {

constexpr std::array<uint8_t, 8> kMagic = {0x89, 'R', 'F', 'T', 'R', 'A', 'C', 'E'};
constexpr uint32_t kBlockMagic = 0x4b4c4252;  // "RBLK"
// Little is won by more, and the program waits for it.
[[maybe_unused]] constexpr int kLevel = 1;

// Numbers in the file have their lowest byte first, whatever the machine does.
template <class Number>
void Store(std::byte* to, Number number) {
  for (size_t i = 0; i < sizeof(Number); ++i) to[i] = static_cast<std::byte>(number >> (8 * i));
}
template <class Number>
Number Fetch(const std::byte* from) {
  Number number = 0;
  for (size_t i = 0; i < sizeof(Number); ++i) number |= static_cast<Number>(static_cast<Number>(from[i]) << (8 * i));
  return number;
}

// Where the fields of a block's header are.
namespace field {
constexpr size_t kMagic = 0, kType = 4, kCompression = 5, kZero = 6, kThread = 8, kEvents = 12, kFirstStamp = 16,
                 kLastStamp = 24, kRawBytes = 32, kStoredBytes = 36, kNumber = 40, kChecksum = 48, kHeaderChecksum = 56;
}

uint64_t ChecksumOf(std::span<const std::byte> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

bool HasPayload(BlockType type) { return type != BlockType::kCheckpoint; }

int OpenForReading(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); }

}  // namespace

// ---- Writing ----

struct BinaryWriter::Compressor {
#ifdef REDFLAG_ZSTD
  Compressor() : context(ZSTD_createCCtx()) {}
  ~Compressor() { ZSTD_freeCCtx(context); }
  // How many bytes it wrote; 0: it would not become smaller.
  size_t Compress(std::span<const std::byte> from, std::span<std::byte> to) const {
    if (context == nullptr || from.size() < 2) return 0;
    const size_t size =
        ZSTD_compressCCtx(context, to.data(), std::min(to.size(), from.size() - 1), from.data(), from.size(), kLevel);
    return ZSTD_isError(size) != 0 ? 0 : size;
  }
  ZSTD_CCtx* context;
#else
  static size_t Compress(std::span<const std::byte>, std::span<std::byte>) { return 0; }
#endif
};

BinaryWriter::BinaryWriter(int fd) : fd_(fd), compressor_(std::make_unique<Compressor>()) {
  buffer_.resize(kBlockHeaderBytes + kMaxBlockBytes);
}

BinaryWriter::~BinaryWriter() { close(fd_); }

std::variant<std::unique_ptr<BinaryWriter>, std::string> BinaryWriter::Create(int fd) {
  if (fd < 0) return std::string("there is no file to write to");
  std::unique_ptr<BinaryWriter> writer(new BinaryWriter(fd));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return std::string("another process writes to the file");
  std::byte* const header = writer->buffer_.data();
  std::memcpy(header, kMagic.data(), kMagic.size());
  Store(header + 8, kBinaryVersion);
  Store(header + 12, uint32_t{0});
  Store(header + 16, uint64_t{0});
  Store(header + 24, ChecksumOf({header, 24}));
  if (!writer->Write(kFileHeaderBytes)) return writer->error_;
  return writer;
}

bool BinaryWriter::AddEvents(Tid thread, uint64_t first_stamp, uint64_t last_stamp, uint32_t events,
                             std::span<const std::byte> records) {
  FileBlock info{.type = BlockType::kEvents, .thread = thread, .events = events};
  info.first_stamp = first_stamp;
  info.last_stamp = last_stamp;
  return Add(info, records);
}

bool BinaryWriter::AddMessage(std::span<const std::byte> message) {
  return Add({.type = BlockType::kMessage}, message);
}

bool BinaryWriter::AddCheckpoint(uint64_t stamp) {
  FileBlock info{.type = BlockType::kCheckpoint};
  info.last_stamp = stamp;
  return Add(info, {});
}

bool BinaryWriter::AddNames(std::span<const std::byte> names) { return Add({.type = BlockType::kNames}, names); }

bool BinaryWriter::Finish(const std::string& ending) {
  const size_t length = std::min<size_t>(ending.size(), kMaxBlockBytes);
  if (!Add({.type = BlockType::kEnd}, std::as_bytes(std::span(ending.data(), length)))) return false;
  finished_ = true;
  flock(fd_, LOCK_UN);
  return true;
}

bool BinaryWriter::Add(FileBlock info, std::span<const std::byte> payload) {
  if (!error_.empty()) return false;
  if (finished_) {
    error_ = "the trace is finished: nothing can be added";
    return false;
  }
  if (payload.size() > kMaxBlockBytes) {
    error_ = fmt::format("a block of {} bytes: at most {} can be written", payload.size(), kMaxBlockBytes);
    return false;
  }
  std::byte* const header = buffer_.data();
  std::byte* const stored = header + kBlockHeaderBytes;
  size_t size = compressor_->Compress(payload, {stored, kMaxBlockBytes});
  info.compression = size == 0 ? Compression::kNone : Compression::kZstd;
  if (size == 0) {
    size = payload.size();
    if (size != 0) std::memcpy(stored, payload.data(), size);
  }
  Store(header + field::kMagic, kBlockMagic);
  Store(header + field::kType, Raw(info.type));
  Store(header + field::kCompression, Raw(info.compression));
  Store(header + field::kZero, uint16_t{0});
  Store(header + field::kThread, Raw(info.thread));
  Store(header + field::kEvents, info.events);
  Store(header + field::kFirstStamp, info.first_stamp);
  Store(header + field::kLastStamp, info.last_stamp);
  Store(header + field::kRawBytes, static_cast<uint32_t>(payload.size()));
  Store(header + field::kStoredBytes, static_cast<uint32_t>(size));
  Store(header + field::kNumber, blocks_);
  Store(header + field::kChecksum, ChecksumOf({stored, size}));
  Store(header + field::kHeaderChecksum, ChecksumOf({header, field::kHeaderChecksum}));
  if (!Write(kBlockHeaderBytes + size)) return false;
  ++blocks_;
  return true;
}

// The first bytes of buffer_, in one call unless the system takes them piece by piece.
bool BinaryWriter::Write(size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t written = write(fd_, buffer_.data() + done, bytes - done);
    if (written > 0) {
      done += static_cast<size_t>(written);
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    error_ = fmt::format("cannot write the trace: {}", written < 0 ? std::strerror(errno) : "nothing was written");
    // Half a block helps nobody.
    if (done > 0 && ftruncate(fd_, static_cast<off_t>(offset_)) != 0) error_ += "; its last block is not whole";
    return false;
  }
  offset_ += bytes;
  return true;
}

// ---- Reading ----

bool BinaryFile::IsBinary(const std::string& path) {
  struct stat status{};
  // Of a pipe, a look would take what is there to be read.
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const int fd = OpenForReading(path);
  if (fd < 0) return false;
  const BinaryFile file(fd, kFileHeaderBytes);
  std::array<std::byte, kMagic.size()> first{};
  return file.ReadAt(0, first) && std::memcmp(first.data(), kMagic.data(), kMagic.size()) == 0;
}

std::variant<std::unique_ptr<BinaryFile>, std::string> BinaryFile::Open(const std::string& path) {
  const int fd = OpenForReading(path);
  if (fd < 0) return fmt::format("cannot be read: {}", std::strerror(errno));
  std::unique_ptr<BinaryFile> file(new BinaryFile(fd, 0));
  struct stat status{};
  if (fstat(fd, &status) != 0) return fmt::format("cannot be read: {}", std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return std::string("is a directory");
  if (!S_ISREG(status.st_mode))
    return std::string("is not a regular file: a binary trace cannot be read from a pipe or a device");
  if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return std::string("is still being recorded: wait until the program has ended");
  }
  flock(fd, LOCK_UN);
  file->size_ = static_cast<uint64_t>(status.st_size);
  if (file->size_ == 0) return std::string("is empty: not a trace");
  std::array<std::byte, kFileHeaderBytes> header{};
  const size_t available = std::min<uint64_t>(file->size_, kFileHeaderBytes);
  if (!file->ReadAt(0, std::span(header).first(available)))
    return fmt::format("cannot be read: {}", std::strerror(errno));
  if (std::memcmp(header.data(), kMagic.data(), std::min(available, kMagic.size())) != 0) {
    return std::string("is not a binary trace");
  }
  if (available < kFileHeaderBytes) {
    return fmt::format("breaks off at byte {}, in the header of the file: nothing of it can be read", available);
  }
  const auto version = Fetch<uint32_t>(header.data() + 8);
  if (version != kBinaryVersion) {
    return fmt::format("has version {} of the binary format; this redflag reads version {}", version, kBinaryVersion);
  }
  if (Fetch<uint64_t>(header.data() + 24) != ChecksumOf(std::span(header).first(24))) {
    return std::string(
        "is damaged at byte 0: the header of the file does not have its checksum; nothing of it can be read");
  }
  return file;
}

BinaryFile::~BinaryFile() { close(fd_); }

bool BinaryFile::ReadAt(uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = ENODATA;
    if (got <= 0) return false;
    to = to.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

std::string BinaryFile::ReadHeader(uint64_t offset, uint64_t number, FileBlock& info) const {
  if (offset == size_) return "the file ends without the block that ends a trace";
  if (size_ - offset < kBlockHeaderBytes) return "the file ends in the header of a block";
  std::array<std::byte, kBlockHeaderBytes> header{};
  if (!ReadAt(offset, header)) return fmt::format("cannot be read: {}", std::strerror(errno));
  const std::byte* const at = header.data();
  if (Fetch<uint32_t>(at + field::kMagic) != kBlockMagic) return "this is not a block";
  if (Fetch<uint64_t>(at + field::kHeaderChecksum) != ChecksumOf(std::span(header).first(field::kHeaderChecksum))) {
    return "the header of a block does not have its checksum";
  }
  info = FileBlock{};
  info.type = BlockType{Fetch<uint8_t>(at + field::kType)};
  info.compression = Compression{Fetch<uint8_t>(at + field::kCompression)};
  info.thread = Tid{Fetch<uint32_t>(at + field::kThread)};
  info.events = Fetch<uint32_t>(at + field::kEvents);
  info.first_stamp = Fetch<uint64_t>(at + field::kFirstStamp);
  info.last_stamp = Fetch<uint64_t>(at + field::kLastStamp);
  info.raw_bytes = Fetch<uint32_t>(at + field::kRawBytes);
  info.stored_bytes = Fetch<uint32_t>(at + field::kStoredBytes);
  info.checksum = Fetch<uint64_t>(at + field::kChecksum);
  info.offset = offset;
  if (info.type < BlockType::kEvents || info.type > BlockType::kEnd)
    return fmt::format("unknown type of block {}", Raw(info.type));
  if (info.compression > Compression::kZstd) return fmt::format("unknown compression {}", Raw(info.compression));
  if (Fetch<uint16_t>(at + field::kZero) != 0) return "unknown fields in the header of a block";
  if (Fetch<uint64_t>(at + field::kNumber) != number) {
    return fmt::format("block {} where block {} was expected", Fetch<uint64_t>(at + field::kNumber), number);
  }
  if (info.raw_bytes > kMaxBlockBytes || info.stored_bytes > kMaxBlockBytes) {
    return fmt::format("a block of {} bytes: more than {} are not allowed", std::max(info.raw_bytes, info.stored_bytes),
                       kMaxBlockBytes);
  }
  if (info.compression == Compression::kNone && info.raw_bytes != info.stored_bytes)
    return "the sizes of a block differ";
  if (!HasPayload(info.type) && info.stored_bytes != 0) return "a checkpoint with a payload";
  if (info.type == BlockType::kEvents) {
    if (Raw(info.thread) >= kMaxRecordedThread)
      return fmt::format("thread {}: there are no such numbers", Raw(info.thread));
    if (info.events > info.raw_bytes) return fmt::format("{} events in {} bytes", info.events, info.raw_bytes);
  }
  if (size_ - offset - kBlockHeaderBytes < info.stored_bytes) return "the file ends in the middle of a block";
  return {};
}

std::string BinaryFile::ReadStored(const FileBlock& info, std::vector<std::byte>& to) const {
  to.resize(info.stored_bytes);
  if (!ReadAt(info.offset + kBlockHeaderBytes, to)) return fmt::format("cannot be read: {}", std::strerror(errno));
  if (ChecksumOf(to) != info.checksum) return "the block does not have its checksum";
  return {};
}

struct BlockDecoder::Decompressor {
#ifdef REDFLAG_ZSTD
  Decompressor() : context(ZSTD_createDCtx()) {}
  ~Decompressor() { ZSTD_freeDCtx(context); }
  std::string Decompress(std::span<const std::byte> from, std::span<std::byte> to) const {
    if (context == nullptr) return "out of memory";
    const size_t size = ZSTD_decompressDCtx(context, to.data(), to.size(), from.data(), from.size());
    if (ZSTD_isError(size) != 0) return fmt::format("the block cannot be decompressed: {}", ZSTD_getErrorName(size));
    if (size != to.size()) return fmt::format("the block has {} bytes, not {}", size, to.size());
    return {};
  }
  ZSTD_DCtx* context;
#else
  static std::string Decompress(std::span<const std::byte>, std::span<std::byte>) {
    return "the block is compressed, and this redflag was built without zstd";
  }
#endif
};

BlockDecoder::BlockDecoder() : decompressor_(std::make_unique<Decompressor>()) {}
BlockDecoder::~BlockDecoder() = default;

std::string BlockDecoder::Read(const BinaryFile& file, const FileBlock& info, std::vector<std::byte>& to) {
  if (info.compression == Compression::kNone) return file.ReadStored(info, to);
  std::string problem = file.ReadStored(info, stored_);
  if (!problem.empty()) return problem;
  to.resize(info.raw_bytes);
  return decompressor_->Decompress(stored_, to);
}

}  // namespace redflag
