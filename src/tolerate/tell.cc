// From a detection or a mistake to whoever is to know of it.
#include <atomic>
#include <cstdlib>
#include <redflag/tolerate/section.hpp>
#include <string>

#include "tolerate/log.h"
#include "tolerate/stack.h"
#include "tolerate/watcher.h"

namespace redflag::tolerate {
namespace {

std::atomic<void (*)(const detection&)> handler{nullptr};

// What the program has said how to settle is counted, and told in testing only.
bool IsSettled(const detection& found) {
  return found.result == outcome::merged || found.result == outcome::dropped ||
         (found.result == outcome::published && found.policy == on_conflict::local_wins);
}

bool TellRuntime(const detection& found, uint64_t place) {
  if (__redflag_tolerated == nullptr) return false;
  const std::string words = describe(found);
  const ToleratedRace race{.address = reinterpret_cast<uint64_t>(found.address),
                           .bytes = found.bytes,
                           .writes = found.local != found.original ? 1u : 0u,
                           .local = found.local,
                           .global = found.global,
                           .place = place,
                           .words = words.c_str()};
  return __redflag_tolerated(&race) != 0;
}

std::string Mistake(const section& where, const char* what) {
  std::string text = "redflag: tolerate: section '" + where.title() + "'";
  if (where.name() != nullptr && where.file() != nullptr) text += " (" + PlaceTitle(where.file(), where.line()) + ")";
  return text + ": " + what + "\n";
}

}  // namespace

void set_handler(void (*to)(const detection&)) { handler.store(to); }

void tell(const detection& found, bool is_testing) {
  if (auto* const to = handler.load()) return to(found);
  if (!is_testing && IsSettled(found)) return;
  if (TellRuntime(found, reinterpret_cast<uint64_t>(__builtin_return_address(0)))) return;
  Log(found, !is_testing && found.result != outcome::fatal);
}

void fail(const section& where, const char* what) {
  Print(Mistake(where, what));
  std::abort();
}

void fail_unless_exiting(const section& where, const char* what) {
  Print(Mistake(where, what));
  if (!IsExiting()) std::abort();
}

}  // namespace redflag::tolerate
