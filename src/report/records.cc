#include "report/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "report/json_reader.h"
#include "report/same_race.h"

namespace redflag {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxLine = size_t{16} << 20;       // of one record; real ones have some thousand bytes
constexpr size_t kMaxDocument = size_t{128} << 20;  // of a document that has many lines
constexpr uint64_t kMaxSkipped = uint64_t{4} << 30;
constexpr int kMaxDepth = 32;
constexpr uint64_t kMaxBad = 1'000'000;  // lines of one file: it is something else, and may have no end
constexpr uint64_t kMaxComplaints = 5;   // of one file: where one line is damaged, many are

// Lines of any length, of which only so much is kept as anybody can want.
class Lines {
 public:
  enum class Status { kLine, kTooLong, kEnd, kGivenUp };

  explicit Lines(std::istream& in) : in_(in) {}

  Status Next(size_t limit) {
    line_.clear();
    is_cut_ = false;
    uint64_t skipped = 0;
    for (;;) {
      if (at_ == filled_ && !Fill()) {
        if (line_.empty()) return Status::kEnd;
        is_cut_ = true;
        break;
      }
      const std::string_view rest(buffer_ + at_, filled_ - at_);
      const size_t end = rest.find('\n');
      const size_t length = std::min(end, rest.size());
      const size_t taken = std::min(length, limit - line_.size());
      line_.append(rest.substr(0, taken));
      skipped += length - taken;
      at_ += length + (end == std::string_view::npos ? 0 : 1);
      if (end != std::string_view::npos) break;
      if (skipped > kMaxSkipped) return Status::kGivenUp;
    }
    ++number_;
    return skipped == 0 ? Status::kLine : Status::kTooLong;
  }

  const std::string& line() const { return line_; }
  uint64_t number() const { return number_; }
  bool is_cut() const { return is_cut_; }  // the input ends, and the line does not

 private:
  bool Fill() {
    in_.read(buffer_, sizeof buffer_);
    at_ = 0;
    filled_ = static_cast<size_t>(in_.gcount());
    return filled_ != 0;
  }

  std::istream& in_;
  char buffer_[65536];
  size_t at_ = 0;
  size_t filled_ = 0;
  std::string line_;
  uint64_t number_ = 0;
  bool is_cut_ = false;
};

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

// What the pretty-printed document of `redflag analyze --json` begins with; a line of JSON goes on.
bool OpensDocument(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r");
  return first != std::string_view::npos && line[first] == '{' && IsBlank(line.substr(first + 1));
}

std::string KindOf(const Json& json) {
  const auto kind = json.find("kind");
  return kind != json.end() && kind->is_string() ? kind->get<std::string>() : "";
}

}  // namespace

void Records::Read(std::istream& in, const std::string& name) {
  left_out_ = 0;
  Lines lines(in);
  const auto where = [&] { return fmt::format("{}:{}", name, lines.number()); };
  for (;;) {
    const Lines::Status status = lines.Next(kMaxLine);
    if (status == Lines::Status::kEnd) break;
    if (left_out_ >= kMaxBad) {
      complaints_.push_back(fmt::format("{}: hardly a file of reports; nothing after this was read", where()));
      break;
    }
    if (status == Lines::Status::kGivenUp) {
      Complain(fmt::format("{}:{}", name, lines.number() + 1), "a line without end; nothing after it was read");
      break;
    }
    if (status == Lines::Status::kTooLong) {
      Complain(where(), fmt::format("a line of more than {} MiB, which is no report", kMaxLine >> 20));
    } else if (lines.number() == 1 && OpensDocument(lines.line())) {
      const std::string begin = where();
      std::string document = lines.line();
      while (document.size() <= kMaxDocument && lines.Next(kMaxLine) == Lines::Status::kLine) {
        document += '\n';
        document += lines.line();
      }
      if (document.size() > kMaxDocument) {
        Complain(begin, fmt::format("a document of more than {} MiB", kMaxDocument >> 20));
        break;
      }
      AddText(document, begin, false);
    } else if (!IsBlank(lines.line())) {
      AddText(lines.line(), where(), lines.is_cut());
    }
  }
  if (left_out_ > kMaxComplaints) {
    complaints_.push_back(fmt::format("{}: {} more like that", name, left_out_ - kMaxComplaints));
  }
  if (in.bad()) complaints_.push_back(fmt::format("{}: cannot be read to its end", name));
}

void Records::AddText(const std::string& text, const std::string& where, bool is_cut) {
  if (IsNestedTooDeeply(text, kMaxDepth)) return Complain(where, "nested too deeply for a report");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_discarded()) return AddJson(json, where);
  Complain(where, is_cut ? "the last line is cut off, as if the writer was stopped; the lines before it are good"
                         : "this is not JSON");
}

void Records::AddJson(const Json& json, const std::string& where) {
  if (!json.is_object()) return Complain(where, "an object was expected");
  if (const auto results = json.find("results"); results != json.end()) return AddDocument(*results, where);
  const std::string kind = KindOf(json);
  if (kind == "summary") return AddSummary(json);
  if (kind.empty()) return Complain(where, "neither a report nor a document of `redflag analyze --json`");
  if (kind == "misuse") return AddMisuse(json, where);
  if (kind != "data-race") return;  // of a later version
  auto read = FromJson(json);
  if (const auto* error = std::get_if<std::string>(&read)) return Complain(where, *error);
  Add(std::get<RaceReport>(std::move(read)));
}

void Records::AddDocument(const Json& results, const std::string& where) {
  if (!results.is_array()) return Complain(where, "results: an array was expected");
  for (size_t i = 0; i < results.size(); ++i) {
    const auto races = results[i].is_object() ? results[i].find("races") : results[i].end();
    if (races == results[i].end() || !races->is_array()) {
      Complain(where, fmt::format("results[{}].races: an array was expected", i));
      continue;
    }
    for (size_t j = 0; j < races->size(); ++j) {
      auto read = FromJson((*races)[j]);
      if (const auto* error = std::get_if<std::string>(&read)) {
        Complain(where, fmt::format("results[{}].races[{}]: {}", i, j, *error));
      } else {
        Add(std::get<RaceReport>(std::move(read)));
      }
    }
  }
}

// The last line of a process: what it found again after it had been reported. Of several reports with one fingerprint it does not say which;
// it is counted for the first.
void Records::AddSummary(const Json& summary) {
  const auto repeated = summary.find("repeated");
  if (repeated == summary.end() || !repeated->is_object()) return;
  for (const auto& [fingerprint, count] : repeated->items()) {
    const auto found = by_fingerprint_.find(fingerprint);
    if (found != by_fingerprint_.end() && count.is_number_unsigned()) {
      reports_[found->second].repeated += count.get<uint64_t>();
    }
  }
}

// The same in the same places, whoever did it and in which process, is one.
void Records::AddMisuse(const Json& json, const std::string& where) {
  auto read = MisuseFromJson(json);
  if (const auto* error = std::get_if<std::string>(&read)) return Complain(where, *error);
  auto& report = std::get<MisuseReport>(read);
  std::string key = report.title;
  const auto add = [&](const std::vector<Frame>& stack) {
    for (const Frame& frame : stack)
      key += fmt::format("\n{} {}:{} {}", frame.function, frame.file, frame.line, frame.module);
    key += '\n';
  };
  add(PlaceOfMisuse(report));
  for (const MisuseNote& note : NotesOf(report)) add(note.stack);
  if (misuse_keys_.insert(std::move(key)).second) misuses_.push_back(std::move(report));
}

void Records::Complain(const std::string& where, const std::string& what) {
  if (++left_out_ <= kMaxComplaints) complaints_.push_back(fmt::format("{}: {}", where, what));
}

void Records::Add(RaceReport report) {
  if (std::string key = SameRaceKey(report); !key.empty()) {
    const auto [found, is_new] = by_key_.try_emplace(std::move(key), reports_.size());
    if (!is_new) return Merge(reports_[found->second], std::move(report));
    by_fingerprint_.try_emplace(report.fingerprint, reports_.size());
  }
  reports_.push_back(std::move(report));
}

// Of two that are one, the higher rank is shown. What several detectors say is more than what one says twice.
void Records::Merge(RaceReport& known, RaceReport report) {
  const auto rank_of = [](const RaceReport& of) {
    return of.judgement ? of.judgement->rank : Judgement::Rank::kMedium;
  };
  const uint64_t repeated = known.repeated + 1 + report.repeated;
  if (rank_of(report) < rank_of(known)) std::swap(known, report);
  known.repeated = repeated;
  const auto confirm = [&](const std::string& who) {
    const bool is_known =
        std::find(known.confirmed_by.begin(), known.confirmed_by.end(), who) != known.confirmed_by.end();
    if (!who.empty() && who != known.detector && !is_known) known.confirmed_by.push_back(who);
  };
  confirm(report.detector);
  for (const std::string& who : report.confirmed_by) confirm(who);
}

void Records::Confirm(const StaticWarnings& warnings) {
  for (RaceReport& report : reports_) warnings.Confirm(report);
}

std::vector<MisuseReport> Records::TakeMisuses() {
  misuse_keys_.clear();
  return std::exchange(misuses_, {});
}

std::vector<RaceReport> Records::TakeRanked() {
  std::vector<std::tuple<Judgement::Rank, bool, size_t>> order;
  order.reserve(reports_.size());
  for (size_t i = 0; i < reports_.size(); ++i) {
    const RaceReport& report = reports_[i];
    order.emplace_back(report.judgement ? report.judgement->rank : Judgement::Rank::kMedium,
                       report.confirmed_by.empty(), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<RaceReport> ranked;
  ranked.reserve(reports_.size());
  for (const auto& [rank, is_alone, i] : order) ranked.push_back(std::move(reports_[i]));
  reports_.clear();
  by_key_.clear();
  by_fingerprint_.clear();
  return ranked;
}

}  // namespace redflag
