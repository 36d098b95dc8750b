#include "report/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "report/own_code.h"

namespace redflag {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRule = "data-race";
constexpr const char* kRootName = "SRCROOT";
constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

constexpr const char* kHelp =
    "Two threads use the same memory, at least one of them writes, not both are atomic, and nothing in the run of the "
    "program puts the "
    "two accesses into an order. Which of them comes first is up to chance, and the behaviour of the program is "
    "undefined. Protect both "
    "with one lock, make the variable atomic, or order the threads (join, condition variable, barrier).";

// What is told besides races, by the category of the report; each is a rule behind that of races.
struct MisuseRule {
  const char* category;
  const char* id;
  const char* name;
  const char* description;
};
constexpr MisuseRule kMisuseRules[] = {
    {"deadlock", "lock-order-inversion", "LockOrderInversion",
     "Threads take locks in orders in which they may wait for one another for ever."},
    {"mutex", "mutex-misuse", "MutexMisuse", "A lock is used as none may be."},
    {"thread", "thread-leak", "ThreadLeak",
     "A thread ends in a way that nobody wants: unjoined, or ignoring accesses."},
    {"signal", "signal-unsafe", "SignalUnsafe", "A signal handler does what none may do."}};

size_t MisuseRuleOf(const MisuseReport& report) {
  const auto* const found = std::find_if(std::begin(kMisuseRules), std::end(kMisuseRules),
                                         [&](const MisuseRule& rule) { return report.category == rule.category; });
  return found == std::end(kMisuseRules) ? 1 : static_cast<size_t>(found - kMisuseRules);
}

// RFC 3986: all but unreserved characters and the slash.
std::string EncodePath(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_letter || std::string_view("-._~/").find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

// In messages, [text](id) is a link; names of functions have brackets of their own.
std::string EscapeBrackets(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

Json Message(std::string_view text) { return {{"text", text}}; }

class SarifRenderer {
 public:
  explicit SarifRenderer(const SourceRoot& root) : root_(root) {}

  Json Result(const MisuseReport& report) const {
    const size_t rule = MisuseRuleOf(report);
    Json related = Json::array();
    std::string message = EscapeBrackets(Headline(report)) + '.';
    for (const MisuseNote& note : NotesOf(report)) {
      message += fmt::format("\n[{}]({})", EscapeBrackets(note.text), related.size());
      related.push_back(Related(related.size(), note.stack, note.text));
    }
    Json result = {{"ruleId", kMisuseRules[rule].id},
                   {"ruleIndex", rule + 1},
                   {"level", "warning"},
                   {"message", Message(message)},
                   {"locations", Json::array({LocationOf(PlaceOfMisuse(report))})}};
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    if (!report.where.empty()) result["stacks"] = Json::array({Stack(report.where, Headline(report))});
    result["properties"] = {{"thread", report.thread}, {"command", report.command}};
    return result;
  }

  Json Result(const RaceReport& report) const {
    Json related = Json::array();
    std::string message = fmt::format("Data race on {}: {}", EscapeBrackets(DescribeTarget(report)),
                                      EscapeBrackets(SiteText(report.access)));
    for (const AccessSite& site : report.earlier) {
      message += fmt::format(", and [earlier {}]({})", EscapeBrackets(SiteText(site)), related.size());
      related.push_back(Related(related.size(), site.stack, "earlier " + SiteText(site)));
    }
    message += '.';
    const auto add = [&](std::string_view title, const std::string& sentence) {
      if (!sentence.empty()) message += fmt::format("\n{}: {}", title, EscapeBrackets(sentence));
    };
    add("Why", report.why);
    for (const std::string& seen : report.evidence) add("Seen", seen);
    for (const std::string& who : report.confirmed_by) add("Confirmed by", who);
    if (report.judgement) {
      add("Pattern", report.judgement->pattern);
      add("Suggestion", report.judgement->suggestion);
    }
    if (report.block && !report.block->allocated_at.empty()) {
      related.push_back(Related(related.size(), report.block->allocated_at, "the memory was allocated here"));
    }
    if (report.block && !report.block->declared_at.empty()) {
      related.push_back(
          Related(related.size(), report.block->declared_at, fmt::format("{} is declared here", report.variable)));
    }
    Json result = {{"ruleId", kRule},
                   {"ruleIndex", 0},
                   {"level", LevelOf(report, "note")},
                   {"message", Message(message)},
                   {"locations", Json::array({LocationOf(report.access.stack)})}};
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    Json flow = {{"message", Message("What each thread did, up to its access.")}};
    flow["threadFlows"] = ThreadFlows(report);
    result["codeFlows"].push_back(std::move(flow));
    if (!report.fingerprint.empty()) result["partialFingerprints"] = {{"redflag/v1", report.fingerprint}};
    result["occurrenceCount"] = Occurrences(report);
    result["properties"] = Properties(report);
    return result;
  }

 private:
  // The schema counts in signed 32 bits.
  static uint64_t Occurrences(const RaceReport& report) {
    return std::min<uint64_t>(report.repeated, INT32_MAX - 1) + 1;
  }

  Json Artifact(const std::string& file) const {
    const std::string name = root_.NameOf(file);
    if (name.starts_with('/')) return {{"uri", "file://" + EncodePath(name)}};
    return {{"uri", EncodePath(name)}, {"uriBaseId", kRootName}};
  }

  // A frame without source has only the name of its function, and so has one of a library that was built elsewhere: its file is
  // relative to a folder that is not here.
  Json Location(const Frame& frame) const {
    Json location = Json::object();
    if (frame.file.starts_with('/') || (!frame.file.empty() && IsOwnCode(frame))) {
      Json physical = {{"artifactLocation", Artifact(frame.file)}};
      if (frame.line != 0) {
        physical["region"] = {{"startLine", frame.line}};
        if (frame.column != 0) physical["region"]["startColumn"] = frame.column;
      }
      location["physicalLocation"] = std::move(physical);
    }
    if (!frame.function.empty()) {
      location["logicalLocations"] = Json::array({{{"fullyQualifiedName", frame.function}, {"kind", "function"}}});
    } else if (frame.file.empty()) {
      const std::string name = frame.module.empty() ? fmt::format("{:#x}", frame.offset)
                                                    : fmt::format("{}+{:#x}", frame.module, frame.offset);
      location["logicalLocations"] = Json::array({{{"fullyQualifiedName", name}}});
    }
    return location;
  }

  Json LocationOf(const std::vector<Frame>& stack) const {
    const Frame* frame = InnermostOwn(stack);
    return frame == nullptr ? Json::object() : Location(*frame);
  }

  Json Related(size_t id, const std::vector<Frame>& stack, const std::string& text) const {
    Json location = {{"id", id}};
    location.update(LocationOf(stack));
    location["message"] = Message(EscapeBrackets(text));
    return location;
  }

  Json Stack(const std::vector<Frame>& stack, const std::string& text) const {
    Json frames = Json::array();
    for (const Frame& frame : stack) {
      Json json;
      json["location"] = Location(frame);
      if (!frame.module.empty()) json["module"] = frame.module;
      frames.push_back(std::move(json));
    }
    Json json = {{"message", Message(EscapeBrackets(text))}};
    json["frames"] = std::move(frames);
    return json;
  }

  Json Step(Json location, const std::string& text, const char* importance) const {
    location["message"] = Message(EscapeBrackets(text));
    Json step;
    step["location"] = std::move(location);
    step["importance"] = importance;
    return step;
  }

  // From the outermost call to the access, with the locks that it was made under.
  void AddSteps(Json& steps, const AccessSite& site, const std::string& text, uint64_t order) const {
    for (const HeldLockInfo& lock : site.locks) {
      Json step = Step(LocationOf(lock.taken_at), fmt::format("takes {}", lock.name), "important");
      if (!lock.taken_at.empty()) step["stack"] = Stack(lock.taken_at, fmt::format("takes {}", lock.name));
      steps.push_back(std::move(step));
    }
    for (size_t i = site.stack.size(); i-- > 1;) {
      Json step = Step(Location(site.stack[i]), "calls", "unimportant");
      step["nestingLevel"] = site.stack.size() - 1 - i;
      steps.push_back(std::move(step));
    }
    Json step = Step(site.stack.empty() ? Json::object() : Location(site.stack.front()), text, "essential");
    if (!site.stack.empty()) step["nestingLevel"] = site.stack.size() - 1;
    step["stack"] = Stack(site.stack, text);
    step["executionOrder"] = order;
    step["kinds"] = Json::array({"memory", IsWrite(site.kind) ? "write" : "read"});
    steps.push_back(std::move(step));
  }

  Json ThreadFlows(const RaceReport& report) const {
    std::vector<std::string> names = {report.access.thread};
    for (const AccessSite& site : report.earlier) {
      if (std::find(names.begin(), names.end(), site.thread) == names.end()) names.push_back(site.thread);
    }
    Json flows = Json::array();
    for (const std::string& name : names) {
      Json steps = Json::array();
      for (const ThreadInfo& thread : report.threads) {
        if (thread.name != name || thread.created_at.empty()) continue;
        steps.push_back(Step(LocationOf(thread.created_at),
                             fmt::format("thread {} is created by {}", name, thread.creator), "important"));
        steps.back()["stack"] = Stack(thread.created_at, fmt::format("thread {} is created", name));
      }
      // The latest of the earlier ones is the first of them.
      for (size_t i = report.earlier.size(); i-- > 0;) {
        if (report.earlier[i].thread != name) continue;
        AddSteps(steps, report.earlier[i], "earlier " + SiteText(report.earlier[i]), report.earlier.size() - i);
      }
      if (report.access.thread == name)
        AddSteps(steps, report.access, SiteText(report.access), report.earlier.size() + 1);
      Json flow = {{"id", name}, {"message", Message(EscapeBrackets("thread " + name))}};
      flow["locations"] = std::move(steps);
      flows.push_back(std::move(flow));
    }
    return flows;
  }

  static Json Properties(const RaceReport& report) {
    Json properties = {{"detector", report.detector},
                       {"variable", DescribeTarget(report)},
                       {"address", fmt::format("{:#x}", Raw(report.addr))},
                       {"size", report.size}};
    if (report.pid != 0) properties["command"] = report.command;
    if (report.judgement) {
      properties["rank"] = RankName(report.judgement->rank);
      if (!report.judgement->pattern.empty()) properties["pattern"] = report.judgement->pattern;
      if (!report.judgement->reasons.empty()) properties["reasons"] = report.judgement->reasons;
    }
    if (!report.notes.empty()) properties["notes"] = report.notes;
    return properties;
  }

  const SourceRoot& root_;
};

}  // namespace

// Results are many and large: each is written as soon as it is made, into the place that the rest of the file has for them.
std::string RenderSarif(const std::vector<RaceReport>& reports, const std::vector<MisuseReport>& misuses,
                        const SourceRoot& root, const std::string& version) {
  const Json rule = {{"id", kRule},
                     {"name", "DataRace"},
                     {"shortDescription", Message("Data race")},
                     {"fullDescription", Message("Two threads use the same memory at the same time, and one writes.")},
                     {"help", Message(kHelp)},
                     {"defaultConfiguration", {{"level", "warning"}}},
                     {"properties", {{"tags", {"concurrency", "correctness"}}}}};
  Json rules = Json::array({rule});
  for (const MisuseRule& other : kMisuseRules) {
    rules.push_back({{"id", other.id},
                     {"name", other.name},
                     {"shortDescription", Message(other.description)},
                     {"fullDescription", Message(other.description)},
                     {"defaultConfiguration", {{"level", "warning"}}},
                     {"properties", {{"tags", {"concurrency", "correctness"}}}}});
  }
  const Json driver = {{"name", "Redflag"}, {"version", version}, {"semanticVersion", version}, {"rules", rules}};
  const Json base = root.folder().empty() ? Json{{"description", Message("The folder of the sources")}}
                                          : Json{{"uri", "file://" + EncodePath(root.folder())}};
  const Json run = {{"tool", {{"driver", driver}}}, {"originalUriBaseIds", {{kRootName, base}}}};
  std::string text = fmt::format("{{\"$schema\": \"{}\",\n\"version\": \"2.1.0\",\n\"runs\": [", kSchema);
  text += run.dump(1, ' ', false, Json::error_handler_t::replace);
  text.resize(text.rfind('\n'));  // without the brace that ends the run
  text += ",\n \"results\": [";
  const SarifRenderer renderer(root);
  const char* before = "\n";
  for (const RaceReport& report : reports) {
    text += before + renderer.Result(report).dump(-1, ' ', false, Json::error_handler_t::replace);
    before = ",\n";
  }
  for (const MisuseReport& misuse : misuses) {
    text += before + renderer.Result(misuse).dump(-1, ' ', false, Json::error_handler_t::replace);
    before = ",\n";
  }
  return text + "\n]}]}\n";
}

}  // namespace redflag
