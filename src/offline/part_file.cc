#include "offline/part_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "trace/replacement.h"

namespace redflag {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "redflag-part-1";

// ---- Out ----

Json Of(const AccessRecord& access) {
  return {Raw(access.thread), Raw(access.context), Raw(access.locks), Raw(access.bytes),
          Raw(access.kind),   Raw(access.origin),  access.label};
}

Json Of(const RaceRecord& race) {
  Json earlier = Json::array();
  for (uint32_t i = 0; i < race.earlier_count; ++i) earlier.push_back(Of(race.earlier[i]));
  return {
      {"granule", Raw(race.granule)}, {"granules", race.granules}, {"event", race.event},         {"part", race.part},
      {"bytes", Raw(race.bytes)},     {"access", Of(race.access)}, {"found", race.earlier_total}, {"earlier", earlier}};
}

Json Of(const RecordedRace& race) {
  Json locks = Json::array();
  for (const auto& held : race.locks) {
    Json each = Json::array();
    for (const RecordedRace::Lock& lock : held) each.push_back({Raw(lock.addr), Raw(lock.mode), Raw(lock.taken_at)});
    locks.push_back(each);
  }
  Json json = {{"addr", Raw(race.addr)}, {"size", race.size}, {"count", race.count}, {"locks", locks}};
  if (race.block) {
    json["block"] = {Raw(race.block->begin), race.block->size, Raw(race.block->thread), Raw(race.block->allocated_at)};
  }
  return json;
}

Json Of(const Verification& verification) {
  Json examples = Json::array();
  for (const Verification::Example& e : verification.examples) {
    examples.push_back({e.event, e.online, Raw(e.thread), Raw(e.granule), Raw(e.bytes), Raw(e.context)});
  }
  return {{"same", verification.same},
          {"only_online", verification.only_online},
          {"only_offline", verification.only_offline},
          {"examples", examples}};
}

Json Of(const Analysis& analysis) {
  Json races = Json::array();
  Json recorded = Json::array();
  Json locksets = Json::array();
  Json rules = Json::array();
  Json contexts = Json::array();
  Json forks = Json::array();
  for (const RaceRecord& race : analysis.races) races.push_back(Of(race));
  for (const RecordedRace& race : analysis.recorded) recorded.push_back(Of(race));
  for (const auto& set : analysis.locksets) {
    Json locks = Json::array();
    for (const HeldLock lock : set) locks.push_back(Raw(lock));
    locksets.push_back(locks);
  }
  for (const RuleCount& rule : analysis.rules) rules.push_back({rule.name, rule.tag, rule.count, rule.is_effort});
  for (const auto& [id, context] : analysis.contexts) contexts.push_back({id, context.place, context.caller});
  for (const auto& [thread, fork] : analysis.forks) {
    forks.push_back({Raw(thread), Raw(fork.creator), Raw(fork.context)});
  }
  return {{"detector", analysis.detector},
          {"events", analysis.events},
          {"memory", analysis.memory},
          {"races_found", analysis.races_found},
          {"rules", rules},
          {"locksets", locksets},
          {"races", races},
          {"recorded", recorded},
          {"contexts", contexts},
          {"forks", forks},
          {"verification", Of(analysis.verification)}};
}

// ---- In: everything that is missing or of another type throws ----

template <class T>
T At(const Json& json, size_t i) {
  return json.at(i).get<T>();
}

AccessRecord AccessIn(const Json& json) {
  return AccessRecord{.thread = Tid{At<uint32_t>(json, 0)},
                      .context = ContextId{At<uint32_t>(json, 1)},
                      .locks = LocksetId{At<uint32_t>(json, 2)},
                      .bytes = ByteMask{At<uint8_t>(json, 3)},
                      .kind = AccessKind{static_cast<uint8_t>(At<uint8_t>(json, 4) & 3)},
                      .origin = AccessOrigin{static_cast<uint8_t>(At<uint8_t>(json, 5) & 3)},
                      .label = At<uint64_t>(json, 6)};
}

RaceRecord RaceIn(const Json& json, size_t locksets) {
  RaceRecord race;
  race.granule = Addr{json.at("granule").get<uint64_t>()};
  race.granules = json.at("granules").get<uint64_t>();
  race.event = json.at("event").get<uint64_t>();
  race.part = json.at("part").get<uint32_t>();
  race.bytes = ByteMask{json.at("bytes").get<uint8_t>()};
  race.access = AccessIn(json.at("access"));
  race.earlier_total = json.at("found").get<uint32_t>();
  const Json& earlier = json.at("earlier");
  if (earlier.size() > RaceRecord::kMaxEarlier) throw std::runtime_error("a race has too many accesses");
  for (const Json& access : earlier) race.earlier[race.earlier_count++] = AccessIn(access);
  bool known = Raw(race.access.locks) < locksets;
  for (uint32_t i = 0; i < race.earlier_count; ++i) known &= Raw(race.earlier[i].locks) < locksets;
  if (!known) throw std::runtime_error("a race names locks that are not there");
  return race;
}

RecordedRace RecordedIn(const Json& json) {
  RecordedRace race;
  race.addr = Addr{json.at("addr").get<uint64_t>()};
  race.size = json.at("size").get<uint64_t>();
  race.count = json.at("count").get<uint64_t>();
  for (const Json& held : json.at("locks")) {
    auto& locks = race.locks.emplace_back();
    for (const Json& lock : held) {
      locks.push_back({.addr = Addr{At<uint64_t>(lock, 0)},
                       .mode = LockMode{static_cast<uint8_t>(At<uint8_t>(lock, 1) & 1)},
                       .taken_at = ContextId{At<uint32_t>(lock, 2)}});
    }
  }
  if (json.contains("block")) {
    const Json& block = json.at("block");
    race.block = RecordedRace::Block{.begin = Addr{At<uint64_t>(block, 0)},
                                     .size = At<uint64_t>(block, 1),
                                     .thread = Tid{At<uint32_t>(block, 2)},
                                     .allocated_at = ContextId{At<uint32_t>(block, 3)}};
  }
  return race;
}

Verification VerificationIn(const Json& json) {
  Verification verification;
  verification.same = json.at("same").get<uint64_t>();
  verification.only_online = json.at("only_online").get<uint64_t>();
  verification.only_offline = json.at("only_offline").get<uint64_t>();
  for (const Json& example : json.at("examples")) {
    verification.examples.push_back({.event = At<uint64_t>(example, 0),
                                     .online = At<bool>(example, 1),
                                     .thread = Tid{At<uint32_t>(example, 2)},
                                     .granule = Addr{At<uint64_t>(example, 3)},
                                     .bytes = ByteMask{At<uint8_t>(example, 4)},
                                     .context = ContextId{At<uint32_t>(example, 5)}});
  }
  return verification;
}

Analysis AnalysisIn(const Json& json) {
  Analysis analysis;
  analysis.detector = json.at("detector").get<std::string>();
  analysis.events = json.at("events").get<uint64_t>();
  analysis.memory = json.at("memory").get<size_t>();
  analysis.races_found = json.at("races_found").get<uint64_t>();
  for (const Json& rule : json.at("rules")) {
    analysis.rules.push_back({.name = At<std::string>(rule, 0),
                              .tag = At<std::string>(rule, 1),
                              .count = At<uint64_t>(rule, 2),
                              .is_effort = At<bool>(rule, 3)});
  }
  for (const Json& set : json.at("locksets")) {
    auto& locks = analysis.locksets.emplace_back();
    for (const Json& lock : set) locks.push_back(HeldLock{lock.get<uint32_t>()});
  }
  for (const Json& race : json.at("races")) analysis.races.push_back(RaceIn(race, analysis.locksets.size()));
  for (const Json& race : json.at("recorded")) analysis.recorded.push_back(RecordedIn(race));
  if (!analysis.recorded.empty() && analysis.recorded.size() != analysis.races.size()) {
    throw std::runtime_error("races are missing");
  }
  for (const Json& context : json.at("contexts")) {
    analysis.contexts.emplace(At<uint32_t>(context, 0),
                              RecordedContext{.place = At<uint64_t>(context, 1), .caller = At<uint32_t>(context, 2)});
  }
  for (const Json& fork : json.at("forks")) {
    analysis.forks.emplace(Tid{At<uint32_t>(fork, 0)}, RecordedFork{.creator = Tid{At<uint32_t>(fork, 1)},
                                                                    .context = ContextId{At<uint32_t>(fork, 2)}});
  }
  analysis.verification = VerificationIn(json.at("verification"));
  return analysis;
}

}  // namespace

std::string WritePart(const Part& part, const std::string& path) {
  const Json json = {{"format", kFormat},
                     {"redflag", part.version},
                     {"trace", part.trace},
                     {"identity", part.identity},
                     {"recorded", part.recorded},
                     {"partial", part.partial},
                     {"shard", part.shard.index + 1},
                     {"shards", part.shard.count},
                     {"analysis", Of(part.analysis)}};
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const auto failed = [&] { return fmt::format("cannot write {}: {}", path, std::strerror(errno)); };
  Replacement replacement(path);
  std::FILE* const file = replacement.fd() < 0 ? nullptr : fdopen(replacement.fd(), "wb");
  if (file == nullptr) return failed();
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed && replacement.Keep() ? std::string() : failed();
}

std::variant<Part, std::string> ReadPart(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fmt::format("cannot read {}: {}", path, std::strerror(errno));
  try {
    const Json json = Json::parse(file);
    if (!json.is_object() || json.value("format", "") != kFormat) {
      return fmt::format("{} is no part of an analysis that this version of redflag can read", path);
    }
    Part part;
    part.version = json.at("redflag").get<std::string>();
    part.trace = json.at("trace").get<std::string>();
    part.identity = json.at("identity").get<std::string>();
    part.recorded = json.at("recorded").get<bool>();
    part.partial = json.at("partial").get<bool>();
    part.shard = {.index = json.at("shard").get<uint32_t>() - 1, .count = json.at("shards").get<uint32_t>()};
    if (part.shard.index >= part.shard.count) throw std::runtime_error("there is no such shard");
    part.analysis = AnalysisIn(json.at("analysis"));
    return part;
  } catch (const std::exception& error) {
    return fmt::format("{} is damaged, or no part of an analysis: {}", path, error.what());
  }
}

std::string SortParts(std::vector<Part>& parts, const std::vector<std::string>& names) {
  const Part& first = parts.front();
  const auto differ = [&](size_t i, const char* what, const auto& mine, const auto& theirs) {
    return fmt::format("{} and {} do not belong together: {} {} and {}", names[0], names[i], what, mine, theirs);
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.version != first.version) return differ(i, "written by versions", first.version, part.version);
    if (part.identity != first.identity) return differ(i, "of different traces,", first.trace, part.trace);
    if (part.analysis.detector != first.analysis.detector) {
      return differ(i, "of detectors", first.analysis.detector, part.analysis.detector);
    }
    if (part.shard.count != first.shard.count)
      return differ(i, "numbers of shards are", first.shard.count, part.shard.count);
    if (part.analysis.events != first.analysis.events) {
      return differ(i, "numbers of events are", first.analysis.events, part.analysis.events);
    }
  }
  std::vector<const std::string*> have(first.shard.count);
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string*& place = have[parts[i].shard.index];
    if (place != nullptr) return fmt::format("{} and {} are both shard {}", *place, names[i], parts[i].shard.index + 1);
    place = &names[i];
  }
  for (size_t i = 0; i < have.size(); ++i) {
    if (have[i] == nullptr) return fmt::format("shard {} of {} is missing", i + 1, have.size());
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.shard.index < b.shard.index; });
  return {};
}

}  // namespace redflag
