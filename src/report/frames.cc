#include "report/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace redflag {
namespace {

template <size_t kCount>
bool BeginsWithOneOf(std::string_view text, const std::string_view (&beginnings)[kCount]) {
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

constexpr std::string_view kSystemSources[] = {"/usr/include/", "/usr/lib/", "/usr/local/include/"};
constexpr std::string_view kSystemModules[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "[vdso]"};
constexpr std::string_view kSystemFunctions[] = {"std::", "__gnu_cxx::", "__libc_", "_start"};

std::string InFunction(const std::vector<Frame>& stack) {
  const Frame* frame = FrameThatMatters(stack);
  return frame == nullptr || frame->function.empty() ? "" : fmt::format(" in {}", ShortName(frame->function));
}

std::string HoldingOf(const AccessSite& site) {
  std::string names;
  for (const HeldLockInfo& lock : site.locks) names += (names.empty() ? ", holding " : ", ") + lock.name;
  return names.empty() && site.locks_known ? ", holding no lock" : names;
}

}  // namespace

bool IsOwnCode(const Frame& frame) {
  if (BeginsWithOneOf(frame.file, kSystemSources)) return false;
  if (BeginsWithOneOf(frame.module, kSystemModules) || BeginsWithOneOf(frame.function, kSystemFunctions)) return false;
  return !frame.file.empty() || !frame.module.empty();
}

const Frame* FrameThatMatters(const std::vector<Frame>& stack) {
  const auto own = std::find_if(stack.begin(), stack.end(), IsOwnCode);
  if (own != stack.end()) return &*own;
  return stack.empty() ? nullptr : &stack.front();
}

std::string ShortName(std::string name) {
  constexpr std::string_view kLong = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  for (size_t at = name.find(kLong); at != std::string::npos; at = name.find(kLong, at)) {
    name.replace(at, kLong.size(), "std::string");
  }
  return name;
}

SourceRoot::SourceRoot(std::string_view folder)
    : folder_(folder.empty() ? "" : std::filesystem::path(folder).lexically_normal().string()) {
  if (!folder_.empty() && folder_.back() != '/') folder_ += '/';
}

std::string SourceRoot::NameOf(const std::string& file) const {
  std::string name = std::filesystem::path(file).lexically_normal().string();
  if (!folder_.empty() && name.size() > folder_.size() && name.starts_with(folder_)) name.erase(0, folder_.size());
  return name;
}

std::string PlaceOf(const std::vector<Frame>& stack, const SourceRoot& root) {
  const Frame* frame = FrameThatMatters(stack);
  if (frame == nullptr) return "<unknown>";
  if (frame->file.empty()) {
    return frame->module.empty() ? fmt::format("{:#x}", frame->offset)
                                 : fmt::format("{}+{:#x}", frame->module, frame->offset);
  }
  std::string place = fmt::format("{}:{}", root.NameOf(frame->file), frame->line);
  if (frame->column != 0) place += fmt::format(":{}", frame->column);
  return place;
}

std::string SiteText(const AccessSite& site) {
  return fmt::format("{}{} by thread {}{}{}", Describe(site),
                     site.descriptor ? "" : fmt::format(" of {} byte{}", site.size, site.size == 1 ? "" : "s"),
                     site.thread, InFunction(site.stack), HoldingOf(site));
}

}  // namespace redflag
