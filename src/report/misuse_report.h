// What is wrong besides races: a mutex that is used as none may be, mutexes that are taken in opposite orders, a thread that nobody waits for, a
// signal handler that spoils errno. In names and words, with its renderers: one place in the code, and as far as they are known where the
// mutex was taken and made.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/race_report.h"
#include "report/text.h"
#include "report/text_form.h"

namespace redflag {

// One thread of a deadlock that can happen: it holds one lock, and wants the one that the next of them holds.
struct WaiterInfo {
  std::string thread;
  HeldLockInfo held;    // taken_at is empty if nobody wants to hear of it
  HeldLockInfo wanted;  // taken_at: where it wants it
};

struct MisuseReport {
  std::string title;     // "destroy of a locked mutex"
  std::string category;  // of suppressions: mutex, thread, signal, deadlock
  std::string thread;    // that did it
  std::vector<Frame> where;
  std::string mutex;  // its name or address; empty: it is about none
  Addr addr{};
  std::vector<Frame> taken_at;  // the mutex; of a thread that ignores accesses, where that began, too
  std::vector<Frame> made_at;
  std::string on_stack_of;          // whose stack the mutex is on; empty: it is elsewhere
  uint32_t number = 0;              // of the signal; of leaked threads, how many more like this one there are
  std::vector<WaiterInfo> cycle;    // of a deadlock; the last one is the one that was seen last
  std::vector<ThreadInfo> threads;  // that are named, the leaked one among them
  std::string command;
  uint32_t pid = 0;
};

// As text in this form: ours, or ThreadSanitizer's.
std::string RenderMisuse(TextForm form, const MisuseReport& report, Colour colour);

// A line of JSON: {"kind": "misuse", ...}; and back (report/json_reader.h).
nlohmann::ordered_json MisuseToJson(const MisuseReport& report);

// "lock-order-inversion (potential deadlock): a, b"; and the other places that belong to it, each with what happened there.
std::string Headline(const MisuseReport& report);
struct MisuseNote {
  std::vector<Frame> stack;
  std::string text;
};
std::vector<MisuseNote> NotesOf(const MisuseReport& report);

// Where it happened; of a thread that nobody waits for, where that was created.
const std::vector<Frame>& PlaceOfMisuse(const MisuseReport& report);

}  // namespace redflag
