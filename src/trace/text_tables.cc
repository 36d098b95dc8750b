#include "trace/text_tables.h"

namespace redflag {

std::optional<Addr> AddressPlan::Fresh(uint64_t size, uint64_t align) {
  uint64_t begin = next_;
  for (;;) {
    if (begin > UINT64_MAX - (align - 1)) return std::nullopt;
    begin = (begin + align - 1) & ~(align - 1);
    if (size > UINT64_MAX - begin) return std::nullopt;
    std::optional<IntervalSet::Interval> taken = taken_.LastIn(begin, begin + size);
    if (!taken) break;
    begin = taken->end;
  }
  next_ = begin + size;
  return Addr{begin};
}

uint32_t StringTable::Intern(std::string_view text, std::vector<std::string>& strings) {
  if (auto found = ids_.find(text); found != ids_.end()) return found->second;
  auto id = static_cast<uint32_t>(strings.size());
  strings.emplace_back(text);
  ids_.emplace(text, id);
  return id;
}

std::optional<uint32_t> StringTable::Find(std::string_view text) const {
  auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

size_t PositionTable::Hash::operator()(const Key& key) const {
  auto [file, line, column] = key;
  uint64_t mixed = (uint64_t{line} << 32 | column) * 0x9e3779b97f4a7c15 + file;
  return (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15;
}

PositionId PositionTable::Intern(std::string_view file, uint32_t line, uint32_t column, Trace& trace) {
  Key key{files_.Intern(file, file_names_), line, column};
  auto [found, is_new] = ids_.try_emplace(key, PositionId{static_cast<uint32_t>(trace.positions.size())});
  if (is_new) trace.positions.push_back(SourcePosition{std::string(file), line, column});
  return found->second;
}

}  // namespace redflag
