#include "report/json.h"

#include <fmt/format.h>

namespace redflag {
namespace {

using Json = nlohmann::ordered_json;

Json FrameJson(const Frame& frame) {
  Json json = {{"file", frame.file}, {"line", frame.line}};
  if (frame.column != 0) json["column"] = frame.column;
  if (!frame.function.empty()) json["function"] = frame.function;
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
  return {{"thread", site.thread},
          {"write", IsWrite(site.kind)},
          {"atomic", IsAtomic(site.kind)},
          {"origin", OriginName(site.origin)},
          {"address", fmt::format("{:#x}", Raw(site.addr))},
          {"size", site.size},
          {"stack", StackJson(site.stack)},
          {"locks", locks}};
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
    threads.push_back(json);
  }
  return {{"kind", "data-race"},
          {"detector", report.detector},
          {"variable", report.variable},
          {"offset", report.offset},
          {"address", fmt::format("{:#x}", Raw(report.addr))},
          {"size", report.size},
          {"access", SiteJson(report.access)},
          {"earlier", earlier},
          {"earlier_omitted", report.earlier_omitted},
          {"threads", threads},
          {"why", report.why},
          {"trace", {{"file", report.trace}, {"line", report.trace_line}, {"event", report.event}}}};
}

}  // namespace redflag
