#include "report/json_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace redflag {
namespace {

using Json = nlohmann::json;

// A number that is written as a hexadecimal string.
struct Hex {
  uint64_t value = 0;
};

template <class T>
struct Word {
  std::string_view text;
  T value;
};

// Reads values into their places; remembers the first thing that is wrong and goes on.
class Reader {
 public:
  const std::string& error() const { return error_; }

  void Read(const Json& json, RaceReport& report) {
    if (!Expect(json.is_object(), "an object")) return;
    std::string kind;
    Need(json, "kind", kind);
    Require(kind == "data-race", "the kind is not data-race");
    Need(json, "detector", report.detector);
    Need(json, "variable", report.variable);
    Need(json, "offset", report.offset);
    Need(json, "address", report.addr);
    Need(json, "size", report.size);
    Need(json, "access", report.access);
    Need(json, "earlier", report.earlier);
    May(json, "earlier_omitted", report.earlier_omitted);
    Need(json, "threads", report.threads);
    May(json, "why", report.why);
    May(json, "evidence", report.evidence);
    if (const Json* trace = Find(json, "trace")) {
      const Step step(*this, "trace");
      if (Expect(trace->is_object(), "an object")) {
        Need(*trace, "file", report.trace);
        Need(*trace, "line", report.trace_line);
        Need(*trace, "event", report.event);
      }
    }
    ReadProcess(json, report);
    May(json, "block", report.block);
    May(json, "notes", report.notes);
    May(json, "fingerprint", report.fingerprint);
    May(json, "judgement", report.judgement);
    May(json, "repeated", report.repeated);
    May(json, "confirmed_by", report.confirmed_by);
  }

  void Read(const Json& json, MisuseReport& report) {
    if (!Expect(json.is_object(), "an object")) return;
    Need(json, "title", report.title);
    Need(json, "category", report.category);
    Need(json, "thread", report.thread);
    Need(json, "stack", report.where);
    May(json, "mutex", report.mutex);
    May(json, "address", report.addr);
    May(json, "taken_at", report.taken_at);
    May(json, "made_at", report.made_at);
    May(json, "on_stack_of", report.on_stack_of);
    May(json, "signal", report.number);
    May(json, "more", report.number);
    May(json, "cycle", report.cycle);
    May(json, "threads", report.threads);
    ReadProcess(json, report);
  }

 private:
  // A part of the way to what is being read, for messages.
  class Step {
   public:
    Step(Reader& reader, std::string_view name) : reader_(reader), before_(reader.path_.size()) {
      if (before_ != 0) reader_.path_ += '.';
      reader_.path_ += name;
    }
    Step(Reader& reader, size_t index) : reader_(reader), before_(reader.path_.size()) {
      reader_.path_ += fmt::format("[{}]", index);
    }
    ~Step() { reader_.path_.resize(before_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Reader& reader_;
    size_t before_;
  };

  bool Require(bool is_good, std::string_view problem) {
    if (!is_good && error_.empty())
      error_ = path_.empty() ? std::string(problem) : fmt::format("{}: {}", path_, problem);
    return is_good;
  }
  bool Expect(bool is_good, std::string_view what) {
    return is_good || Require(false, fmt::format("{} was expected", what));
  }

  static const Json* Find(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  }

  template <class T>
  void Need(const Json& object, const char* name, T& value) {
    if (Require(object.contains(name), fmt::format("there is no \"{}\"", name))) May(object, name, value);
  }

  template <class T>
  void May(const Json& object, const char* name, T& value) {
    const Json* json = Find(object, name);
    if (json == nullptr) return;
    const Step step(*this, name);
    Read(*json, value);
  }

  template <class T>
  void Read(const Json& json, std::vector<T>& values) {
    if (!Expect(json.is_array(), "an array")) return;
    values.reserve(json.size());
    for (size_t i = 0; i < json.size() && error_.empty(); ++i) {
      const Step step(*this, i);
      Read(json[i], values.emplace_back());
    }
  }

  template <class T>
  void Read(const Json& json, std::optional<T>& value) {
    Read(json, value.emplace());
  }

  void Read(const Json& json, std::string& value) {
    if (Expect(json.is_string(), "a string")) value = json.get_ref<const std::string&>();
  }
  void Read(const Json& json, bool& value) {
    if (Expect(json.is_boolean(), "true or false")) value = json.get<bool>();
  }
  void Read(const Json& json, uint64_t& value) {
    if (Expect(json.is_number_unsigned(), "a whole number")) value = json.get<uint64_t>();
  }
  void Read(const Json& json, uint32_t& value) {
    uint64_t wide = 0;
    Read(json, wide);
    if (Expect(wide <= std::numeric_limits<uint32_t>::max(), "a smaller number")) value = static_cast<uint32_t>(wide);
  }
  void Read(const Json& json, Hex& hex) {
    if (!Expect(json.is_string(), "a hexadecimal string")) return;
    const auto& text = json.get_ref<const std::string&>();
    const char* const end = text.data() + text.size();
    const bool is_hex = text.starts_with("0x");
    const auto result = std::from_chars(text.data() + (is_hex ? 2 : 0), end, hex.value, 16);
    Expect(is_hex && result.ec == std::errc() && result.ptr == end, "a hexadecimal string");
  }
  void Read(const Json& json, Addr& address) {
    Hex hex;
    Read(json, hex);
    address = Addr{hex.value};
  }
  void MayHex(const Json& object, const char* name, uint64_t& value) {
    Hex hex{value};
    May(object, name, hex);
    value = hex.value;
  }

  template <class T, size_t kCount>
  T ReadWord(const Json& object, const char* name, const Word<T> (&words)[kCount]) {
    std::string text;
    Need(object, name, text);
    for (const auto& word : words) {
      if (word.text == text) return word.value;
    }
    const Step step(*this, name);
    Require(false, "a word that is not known");
    return words[0].value;
  }

  void Read(const Json& json, Frame& frame) {
    if (!Expect(json.is_object(), "an object")) return;
    Need(json, "file", frame.file);
    Need(json, "line", frame.line);
    May(json, "column", frame.column);
    May(json, "function", frame.function);
    May(json, "module", frame.module);
    MayHex(json, "offset", frame.offset);
    May(json, "inlined", frame.inlined);
  }

  template <class Report>
  void ReadProcess(const Json& json, Report& report) {
    const Json* process = Find(json, "process");
    if (process == nullptr) return;
    const Step step(*this, "process");
    if (!Expect(process->is_object(), "an object")) return;
    Need(*process, "pid", report.pid);
    Need(*process, "command", report.command);
  }

  void Read(const Json& json, WaiterInfo& waiter) {
    if (!Expect(json.is_object(), "an object")) return;
    Need(json, "thread", waiter.thread);
    Need(json, "held", waiter.held);
    Need(json, "wanted", waiter.wanted);
  }

  void Read(const Json& json, HeldLockInfo& lock) {
    if (!Expect(json.is_object(), "an object")) return;
    static constexpr Word<LockMode> kModes[] = {{"exclusive", LockMode::kExclusive}, {"shared", LockMode::kShared}};
    Need(json, "name", lock.name);
    lock.mode = ReadWord(json, "mode", kModes);
    Need(json, "taken_at", lock.taken_at);
    May(json, "address", lock.addr);
    May(json, "made_at", lock.made_at);
  }

  void Read(const Json& json, AccessSite& site) {
    if (!Expect(json.is_object(), "an object")) return;
    static constexpr Word<AccessOrigin> kOrigins[] = {{"program", AccessOrigin::kProgram},
                                                      {"transaction", AccessOrigin::kTransaction},
                                                      {"alloc", AccessOrigin::kAlloc},
                                                      {"free", AccessOrigin::kFree}};
    Need(json, "thread", site.thread);
    bool write = false;
    bool atomic = false;
    Need(json, "write", write);
    Need(json, "atomic", atomic);
    site.kind = write ? (atomic ? AccessKind::kAtomicWrite : AccessKind::kWrite)
                      : (atomic ? AccessKind::kAtomicRead : AccessKind::kRead);
    site.origin = ReadWord(json, "origin", kOrigins);
    Need(json, "address", site.addr);
    Need(json, "size", site.size);
    Need(json, "stack", site.stack);
    Need(json, "locks", site.locks);
    May(json, "locks_known", site.locks_known);
    May(json, "stack_truncated", site.stack_truncated);
    May(json, "vptr", site.vptr);
    May(json, "ordered", site.ordered);
    May(json, "bit_field", site.bit_field);
    May(json, "descriptor", site.descriptor);
    std::optional<Hex> held;
    May(json, "value", held);
    if (held) site.value = held->value;
  }

  void Read(const Json& json, ThreadInfo& thread) {
    if (!Expect(json.is_object(), "an object")) return;
    Need(json, "name", thread.name);
    May(json, "title", thread.title);
    May(json, "creator", thread.creator);
    May(json, "created_at", thread.created_at);
    May(json, "os_id", thread.os_id);
    May(json, "finished", thread.finished);
  }

  void Read(const Json& json, RacyBlock& block) {
    if (!Expect(json.is_object(), "an object")) return;
    static constexpr Word<RacyBlock::Place> kPlaces[] = {{"heap", RacyBlock::Place::kHeap},
                                                         {"stack", RacyBlock::Place::kStack},
                                                         {"thread-local", RacyBlock::Place::kThreadLocal},
                                                         {"global", RacyBlock::Place::kGlobal},
                                                         {"mapped", RacyBlock::Place::kMapped},
                                                         {"descriptor", RacyBlock::Place::kDescriptor}};
    block.place = ReadWord(json, "place", kPlaces);
    May(json, "address", block.begin);
    May(json, "size", block.size);
    May(json, "thread", block.thread);
    May(json, "freed", block.freed);
    May(json, "allocated_at", block.allocated_at);
    May(json, "module", block.module);
    MayHex(json, "offset", block.module_offset);
    May(json, "function", block.function);
    May(json, "declared_at", block.declared_at);
    May(json, "parameter", block.parameter);
  }

  void Read(const Json& json, Judgement& judgement) {
    if (!Expect(json.is_object(), "an object")) return;
    static constexpr Word<Judgement::Rank> kRanks[] = {
        {"high", Judgement::Rank::kHigh}, {"medium", Judgement::Rank::kMedium}, {"low", Judgement::Rank::kLow}};
    judgement.rank = ReadWord(json, "rank", kRanks);
    May(json, "pattern", judgement.pattern);
    May(json, "suggestion", judgement.suggestion);
    May(json, "reasons", judgement.reasons);
  }

  std::string path_;
  std::string error_;
};

}  // namespace

bool IsNestedTooDeeply(std::string_view text, int most) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::variant<RaceReport, std::string> FromJson(const Json& json) {
  Reader reader;
  RaceReport report;
  reader.Read(json, report);
  if (!reader.error().empty()) return reader.error();
  return report;
}

std::variant<MisuseReport, std::string> MisuseFromJson(const Json& json) {
  Reader reader;
  MisuseReport report;
  reader.Read(json, report);
  if (!reader.error().empty()) return reader.error();
  return report;
}

}  // namespace redflag
