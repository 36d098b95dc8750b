#include "trace/binary_names.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/trace_block.h"
#include "trace/binary_file.h"

namespace redflag {
namespace {

constexpr size_t kMaxString = 1u << 16;

class NameWriter {
 public:
  explicit NameWriter(const std::function<bool(std::span<const std::byte>)>& add) : add_(add) {}

  void Number(uint64_t number) {
    uint8_t bytes[10];
    const uint8_t* const end = block_detail::PutNumber(bytes, number);
    Bytes({reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes)});
  }
  void String(std::string_view text) {
    text = text.substr(0, kMaxString);
    Number(text.size());
    Bytes(text);
  }
  void Strings(const std::vector<std::string>& strings) {
    Number(strings.size());
    for (const std::string& string : strings) String(string);
  }
  bool Flush() {
    if (ok_ && !buffer_.empty()) ok_ = add_(std::as_bytes(std::span(buffer_.data(), buffer_.size())));
    buffer_.clear();
    return ok_;
  }

 private:
  void Bytes(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > kMaxBlockBytes) Flush();
    buffer_ += bytes;
  }

  const std::function<bool(std::span<const std::byte>)>& add_;
  std::string buffer_;
  bool ok_ = true;
};

// At the end of the input, or after something that is no number, everything is 0 and ok() false.
class NameReader {
 public:
  explicit NameReader(const std::function<std::span<const std::byte>()>& next) : next_(next) {}

  bool ok() const { return ok_; }
  bool AtEnd() { return rest_.empty() && (rest_ = next_()).empty(); }

  uint64_t Number() {
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Byte();
      if (!ok_) return 0;
      number |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
    ok_ = false;
    return 0;
  }
  uint32_t Number32() {
    const uint64_t number = Number();
    if (number > UINT32_MAX) ok_ = false;
    return ok_ ? static_cast<uint32_t>(number) : 0;
  }
  std::string String() {
    std::string text;
    const uint64_t length = Number();
    if (length > kMaxString) ok_ = false;
    while (ok_ && text.size() < length) text += static_cast<char>(Byte());
    return text;
  }
  // `each` reads one element and appends it.
  template <class Each>
  void Table(Each each) {
    const uint64_t count = Number();
    for (uint64_t i = 0; i < count && ok_; ++i) each();
  }
  void Strings(std::vector<std::string>& to) {
    Table([&] { to.push_back(String()); });
  }

 private:
  uint8_t Byte() {
    if (AtEnd()) ok_ = false;
    if (!ok_) return 0;
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_ = rest_.subspan(1);
    return byte;
  }

  const std::function<std::span<const std::byte>()>& next_;
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

void WritePositions(const Trace& trace, NameWriter& out) {
  std::unordered_map<std::string_view, uint64_t> ids;
  std::vector<std::string> files;
  for (const SourcePosition& position : trace.positions) {
    if (ids.emplace(position.file, files.size()).second) files.push_back(position.file);
  }
  out.Strings(files);
  out.Number(trace.positions.size());
  for (const SourcePosition& position : trace.positions) {
    out.Number(ids[position.file]);
    out.Number(position.line);
    out.Number(position.column);
  }
}

std::string ReadPositions(NameReader& in, Trace& trace) {
  std::vector<std::string> files;
  in.Strings(files);
  bool known = true;
  in.Table([&] {
    const uint64_t file = in.Number();
    known &= file < files.size();
    trace.positions.push_back({.file = known ? files[file] : "", .line = in.Number32(), .column = 0});
    trace.positions.back().column = in.Number32();
  });
  return known ? "" : "a position in a file that is not there";
}

}  // namespace

bool WriteNames(const Trace& trace, const std::function<bool(std::span<const std::byte>)>& add) {
  using block_detail::ZigZag;
  NameWriter out(add);
  out.String(trace.name);
  out.Strings(trace.threads);
  out.Number(trace.syncs.size());
  for (const NamedSync& sync : trace.syncs) {
    out.Number(Raw(sync.kind));
    out.String(sync.name);
  }
  WritePositions(trace, out);
  out.Strings(trace.functions);
  out.Strings(trace.texts);
  out.Number(trace.ranges.size());
  for (const NamedRange& range : trace.ranges) {
    out.String(range.name);
    out.Number(Raw(range.addr));
    out.Number(range.size);
    out.Number(range.first_event);
  }
  out.Number(trace.initial_threads.size());
  for (const Tid thread : trace.initial_threads) out.Number(Raw(thread));
  out.Number(trace.expectations.size());
  for (const Expectation& expectation : trace.expectations) {
    out.Number(Raw(expectation.verdict));
    out.Number(expectation.event);
    out.Strings(expectation.detectors);
    out.String(expectation.reason);
    out.Number(expectation.line);
  }
  out.Number(trace.lines.size());
  uint64_t last = 0;
  for (const uint32_t line : trace.lines) {
    out.Number(ZigZag(line - last));
    last = line;
  }
  return out.Flush();
}

std::string ReadNames(const std::function<std::span<const std::byte>()>& next, uint64_t events, Trace& trace) {
  NameReader in(next);
  std::string problem;
  const auto check = [&](bool good, std::string_view what) {
    if (!good && problem.empty()) problem = what;
  };
  trace.name = in.String();
  in.Strings(trace.threads);
  in.Table([&] {
    const uint64_t kind = in.Number();
    check(kind <= Raw(SyncKind::kBarrier), "an object of an unknown kind");
    trace.syncs.push_back(
        {.name = in.String(), .kind = problem.empty() ? SyncKind{static_cast<uint8_t>(kind)} : SyncKind::kLock});
  });
  problem += ReadPositions(in, trace);
  in.Strings(trace.functions);
  in.Strings(trace.texts);
  uint64_t first_event = 0;
  in.Table([&] {
    NamedRange range{.name = in.String(), .addr = Addr{in.Number()}, .size = in.Number(), .first_event = in.Number()};
    check(range.first_event >= first_event && range.first_event <= events,
          "a range that begins at no event, or not in order");
    check(range.size <= UINT64_MAX - Raw(range.addr), "a range that goes past the end of the address space");
    first_event = range.first_event;
    trace.ranges.push_back(std::move(range));
  });
  std::vector<bool> initial(trace.threads.size());
  in.Table([&] {
    const uint64_t thread = in.Number();
    const bool good = thread < initial.size() && !initial[thread];
    check(good, "an initial thread without a name, or twice");
    if (!good) return;
    initial[thread] = true;
    trace.initial_threads.push_back(Tid{static_cast<uint32_t>(thread)});
  });
  in.Table([&] {
    Expectation expectation;
    const uint64_t verdict = in.Number();
    check(verdict <= Raw(Expectation::Verdict::kMiss), "an expectation of an unknown kind");
    if (problem.empty()) expectation.verdict = Expectation::Verdict{static_cast<uint8_t>(verdict)};
    expectation.event = in.Number();
    check(expectation.event < events, "an expectation of no event");
    in.Strings(expectation.detectors);
    expectation.reason = in.String();
    expectation.line = in.Number32();
    trace.expectations.push_back(std::move(expectation));
  });
  uint64_t line = 0;
  in.Table([&] {
    line += block_detail::UnZigZag(in.Number());
    check(line <= UINT32_MAX && trace.lines.size() < events, "lines that are not those of the events");
    if (problem.empty()) trace.lines.push_back(static_cast<uint32_t>(line));
  });
  if (!in.ok()) return "the names break off";
  if (!problem.empty()) return problem;
  check(trace.lines.size() == events, "there are not as many lines as events");
  check(in.AtEnd(), "there is more behind the names");
  return problem;
}

}  // namespace redflag
