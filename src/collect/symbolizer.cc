#include "collect/symbolizer.h"

#include <variant>

namespace redflag {

Symbolizer::Symbolizer() = default;
Symbolizer::~Symbolizer() = default;

Symbolizer::Entry& Symbolizer::EntryFor(const std::string& path, const FileIdentity& identity) {
  const auto [found, is_new] = entries_.try_emplace({path, identity});
  Entry& entry = found->second;
  if (!is_new || path.empty() || path.front() == '[') return entry;  // [vdso] and its like are no files
  auto opened = SymbolFile::Open(path, identity);
  if (auto* error = std::get_if<std::string>(&opened)) {
    notes_.push_back(std::move(*error));
  } else {
    entry.file = std::get<std::unique_ptr<SymbolFile>>(std::move(opened));
  }
  return entry;
}

const std::vector<Frame>& Symbolizer::Frames(const std::string& path, const FileIdentity& identity,
                                             uint64_t return_address) {
  Entry& entry = EntryFor(path, identity);
  const auto [found, is_new] = entry.frames.try_emplace(return_address);
  std::vector<Frame>& frames = found->second;
  if (!is_new) return frames;
  if (entry.file != nullptr) frames = entry.file->FramesAt(return_address - 1);
  if (frames.empty()) frames.emplace_back();
  for (Frame& frame : frames) {
    frame.module = path;
    frame.offset = return_address;
  }
  if (Frame& only = frames.front(); entry.file != nullptr && only.function.empty() && only.file.empty()) {
    only.unnamed = entry.file->UnnamedAt(return_address - 1);
  }
  if (entry.file != nullptr) frames.front().called = entry.file->CalledBefore(return_address);
  return frames;
}

std::optional<SymbolFile::Variable> Symbolizer::Variable(const std::string& path, const FileIdentity& identity,
                                                         uint64_t address) {
  const Entry& entry = EntryFor(path, identity);
  return entry.file == nullptr ? std::nullopt : entry.file->VariableAt(address);
}

std::optional<SymbolFile::Variable> Symbolizer::ThreadLocal(const std::string& path, const FileIdentity& identity,
                                                            int64_t offset) {
  const Entry& entry = EntryFor(path, identity);
  return entry.file == nullptr ? std::nullopt : entry.file->ThreadLocalAt(offset);
}

std::vector<SymbolFile::Object> Symbolizer::Objects(const std::string& path, const FileIdentity& identity,
                                                    uint64_t return_address, uint64_t size, uint64_t bytes,
                                                    const std::vector<uint64_t>& offsets) {
  const Entry& entry = EntryFor(path, identity);
  if (entry.file == nullptr) return {};
  return entry.file->ObjectsAt(return_address - 1, size, bytes, offsets);
}

std::optional<SymbolFile::Local> Symbolizer::Local(const std::string& path, const FileIdentity& identity,
                                                   uint64_t return_address, const DwarfFrames::Call& call,
                                                   uint64_t address) {
  const Entry& entry = EntryFor(path, identity);
  return entry.file == nullptr ? std::nullopt : entry.file->LocalAt(return_address, call, address);
}

std::optional<uint64_t> Symbolizer::FrameEnd(const std::string& path, const FileIdentity& identity,
                                             uint64_t return_address, uint64_t slot) {
  const Entry& entry = EntryFor(path, identity);
  return entry.file == nullptr ? std::nullopt : entry.file->FrameEndAt(return_address, slot);
}

bool Symbolizer::Covers(const std::string& path, const FileIdentity& identity, uint64_t address) {
  const Entry& entry = EntryFor(path, identity);
  return entry.file != nullptr && entry.file->Covers(address);
}

}  // namespace redflag
