#include "report/json.h"

#include <fmt/format.h>

namespace redflag {
namespace {

using Json = nlohmann::ordered_json;

Json FrameJson(const Frame& frame) {
  Json json = {{"file", frame.file}, {"line", frame.line}};
  if (frame.column != 0) json["column"] = frame.column;
  if (!frame.function.empty()) json["function"] = frame.function;
  if (!frame.module.empty()) json["module"] = frame.module;
  if (frame.offset != 0) json["offset"] = fmt::format("{:#x}", frame.offset);
  if (frame.inlined) json["inlined"] = true;
  return json;
}

Json StackJson(const std::vector<Frame>& stack) {
  Json json = Json::array();
  for (const Frame& frame : stack) json.push_back(FrameJson(frame));
  return json;
}

const char* OriginName(AccessOrigin origin) {
  switch (origin) {
    case AccessOrigin::kProgram:
      return "program";
    case AccessOrigin::kTransaction:
      return "transaction";
    case AccessOrigin::kAlloc:
      return "alloc";
    case AccessOrigin::kFree:
      return "free";
  }
  return "unknown";
}

Json SiteJson(const AccessSite& site) {
  Json locks = Json::array();
  for (const HeldLockInfo& lock : site.locks) {
    locks.push_back({{"name", lock.name},
                     {"mode", lock.mode == LockMode::kShared ? "shared" : "exclusive"},
                     {"taken_at", StackJson(lock.taken_at)}});
  }
  Json json = {{"thread", site.thread},
               {"write", IsWrite(site.kind)},
               {"atomic", IsAtomic(site.kind)},
               {"origin", OriginName(site.origin)},
               {"address", fmt::format("{:#x}", Raw(site.addr))},
               {"size", site.size},
               {"stack", StackJson(site.stack)},
               {"locks", locks}};
  if (!site.locks_known) json["locks_known"] = false;
  if (site.stack_truncated) json["stack_truncated"] = true;
  if (site.vptr) json["vptr"] = true;
  if (site.ordered) json["ordered"] = true;
  if (site.bit_field) json["bit_field"] = true;
  if (site.descriptor) json["descriptor"] = true;
  if (site.value) json["value"] = fmt::format("{:#x}", *site.value);
  return json;
}

const char* PlaceName(RacyBlock::Place place) {
  switch (place) {
    case RacyBlock::Place::kHeap:
      return "heap";
    case RacyBlock::Place::kStack:
      return "stack";
    case RacyBlock::Place::kThreadLocal:
      return "thread-local";
    case RacyBlock::Place::kGlobal:
      return "global";
    case RacyBlock::Place::kMapped:
      return "mapped";
    case RacyBlock::Place::kDescriptor:
      return "descriptor";
  }
  return "unknown";
}

Json BlockJson(const RacyBlock& block) {
  Json json = {{"place", PlaceName(block.place)}};
  if (block.begin != Addr{}) json["address"] = fmt::format("{:#x}", Raw(block.begin));
  if (block.size != 0) json["size"] = block.size;
  if (!block.thread.empty()) json["thread"] = block.thread;
  if (block.freed) json["freed"] = true;
  if (!block.allocated_at.empty()) json["allocated_at"] = StackJson(block.allocated_at);
  if (!block.module.empty()) json["module"] = block.module;
  if (block.module_offset != 0) json["offset"] = fmt::format("{:#x}", block.module_offset);
  if (!block.function.empty()) json["function"] = block.function;
  if (!block.declared_at.empty()) json["declared_at"] = StackJson(block.declared_at);
  if (block.parameter) json["parameter"] = true;
  return json;
}

Json JudgementJson(const Judgement& judgement) {
  Json json = {{"rank", RankName(judgement.rank)}};
  if (!judgement.pattern.empty()) json["pattern"] = judgement.pattern;
  if (!judgement.suggestion.empty()) json["suggestion"] = judgement.suggestion;
  if (!judgement.reasons.empty()) json["reasons"] = judgement.reasons;
  return json;
}

}  // namespace

Json ToJson(const RaceReport& report) {
  Json earlier = Json::array();
  for (const AccessSite& site : report.earlier) earlier.push_back(SiteJson(site));
  Json threads = Json::array();
  for (const ThreadInfo& thread : report.threads) {
    Json json = {{"name", thread.name}};
    if (!thread.title.empty()) json["title"] = thread.title;
    if (!thread.creator.empty()) json["creator"] = thread.creator;
    json["created_at"] = StackJson(thread.created_at);
    if (thread.os_id != 0) json["os_id"] = thread.os_id;
    if (thread.finished) json["finished"] = true;
    threads.push_back(json);
  }
  Json json = {{"kind", "data-race"},
               {"detector", report.detector},
               {"variable", report.variable},
               {"offset", report.offset},
               {"address", fmt::format("{:#x}", Raw(report.addr))},
               {"size", report.size},
               {"access", SiteJson(report.access)},
               {"earlier", earlier},
               {"earlier_omitted", report.earlier_omitted},
               {"threads", threads},
               {"why", report.why}};
  if (report.pid == 0) {
    json["trace"] = {{"file", report.trace}, {"line", report.trace_line}, {"event", report.event}};
  } else {
    json["process"] = {{"pid", report.pid}, {"command", report.command}};
  }
  if (!report.evidence.empty()) json["evidence"] = report.evidence;
  if (report.block) json["block"] = BlockJson(*report.block);
  if (!report.notes.empty()) json["notes"] = report.notes;
  if (!report.fingerprint.empty()) json["fingerprint"] = report.fingerprint;
  if (report.judgement) json["judgement"] = JudgementJson(*report.judgement);
  if (report.repeated != 0) json["repeated"] = report.repeated;
  if (!report.confirmed_by.empty()) json["confirmed_by"] = report.confirmed_by;
  return json;
}

}  // namespace redflag
