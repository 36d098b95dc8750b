#include "report/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "report/own_code.h"

namespace redflag {
namespace {

// FNV-1a of 64 bits.
uint64_t HashText(std::string_view text) {
  constexpr uint64_t kBasis = 0xcbf29ce484222325;
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t hash = kBasis;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
  return hash;
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string NameOf(const Frame& frame) {
  if (!frame.function.empty()) return PlainName(frame.function);
  const std::string& file = frame.file.empty() ? frame.module : frame.file;
  std::string name = "in " + FileName(file);
  if (!frame.unnamed.empty()) name += " " + frame.unnamed;
  return name;
}

// A function that calls itself counts once: how deep it was is chance.
std::string ChainOf(const std::vector<Frame>& stack) {
  const bool has_own = std::any_of(stack.begin(), stack.end(), IsOwnCode);
  std::vector<std::string> names;
  for (const Frame& frame : stack) {
    if (has_own && !IsOwnCode(frame)) continue;
    std::string name = NameOf(frame);
    if (!names.empty() && names.back() == name) continue;
    if (names.size() == kFingerprintFrames) break;
    names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, " < "));
}

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

// The name is a name like others; behind it, fields count, and one element of an array is as good as another.
std::string PlainVariable(std::string_view variable) {
  size_t end = 0;
  while (end < variable.size() && variable[end] != '.' &&
         !(variable[end] == '[' && end + 1 < variable.size() && IsDigit(variable[end + 1]))) {
    ++end;
  }
  std::string plain = PlainName(variable.substr(0, end));
  bool is_index = false;
  for (const char letter : variable.substr(end)) {
    is_index = letter == '[' || (is_index && IsDigit(letter));
    if (!is_index || letter == '[') plain += letter;
  }
  return plain;
}

// Locals are renamed at will, and not always known. Of what has no names, variables are told apart as functions are.
std::string VariableOf(const RaceReport& report) {
  if (report.access.descriptor) return "file descriptor";
  if (report.block && report.block->place == RacyBlock::Place::kStack) return "";
  const Frame* own = InnermostOwn(report.access.stack);
  if (report.variable.empty() && report.block && !report.block->module.empty() && own != nullptr &&
      !own->unnamed.empty()) {
    return fmt::format("{}+{:x}", FileName(report.block->module), report.block->module_offset);
  }
  return PlainVariable(report.variable);
}

std::string SideOf(const AccessSite& site) { return Describe(site) + " " + ChainOf(site.stack); }

}  // namespace

std::string FingerprintText(const RaceReport& report) {
  std::vector<std::string> sides = {SideOf(report.access)};
  if (!report.earlier.empty()) sides.push_back(SideOf(report.earlier.front()));
  std::sort(sides.begin(), sides.end());
  return fmt::format("{}\n{}", VariableOf(report), fmt::join(sides, "\n"));
}

std::string FingerprintOf(const RaceReport& report) {
  return fmt::format("{:016x}", HashText(FingerprintText(report)));
}

}  // namespace redflag
