#include "cli/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <utility>
#include <variant>
#include <vector>

#include "trace/text_reader.h"

namespace redflag::cli {
namespace {

std::optional<LoadedTrace> OfText(Trace trace) {
  LoadedTrace loaded;
  loaded.text = std::make_unique<Trace>(std::move(trace));
  loaded.of_text = std::make_unique<TraceSource>(*loaded.text);
  return loaded;
}

std::optional<LoadedTrace> Complain(const std::string& what) {
  PrintProblem(what);
  return std::nullopt;
}

}  // namespace

std::variant<Trace, std::string> ReadText(const std::string& path) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "<stdin>" : path;
  std::ifstream file;
  if (!is_stdin) {
    file.open(path, std::ios::binary);
    if (file && file.peek() == std::char_traits<char>::eof() && file.bad()) file.setstate(std::ios::failbit);
    if (!file && !file.eof()) return fmt::format("cannot read {}: {}", path, std::strerror(errno));
    file.clear();
  }
  TraceResult result = ReadTextTrace(is_stdin ? std::cin : file, name);
  if (const auto* error = std::get_if<TraceError>(&result)) return FormatError(*error, name);
  return std::get<Trace>(std::move(result));
}

void PrintProblem(const std::string& problem) {
  if (problem.ends_with('\n')) {
    fmt::print(stderr, "{}", problem);
  } else {
    fmt::print(stderr, "redflag: {}\n", problem);
  }
}

std::optional<LoadedTrace> LoadTrace(const std::string& path, bool partial) {
  if (path == "-" || !BinaryTrace::IsBinary(path)) {
    auto trace = ReadText(path);
    if (const auto* problem = std::get_if<std::string>(&trace)) return Complain(*problem);
    return OfText(std::get<Trace>(std::move(trace)));
  }
  auto opened = BinaryTrace::Open(path, {.partial = partial});
  if (const auto* error = std::get_if<std::string>(&opened)) return Complain(*error);
  auto binary = std::get<std::unique_ptr<BinaryTrace>>(std::move(opened));
  if (!binary->left_out().empty()) fmt::print(stderr, "redflag: {}: warning: {}\n", path, binary->left_out());
  if (binary->has_names()) {
    auto trace = binary->Load();
    if (const auto* error = std::get_if<std::string>(&trace)) return Complain(*error);
    return OfText(std::get<Trace>(std::move(trace)));
  }
  LoadedTrace loaded;
  loaded.binary = std::move(binary);
  return loaded;
}

std::string IdentityOf(const std::string& path) {
  constexpr std::streamoff kLooked = 1 << 20;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (!file || size < 0) return {};
  uint64_t hash = 0xcbf29ce484222325;
  std::vector<char> bytes(static_cast<size_t>(std::min(size, kLooked)));
  for (const std::streamoff from : {std::streamoff{0}, size - static_cast<std::streamoff>(bytes.size())}) {
    file.seekg(from);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file) return {};
    for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
  return fmt::format("{}:{:016x}", size, hash);
}

}  // namespace redflag::cli
