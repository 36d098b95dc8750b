// What a tolerant section is to the library libredflag_tolerate: a name, whether it was chosen, counters, and what is told of a detection.
// Nothing here knows how memory is copied (tolerate/engine.hpp) or locked (tolerate/mutex.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)  // of the library, and the same object in all parts of a program
namespace redflag {

// What to do when a section and somebody outside of it have both changed a word. All of them count it; docs/tolerate.md says which log it when.
enum class on_conflict : uint8_t {
  report,      // report it; the section's value is published, so that no update under the lock is lost
  local_wins,  // the section's value is published
  other_wins,  // the other's value stays; the section's update of this variable is dropped
  abort,       // report it, and abort()
  throw_error,  // report it, drop the section's update, and throw redflag::data_race_error when the lock has been given up
  merge,        // a function of the program decides: redflag::merge
};

namespace tolerate {

// How much is told. deployment: counters, and a log that is limited in rate. testing: every detection, tolerated ones too, with values and stack;
// accesses from outside are counted.
enum class mode : uint8_t { off, deployment, testing };

enum class outcome : uint8_t {
  tolerated,    // nothing is wrong: the section saw one value throughout, and comes before the other's write
  published,    // conflict: the section's value was published over the other's
  dropped,      // conflict: the other's value stays
  merged,       // conflict: settled by the program's function
  refused,      // conflict: the section's update was dropped, and data_race_error is thrown
  fatal,        // conflict: the program is aborted
  inconsistent  // the words that a section began with kept changing: they may not be of one moment
};

// One detection. Values are those of one word, as bits.
struct detection {
  const char* section;  // never null
  const char* file;     // where the mutex was made; may be null
  int line;
  const void* address;
  uint32_t bytes;  // of the word
  uint64_t original, local, global;
  on_conflict policy;
  outcome result;
};

struct counters {
  uint64_t outside_reads = 0;  // in testing: accesses from outside of sections
  uint64_t outside_writes = 0;
  uint64_t inconsistent = 0;  // beginnings that found no moment of rest
  uint64_t tolerated = 0;     // in testing: words that somebody changed and the section did not
  uint64_t conflicts = 0;     // variables in conflict
  uint64_t published = 0;     // words
  uint64_t sections = 0;      // that were entered; recursive ones once, shared ones not
};

// Of those, the ones that an epilog counts, under the lock.
struct tallies {
  uint64_t inconsistent = 0;
  uint64_t tolerated = 0;
  uint64_t conflicts = 0;
  uint64_t published = 0;
};

// The part of a tolerant mutex that the library knows. A section is chosen when it is entered for the first time, by its name.
class section {
 public:
  constexpr section(const char* name, const char* file, int line, bool is_shared = false) noexcept
      : name_(name), file_(file), line_(line), is_shared_(is_shared) {}
  ~section();
  section(const section&) = delete;
  section& operator=(const section&) = delete;

  // Its name, or else the place where the mutex was made, as "file.cc:12".
  std::string title() const;
  const char* name() const noexcept { return name_; }
  const char* file() const noexcept { return file_; }
  int line() const noexcept { return line_; }

  // What was counted so far. Exact when nobody is in the section.
  tolerate::counters counted() const noexcept {
    return {.outside_reads = outside_reads_.load(std::memory_order_relaxed),
            .outside_writes = outside_writes_.load(std::memory_order_relaxed),
            .inconsistent = tallies_.inconsistent + inconsistent_reads_.load(std::memory_order_relaxed),
            .tolerated = tallies_.tolerated,
            .conflicts = tallies_.conflicts,
            .published = tallies_.published,
            .sections = entered_};
  }

 protected:
  enum choice : uint8_t { kUnknown, kChosen, kTesting, kNotChosen };
  // The one branch that a section costs that is not chosen.
  bool is_chosen() const noexcept { return choice_.load(std::memory_order_relaxed) != kNotChosen; }
  bool is_testing() const noexcept { return choice_.load(std::memory_order_relaxed) == kTesting; }
  // It is known that the section is to be tolerated.
  bool is_active() const noexcept {
    return static_cast<uint8_t>(choice_.load(std::memory_order_relaxed) - kChosen) <= kTesting - kChosen;
  }
  bool is_known() const noexcept { return choice_.load(std::memory_order_relaxed) != kUnknown; }
  // Looks the name up; from now on the choice is known.
  bool choose() noexcept;

  // What every section looks at comes last, and begins a cache line that the lock ends (tolerate/mutex.hpp).
 private:
  friend class Registry;
  const char* name_;
  const char* file_;
  section* next_ = nullptr;
  section* previous_ = nullptr;
  int line_;
  bool is_listed_ = false;  // the registry knows it

 protected:
  const bool is_shared_;
  std::atomic<uint64_t> outside_reads_{0}, outside_writes_{0}, inconsistent_reads_{0};
  tallies tallies_;
  size_t copies_bytes_ = 0;  // of what a shared section copies
  int exceptions_ = 0;       // in flight when the section was entered
  uint64_t reserved_ = 0;    // up to the cache line
  uint64_t entered_ = 0;

 private:
  std::atomic<uint8_t> choice_{kUnknown};
};

// Replaces REDFLAG_OPTIONS: the value of `tolerate`, from now on and for all sections. Sections that are entered stay as they are until they end.
void configure(const char* tolerate);

// Called for every detection that is told in place of the log; null: the log again. Under the lock of the section: it must not take it.
void set_handler(void (*handler)(const detection&));

// ---- Between the headers and the library ----

// Tells a detection: to the handler, to the runtime of Redflag if it watches this process, or to the log.
void tell(const detection& found, bool is_testing);

// "section 'cache': written by both ...".
std::string describe(const detection& found);

// Bad use: says so, and aborts. Never for a lock that others hold while the process ends: then it says so and comes back.
[[noreturn]] void fail(const section& where, const char* what);
void fail_unless_exiting(const section& where, const char* what);

// The thread, as the address of something that is its own.
inline const void* me() noexcept {
  static constinit thread_local char token = 0;
  return &token;
}

// Copies that a thread has of what a shared section protects.
struct reader {
  const void* guard;
  uint32_t depth;
  uint32_t capacity;
  unsigned char* copies;
  reader* next;
};
reader* find_reader(const void* guard) noexcept;
reader* add_reader(const void* guard, size_t bytes) noexcept;
void remove_reader(const void* guard) noexcept;

}  // namespace tolerate
}  // namespace redflag
#pragma GCC visibility pop
