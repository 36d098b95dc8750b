#include "report/frames.h"

#include <fmt/format.h>

#include <filesystem>

#include "report/own_code.h"

namespace redflag {
namespace {

std::string InFunction(const std::vector<Frame>& stack) {
  const Frame* frame = InnermostOwn(stack);
  return frame == nullptr || frame->function.empty() ? "" : fmt::format(" in {}", ShortName(frame->function));
}

std::string HoldingOf(const AccessSite& site) {
  std::string names;
  for (const HeldLockInfo& lock : site.locks) names += (names.empty() ? ", holding " : ", ") + lock.name;
  return names.empty() && site.locks_known ? ", holding no lock" : names;
}

}  // namespace

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
  const Frame* frame = InnermostOwn(stack);
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
