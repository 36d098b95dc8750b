// Reports for the tests of what is made of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/race_report.h"

namespace redflag {

inline Frame FrameAt(std::string function, std::string file, uint32_t line, uint32_t column = 0) {
  return Frame{.function = std::move(function), .file = std::move(file), .line = line, .column = column};
}

inline AccessSite SiteOf(std::string thread, AccessKind kind, std::vector<Frame> stack) {
  return AccessSite{.thread = std::move(thread),
                    .kind = kind,
                    .origin = AccessOrigin::kProgram,
                    .addr = Addr{0x7f0000001000},
                    .size = 8,
                    .stack = std::move(stack),
                    .locks = {}};
}

// A race of a running program with something in every field: T1 writes under a lock, main has read without.
inline RaceReport FullReport() {
  RaceReport report;
  report.detector = "hb";
  report.variable = "Cache::size";
  report.offset = 8;
  report.addr = Addr{0x7f0000001000};
  report.size = 8;
  report.access = SiteOf("T1", AccessKind::kWrite,
                         {FrameAt("Cache::Add(int)", "/src/app/cache.cc", 13, 5),
                          FrameAt("std::thread::_M_run()", "/usr/include/c++/12/thread", 210, 7)});
  report.access.stack[0].module = "/src/app/build/app";
  report.access.stack[0].offset = 0x1234;
  report.access.stack[1].inlined = true;
  report.access.locks = {{.name = "Cache::mu",
                          .mode = LockMode::kExclusive,
                          .taken_at = {FrameAt("Cache::Add(int)", "/src/app/cache.cc", 12, 3)}}};
  report.access.value = 7;
  report.earlier = {SiteOf("main", AccessKind::kAtomicRead, {FrameAt("main", "/src/app/main file.cc", 40, 9)})};
  report.earlier[0].locks_known = false;
  report.earlier[0].stack_truncated = true;
  report.earlier_omitted = 2;
  report.threads = {{.name = "T1",
                     .title = "filler",
                     .creator = "main",
                     .created_at = {FrameAt("main", "/src/app/main file.cc", 30, 2)},
                     .os_id = 4711,
                     .finished = true},
                    {.name = "main", .title = "", .creator = "", .created_at = {}, .os_id = 4710}};
  report.why = "nothing orders them";
  report.evidence = {"3 of 4 accesses hold Cache::mu"};
  report.confirmed_by = {"hybrid"};
  report.block = RacyBlock{.place = RacyBlock::Place::kHeap,
                           .begin = Addr{0x7f0000000ff8},
                           .size = 64,
                           .thread = "main",
                           .freed = true,
                           .allocated_at = {FrameAt("main", "/src/app/main file.cc", 29, 1)},
                           .module = "",
                           .module_offset = 0};
  report.command = "/src/app/build/app";
  report.pid = 99;
  report.notes = {"the file has changed"};
  report.fingerprint = "0123abcd";
  report.judgement = Judgement{.rank = Judgement::Rank::kHigh,
                               .pattern = "lock missing on one side",
                               .suggestion = "hold Cache::mu in main too",
                               .reasons = {"precise detector", "write"}};
  report.repeated = 3;
  return report;
}

}  // namespace redflag
