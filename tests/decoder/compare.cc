// compare_decoders FILE...: the own decoder of arm64 against Capstone, on every instruction of the functions of programs and libraries for arm64.
// What Capstone says in words (mnemonic, registers, arrangement of vectors) is turned into size and direction here, so that neither
// depends on the tables of the other. Exit code 0: they agree on each one that Capstone knows.
//
//   --sites    also print how many places of each file would be sampled, and why others are not; x86-64 too
#include <capstone/capstone.h>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "collider/code_file.h"
#include "collider/decoder.h"
#include "collider/sampling_set.h"

namespace redflag {
namespace {

uint8_t NumberOf(unsigned reg) {
  if (reg == ARM64_REG_SP || reg == ARM64_REG_WSP) return 31;
  if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28) return static_cast<uint8_t>(reg - ARM64_REG_X0);
  if (reg == ARM64_REG_X29) return 29;
  if (reg == ARM64_REG_X30) return 30;
  if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30) return static_cast<uint8_t>(reg - ARM64_REG_W0);
  return kNoRegister;
}

// Of a register by its name: w4, x4, b, h, s, d, q.
unsigned WidthOf(csh handle, unsigned reg) {
  switch (cs_reg_name(handle, reg)[0]) {
    case 'b':
      return 1;
    case 'h':
      return 2;
    case 'w':
    case 's':
      return reg == ARM64_REG_SP ? 8 : 4;
    case 'q':
      return 16;
    default:
      return 8;
  }
}

unsigned VectorBytes(const cs_arm64_op& operand) {
  switch (operand.vas) {
    case ARM64_VAS_16B:
    case ARM64_VAS_8H:
    case ARM64_VAS_4S:
    case ARM64_VAS_2D:
    case ARM64_VAS_1Q:
      return 16;
    default:
      return 8;
  }
}

unsigned ElementBytes(std::string_view operands) {
  const size_t dot = operands.find('.');
  const size_t letter = operands.find_first_of("bhsd", dot);
  switch (operands[letter]) {
    case 'b':
      return 1;
    case 'h':
      return 2;
    case 's':
      return 4;
    default:
      return 8;
  }
}

// In bytes, from the mnemonic and the operands.
unsigned SizeOf(csh handle, const cs_insn& instruction) {
  std::string_view name = instruction.mnemonic;
  const cs_arm64& detail = instruction.detail->arm64;
  const std::string_view operands = instruction.op_str;
  if (operands.starts_with('{')) {
    const unsigned structure = static_cast<unsigned>(name[2] - '0');
    if (name.ends_with('r')) return structure * ElementBytes(operands);
    if (operands.find('[') != std::string_view::npos && operands.find("}[") != std::string_view::npos) {
      return structure * ElementBytes(operands);
    }
    unsigned bytes = 0;
    for (int i = 0; i < detail.op_count; ++i) {
      if (detail.operands[i].type == ARM64_OP_REG && detail.operands[i].vas != ARM64_VAS_INVALID)
        bytes += VectorBytes(detail.operands[i]);
    }
    return bytes;
  }
  const bool status =
      name.starts_with("st") && name.find('x') != std::string_view::npos;  // the first register is the outcome
  const unsigned width = WidthOf(handle, detail.operands[status ? 1 : 0].reg);
  const bool pair = name.starts_with("ldp") || name.starts_with("stp") || name.starts_with("ldnp") ||
                    name.starts_with("stnp") || name.ends_with("xp");
  if (name == "ldpsw") return 8;
  if (pair) return 2 * width;
  if (name.ends_with("sw")) return 4;
  if (name.ends_with('b')) return 1;
  if (name.ends_with('h')) return 2;
  return width;
}

struct Tally {
  uint64_t instructions = 0, accesses = 0, unknown = 0, wrong = 0;
  std::map<std::string, uint64_t> unknown_words;
};

class Comparison {
 public:
  Comparison() {
    cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &handle_);
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  ~Comparison() {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  void Add(uint32_t word, uint64_t pc, Tally& tally) {
    ++tally.instructions;
    const Instruction ours = DecodeArm64(word);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&word);
    size_t size = sizeof word;
    uint64_t address = pc;
    if (!cs_disasm_iter(handle_, &bytes, &size, &address, instruction_)) {
      if (ours.accesses_memory) ++tally.unknown;
      return;
    }
    std::string problem = Judge(ours, pc);
    if (ours.accesses_memory) ++tally.accesses;
    if (problem.empty()) return;
    ++tally.wrong;
    if (tally.wrong <= 10)
      fmt::print("{:#x}: {:08x} {} {}: {}\n", pc, word, instruction_->mnemonic, instruction_->op_str, problem);
  }

 private:
  std::string Judge(const Instruction& ours, uint64_t pc) const {
    const cs_arm64& detail = instruction_->detail->arm64;
    const std::string_view name = instruction_->mnemonic;
    const cs_arm64_op* memory = nullptr;
    for (int i = 0; i < detail.op_count; ++i) {
      if (detail.operands[i].type == ARM64_OP_MEM) memory = &detail.operands[i];
    }
    const bool literal =
        memory == nullptr && name.starts_with("ldr") && detail.op_count == 2 && detail.operands[1].type == ARM64_OP_IMM;
    const bool is_access = (memory != nullptr || literal) && (name.starts_with("ld") || name.starts_with("st"));
    if (is_access != ours.accesses_memory) return is_access ? "we see no access" : "we see an access";
    if (!is_access) return "";
    const MemoryAccess& access = ours.access;
    if (const unsigned size = SizeOf(handle_, *instruction_); size != access.size)
      return fmt::format("size {} and not {}", size, access.size);
    if (name.starts_with("ld") != access.reads() || name.starts_with("st") != access.writes()) return "direction";
    if (literal) {
      const uint64_t target = pc + static_cast<uint64_t>(static_cast<int64_t>(access.displacement));
      return access.base == kProgramCounter && target == static_cast<uint64_t>(detail.operands[1].imm) ? "" : "place";
    }
    if (NumberOf(memory->mem.base) != access.base) return "base";
    const bool zero = memory->mem.index == ARM64_REG_XZR || memory->mem.index == ARM64_REG_WZR;
    const uint8_t index = memory->mem.index == ARM64_REG_INVALID || zero ? kNoRegister : NumberOf(memory->mem.index);
    if (index != access.index) return "index";
    if (memory->mem.disp != access.displacement)
      return fmt::format("displacement {} and not {}", memory->mem.disp, access.displacement);
    if (index == kNoRegister) return "";
    if (memory->shift.value != access.shift) return "shift";
    const IndexExtend extend = memory->ext == ARM64_EXT_UXTW   ? IndexExtend::kUnsignedWord
                               : memory->ext == ARM64_EXT_SXTW ? IndexExtend::kSignedWord
                                                               : IndexExtend::kNone;
    return extend == access.extend ? "" : "extension";
  }

  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

int Main(int argc, char** argv) {
  Comparison comparison;
  Tally all;
  bool sites = false, failed = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--sites") {
      sites = true;
      continue;
    }
    const auto opened = CodeFile::Open(argv[i]);
    const auto* file = std::get_if<CodeFile>(&opened);
    if (file == nullptr) {
      fmt::print("{}\n", std::get<std::string>(opened));
      failed = true;
      continue;
    }
    if (sites) {
      const SamplingSet set = FindSites(*file);
      const SamplingSet::Counts& c = set.counts;
      fmt::print(
          "{}: {} functions, {} instructions, {} accesses, {} sites; own {}, atomic {}, marked {}, exclusive {}, "
          "linker {}, other {}, undecoded bytes {}\n",
          argv[i], c.functions, c.instructions, c.accesses, set.sites.size(), c.own, c.atomic, c.marked_atomic,
          c.in_exclusive, c.linker, c.other, c.undecoded_bytes);
    }
    if (file->machine() != Machine::kArm64) continue;
    Tally tally;
    for (const CodeFile::Range& range : file->functions()) {
      const auto code = file->At(range.begin);
      for (uint64_t at = 0; at + 4 <= range.end - range.begin && at + 4 <= code.size(); at += 4) {
        uint32_t word = 0;
        std::memcpy(&word, code.data() + at, sizeof word);
        comparison.Add(word, range.begin + at, tally);
      }
    }
    fmt::print("{}: {} functions, {} instructions, {} accesses, {} that Capstone does not know, {} differ\n", argv[i],
               file->functions().size(), tally.instructions, tally.accesses, tally.unknown, tally.wrong);
    failed |= tally.accesses == 0;
    all.accesses += tally.accesses;
    all.wrong += tally.wrong;
  }
  fmt::print("all: {} accesses, {} differ\n", all.accesses, all.wrong);
  return all.wrong != 0 || failed ? 1 : 0;
}

}  // namespace
}  // namespace redflag

int main(int argc, char** argv) { return redflag::Main(argc, argv); }
