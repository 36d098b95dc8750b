#include "collider/pruning.h"

#include <algorithm>
#include <span>
#include <vector>

#include "collider/decoder.h"

namespace redflag {
namespace {

constexpr size_t kNear = 6;  // instructions, to either side

using Operation = Instruction::Operation;

struct Placed {
  uint64_t address;
  Instruction instruction;
};

// The instructions of the function around an address, and which of them is there.
std::vector<Placed> Around(const CodeFile& file, uint64_t address, size_t& which) {
  std::vector<Placed> near;
  const auto& functions = file.functions();
  const auto after = std::upper_bound(functions.begin(), functions.end(), address,
                                      [](uint64_t a, const CodeFile::Range& range) { return a < range.begin; });
  which = SIZE_MAX;
  if (after == functions.begin()) return near;
  const CodeFile::Range range = *std::prev(after);
  const std::unique_ptr<Decoder> decoder = Decoder::For(file.machine());
  const std::span<const std::byte> code = file.At(range.begin);
  const uint64_t size = std::min<uint64_t>(code.size(), range.end - range.begin);
  for (uint64_t at = 0; at < size;) {
    const Instruction instruction = decoder->Decode(code.subspan(at, size - at), range.begin + at);
    if (instruction.length == 0) break;
    near.push_back({range.begin + at, instruction});
    if (range.begin + at == address) which = near.size() - 1;
    if (which != SIZE_MAX && near.size() - which > kNear) break;
    at += instruction.length;
  }
  return near;
}

// The same bytes by the same registers; of the program counter, the same place.
bool IsSamePlace(const Placed& a, const Placed& b) {
  const MemoryAccess& x = a.instruction.access;
  const MemoryAccess& y = b.instruction.access;
  if (x.base != y.base || x.index != y.index || x.shift != y.shift || x.size != y.size) return false;
  if (x.base != kProgramCounter) return x.displacement == y.displacement;
  return a.address + a.instruction.length + static_cast<uint64_t>(static_cast<int64_t>(x.displacement)) ==
         b.address + b.instruction.length + static_cast<uint64_t>(static_cast<int64_t>(y.displacement));
}

bool IsLoad(const Placed& placed) {
  const Instruction& i = placed.instruction;
  return i.accesses_memory && i.operation == Operation::kMove && i.access.reads() && !i.access.writes();
}
bool IsStore(const Placed& placed) {
  const Instruction& i = placed.instruction;
  return i.accesses_memory && i.operation == Operation::kMove && i.access.writes();
}

uint64_t MaskOf(const Instruction& instruction, uint8_t size) {
  const uint64_t all = size >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
  return static_cast<uint64_t>(instruction.immediate) & all;
}

// What is done to a value between its load and its store: a sum, or bits set and cleared.
void JudgeChange(const Instruction& change, uint8_t size, Intent& intent) {
  if (!change.has_immediate) return;
  const uint64_t all = size >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
  if (change.operation == Operation::kAdd && change.immediate > 0) intent.increments = true;
  if (change.operation == Operation::kOr || change.operation == Operation::kXor)
    intent.write_bits = MaskOf(change, size);
  if (change.operation == Operation::kAnd) intent.write_bits = ~MaskOf(change, size) & all;
}

// A load, a change of what was loaded, a store of the outcome to the same place.
void JudgeSequence(const std::vector<Placed>& near, size_t load, size_t store, Intent& intent) {
  if (!IsLoad(near[load]) || !IsStore(near[store]) || !IsSamePlace(near[load], near[store])) return;
  uint8_t holder = near[load].instruction.target;
  for (size_t i = load + 1; i < store; ++i) {
    const Instruction& change = near[i].instruction;
    if (change.accesses_memory) continue;
    const bool from_holder =
        change.target == holder || (change.operation == Operation::kAdd && change.source == holder);
    if (!from_holder || holder == kNoRegister) continue;
    JudgeChange(change, near[load].instruction.access.size, intent);
    holder = change.target;
  }
  if (near[store].instruction.source != holder) intent = {};
}

}  // namespace

Intent IntentOf(const CodeFile& file, uint64_t address) {
  Intent intent;
  size_t which = 0;
  const std::vector<Placed> near = Around(file, address, which);
  if (which == SIZE_MAX || !near[which].instruction.accesses_memory) return intent;
  const Instruction& own = near[which].instruction;
  const size_t first = which > kNear ? which - kNear : 0;
  if (own.access.reads() && own.access.writes()) {
    JudgeChange(own, own.access.size, intent);
  } else if (own.operation == Operation::kTest && own.has_immediate) {
    intent.read_bits = MaskOf(own, own.access.size);
  } else if (IsLoad(near[which])) {
    for (size_t i = which + 1; i < near.size(); ++i) {
      const Instruction& use = near[i].instruction;
      const bool masks = use.operation == Operation::kTest || use.operation == Operation::kAnd;
      if (masks && use.target == own.target && use.has_immediate && !use.accesses_memory) {
        intent.read_bits = MaskOf(use, own.access.size);
      }
      if (use.target == own.target || use.source == own.target) break;  // the first use decides
    }
    for (size_t i = which + 1; i < near.size(); ++i) JudgeSequence(near, which, i, intent);
  } else if (IsStore(near[which])) {
    for (size_t i = first; i < which; ++i) JudgeSequence(near, i, which, intent);
  }
  return intent;
}

bool IsSafeFlagUpdate(const Intent& reader, const Intent& writer, uint64_t before, uint64_t after) {
  if (!reader.read_bits || reader.increments || writer.increments) return false;
  uint64_t changed = before ^ after;
  if (writer.write_bits) changed |= *writer.write_bits;
  return changed != 0 && (changed & *reader.read_bits) == 0;
}

void CounterHistory::Add(uint64_t address, uint64_t before, uint64_t after) {
  Seen& seen = seen_[address];
  seen.shrank |= after < before || (seen.times != 0 && before < seen.last);
  seen.last = after;
  ++seen.times;
}

bool CounterHistory::IsEnough(uint64_t address) const {
  const auto found = seen_.find(address);
  return found != seen_.end() && (found->second.times >= kEnough || found->second.shrank);
}

bool CounterHistory::OnlyGrows(uint64_t address) const {
  const auto found = seen_.find(address);
  return found != seen_.end() && found->second.times >= kEnough && !found->second.shrank;
}

}  // namespace redflag
