#include "collider/sampling_set.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace redflag {
namespace {

// One function's accesses, with all that decides whether they are sampled.
struct Function {
  struct Entry {
    uint64_t address;
    Instruction::Role role;
    MemoryAccess access;
  };
  std::vector<Entry> accesses;
  bool sets_frame_pointer = false;
  bool breaks_frame_pointer = false;
};

using Visit = std::function<bool(uint64_t, const Instruction&)>;

// Every instruction of a function from its beginning; `visit` says whether to go on. How many bytes were no instructions.
uint64_t Walk(const CodeFile& file, Decoder& decoder, const CodeFile::Range& range, const Visit& visit) {
  const std::span<const std::byte> code = file.At(range.begin);
  const uint64_t size = std::min<uint64_t>(code.size(), range.end - range.begin);
  for (uint64_t at = 0; at < size;) {
    const Instruction instruction = decoder.Decode(code.subspan(at, size - at), range.begin + at);
    if (instruction.length == 0) return size - at;  // where the next one begins is anybody's guess
    if (!visit(range.begin + at, instruction)) return 0;
    at += instruction.length;
  }
  return 0;
}

// A breakpoint between a load and a store exclusive clears the monitor: the store fails, the program tries again, for ever. From each load on,
// up to the store that follows, or, where that comes first in memory, from the store.
class ExclusiveRegions {
 public:
  explicit ExclusiveRegions(const std::vector<Function::Entry>& accesses) {
    constexpr uint64_t kFar = 64 * sizeof(uint32_t);
    for (const Function::Entry& load : accesses) {
      if (!IsExclusive(load) || !load.access.reads()) continue;
      uint64_t begin = load.address, end = load.address + kFar;
      bool has_store = false;
      for (const Function::Entry& store : accesses) {
        if (!IsExclusive(store) || !store.access.writes()) continue;
        if (store.address > load.address && store.address < end) {
          end = store.address;
          has_store = true;
        } else if (!has_store && store.address < load.address && load.address - store.address < kFar) {
          begin = std::min(begin, store.address);
        }
      }
      if (has_store) begin = load.address;
      regions_.push_back({begin, end});
    }
  }
  bool Contains(uint64_t address) const {
    return std::any_of(regions_.begin(), regions_.end(),
                       [&](const CodeFile::Range& region) { return address >= region.begin && address < region.end; });
  }

 private:
  static bool IsExclusive(const Function::Entry& entry) { return (entry.access.flags & MemoryAccess::kExclusive) != 0; }
  std::vector<CodeFile::Range> regions_;
};

// Restartable sequences: a signal in one of them sends the thread elsewhere, and the breakpoint would be met again at each attempt. Their
// descriptors are 32 bytes: version, flags, start, length, where to go.
std::vector<CodeFile::Range> RestartableSequences(const CodeFile& file) {
  constexpr size_t kDescriptor = 32, kStart = 8, kLength = 16;
  std::vector<CodeFile::Range> ranges;
  const auto [bytes, address] = file.Section("__rseq_cs");
  for (size_t at = 0; at + kDescriptor <= bytes.size(); at += kDescriptor) {
    uint64_t start = 0, length = 0;
    std::memcpy(&start, bytes.data() + at + kStart, sizeof start);
    std::memcpy(&length, bytes.data() + at + kLength, sizeof length);
    ranges.push_back({.begin = start, .end = start + length});
  }
  return ranges;
}

// Where clang says that an operation is atomic (-fexperimental-sanitize-metadata=atomics): words of 4 bytes, each the distance from
// itself to an instruction.
std::vector<uint64_t> MarkedAtomic(const CodeFile& file) {
  std::vector<uint64_t> places;
  const auto [bytes, address] = file.Section("sanmd_atomics2");
  for (size_t at = 0; at + sizeof(int32_t) <= bytes.size(); at += sizeof(int32_t)) {
    int32_t distance = 0;
    std::memcpy(&distance, bytes.data() + at, sizeof distance);
    places.push_back(address + at + static_cast<uint64_t>(static_cast<int64_t>(distance)));
  }
  std::sort(places.begin(), places.end());
  return places;
}

class Finder {
 public:
  explicit Finder(const CodeFile& file)
      : file_(file),
        decoder_(Decoder::For(file.machine())),
        restartable_(RestartableSequences(file)),
        marked_(MarkedAtomic(file)),
        frame_pointer_(file.machine() == Machine::kX86_64 ? kFramePointerX86 : kFramePointerArm) {}

  SamplingSet Find() {
    for (const CodeFile::Range& range : file_.functions()) {
      ++set_.counts.functions;
      Function function;
      set_.counts.undecoded_bytes += Walk(file_, *decoder_, range, [&](uint64_t at, const Instruction& instruction) {
        ++set_.counts.instructions;
        if (instruction.accesses_memory) function.accesses.push_back({at, instruction.role, instruction.access});
        function.sets_frame_pointer |= instruction.role == Instruction::Role::kSetsFramePointer;
        function.breaks_frame_pointer |= instruction.role == Instruction::Role::kBreaksFramePointer;
        return true;
      });
      Choose(function);
    }
    return std::move(set_);
  }

 private:
  void Choose(const Function& function) {
    const ExclusiveRegions exclusive(function.accesses);
    const bool has_frame = function.sets_frame_pointer && !function.breaks_frame_pointer;
    SamplingSet::Counts& counts = set_.counts;
    for (const auto& [address, role, access] : function.accesses) {
      ++counts.accesses;
      if ((access.flags & MemoryAccess::kOwn) != 0 || (has_frame && access.base == frame_pointer_)) {
        ++counts.own;
      } else if ((access.flags & (MemoryAccess::kAtomic | MemoryAccess::kExclusive)) != 0) {
        ++counts.atomic;
      } else if (role == Instruction::Role::kCallThroughMemory) {
        ++counts.linker;
      } else if (!access.is_candidate()) {
        ++counts.other;
      } else if (exclusive.Contains(address) || IsRestartable(address)) {
        ++counts.in_exclusive;
      } else if (std::binary_search(marked_.begin(), marked_.end(), address)) {
        ++counts.marked_atomic;
      } else if (IsOfConstant(address, access)) {
        ++counts.constant;
      } else {
        set_.sites.push_back({.address = address, .access = access});
      }
    }
  }
  // Literals, tables of constants and of addresses that the loader has filled in: a good part of what is relative to the program counter.
  bool IsOfConstant(uint64_t address, const MemoryAccess& access) const {
    if (access.base != kProgramCounter || access.index != kNoRegister || access.writes()) return false;
    const uint64_t begin = access.Address(nullptr, address, file_.machine() == Machine::kX86_64);
    return file_.IsConstant({.begin = begin, .end = begin + access.size});
  }
  bool IsRestartable(uint64_t address) const {
    return std::any_of(restartable_.begin(), restartable_.end(),
                       [&](const CodeFile::Range& range) { return address >= range.begin && address < range.end; });
  }

  const CodeFile& file_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<CodeFile::Range> restartable_;
  std::vector<uint64_t> marked_;
  uint8_t frame_pointer_;
  SamplingSet set_;
};

// The function that an address is in.
const CodeFile::Range* FunctionOf(const CodeFile& file, uint64_t address) {
  const auto& all = file.functions();
  const auto after = std::upper_bound(all.begin(), all.end(), address,
                                      [](uint64_t a, const CodeFile::Range& range) { return a < range.begin; });
  if (after == all.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

}  // namespace

SamplingSet FindSites(const CodeFile& file) { return Finder(file).Find(); }

bool FindInstructionBefore(const CodeFile& file, uint64_t end, Located& located) {
  const CodeFile::Range* range = FunctionOf(file, end - 1);
  if (range == nullptr) return false;
  bool found = false;
  Walk(file, *Decoder::For(file.machine()), *range, [&](uint64_t at, const Instruction& instruction) {
    if (at + instruction.length == end) {
      located = {.address = at, .instruction = instruction};
      found = true;
    }
    return at + instruction.length < end;
  });
  return found;
}

bool FindInstructionAt(const CodeFile& file, uint64_t address, Located& located) {
  const CodeFile::Range* range = FunctionOf(file, address);
  if (range == nullptr) return false;
  bool found = false;
  Walk(file, *Decoder::For(file.machine()), *range, [&](uint64_t at, const Instruction& instruction) {
    if (at == address) {
      located = {.address = at, .instruction = instruction};
      found = true;
    }
    return at < address;
  });
  return found;
}

}  // namespace redflag
