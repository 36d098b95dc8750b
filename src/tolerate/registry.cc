#include "tolerate/registry.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/flags.h"
#include "tolerate/log.h"
#include "tolerate/watcher.h"

namespace redflag::tolerate {
namespace {

bool Matches(std::string_view pattern, std::string_view text) {
  size_t star = std::string_view::npos;
  size_t after = 0;  // where to go on in the text if what follows the star does not fit
  size_t p = 0;
  size_t t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// The runtime reads the same variable, and complains itself.
void Complain(const char* word, const char* nearest) {
  if (__redflag_tolerated != nullptr) return;
  Print(std::string("redflag: unknown option or bad value in REDFLAG_OPTIONS: ") + word +
        (nearest == nullptr ? "" : std::string(" (did you mean ") + nearest + "?)") + "\n");
}

}  // namespace

Selection Selection::Parse(std::string_view text) {
  Selection selection;
  while (!text.empty()) {
    const size_t end = text.find(';');
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (word == "testing") {
      selection.told = mode::testing;
    } else if (word == "deployment") {
      selection.told = mode::deployment;
    } else if (word == "off") {
      selection.told = mode::off;
    } else if (!word.empty()) {
      selection.names.emplace_back(word);
    }
  }
  return selection;
}

mode Selection::ModeOf(std::string_view title) const {
  if (names.empty() || told == mode::off) return told;
  for (const std::string& name : names) {
    if (Matches(name, title)) return told;
  }
  return mode::off;
}

// Never destroyed: sections are entered while the process ends. By pthread_once, which race detectors know: this library is not instrumented.
Registry& Registry::Get() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static Registry* only;
  pthread_once(&once, [] { only = new Registry; });
  return *only;
}

Registry::Registry() {
  rt::Flags flags;
  rt::ParseFlags(std::getenv("REDFLAG_OPTIONS"), flags, Complain);
  selection_ = Selection::Parse(flags.tolerate.text);
  log_path_ = flags.tolerate_log.text;
}

mode Registry::ModeOf(std::string_view title) {
  const std::lock_guard guard(lock_);
  return selection_.ModeOf(title);
}

void Registry::Set(section& section) {
  const mode told = selection_.ModeOf(section.title());
  section.choice_.store(told == mode::off       ? section::kNotChosen
                        : told == mode::testing ? section::kTesting
                                                : section::kChosen,
                        std::memory_order_relaxed);
}

bool Registry::Choose(section& section) {
  const std::lock_guard guard(lock_);
  if (!section.is_listed_) {
    section.is_listed_ = true;
    section.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &section;
    first_ = &section;
    Set(section);
  }
  return section.is_chosen();
}

void Registry::Remove(section& section) {
  const std::lock_guard guard(lock_);
  if (!section.is_listed_) return;
  if (section.next_ != nullptr) section.next_->previous_ = section.previous_;
  (section.previous_ != nullptr ? section.previous_->next_ : first_) = section.next_;
  section.is_listed_ = false;
}

void Registry::Configure(std::string_view text) {
  const std::lock_guard guard(lock_);
  selection_ = Selection::Parse(text);
  for (section* at = first_; at != nullptr; at = at->next_) Set(*at);
}

void configure(const char* tolerate) { Registry::Get().Configure(tolerate); }

// ---- A section ----

section::~section() {
  if (!is_listed_) return;  // it was never entered, and nobody else can see it
  const bool was_testing = is_testing();
  Registry::Get().Remove(*this);
  if (was_testing) PrintSummary(title(), counted());
}

std::string section::title() const {
  if (name_ != nullptr && *name_ != '\0') return name_;
  return PlaceTitle(file_, line_);
}

bool section::choose() noexcept { return Registry::Get().Choose(*this); }

}  // namespace redflag::tolerate
