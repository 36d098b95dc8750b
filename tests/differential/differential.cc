// The differential suite: random traces, each seen by every detector and by what it is held against (subject.h).
//
//   differential [--traces N] [--seed S] [--detectors NAME,NAME] [--jobs J] [--no-shrink] [FILE...]
//
// FILEs are traces in text, compared before the random ones. Exit code 0 if all agree. A disagreement is shrunk to a smallest trace that still shows it and printed as
// text, ready to become a file in tests/traces/.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "tests/differential/generator.h"
#include "tests/differential/oracle.h"
#include "tests/differential/subject.h"
#include "trace/checker.h"
#include "trace/text_reader.h"
#include "trace/text_writer.h"

namespace redflag {
namespace {

// Every eighth trace comes from each of these, so that rare features are dense somewhere.
GeneratorOptions OptionsFor(uint64_t seed) {
  GeneratorOptions options;
  switch (seed % 8) {
    case 1:
      options.features = kAtomics | kFences;
      break;
    case 2:
      options.features = kAtomics | kFences | kMixedSizes;
      break;
    case 3:
      options.features = kRwlocks | kBarriers | kSignals | kSemaphores;
      break;
    case 4:
      options.features = kAllocFree | kTransactions | kMixedSizes;
      break;
    case 5:
      options.min_threads = 6;
      options.max_variables = 5;
      break;
    case 6:
      options.min_events = 120;
      options.max_events = 250;
      break;
    default:
      break;
  }
  return options;
}

bool IsWellFormed(const Trace& trace) {
  TraceChecker checker(&trace);
  for (const Tid thread : trace.initial_threads) checker.AddInitialThread(thread);
  for (const Event& event : trace.events) {
    if (checker.Check(event)) return false;
  }
  return true;
}

// Takes events out, in ever smaller pieces, as long as the detector and the oracle still disagree.
Trace Shrink(Trace trace, Compare compare) {
  for (size_t piece = trace.events.size() / 2; piece > 0; piece /= 2) {
    for (size_t i = 0; i + piece <= trace.events.size();) {
      Trace smaller = trace;
      const auto first = smaller.events.begin() + static_cast<std::ptrdiff_t>(i);
      smaller.events.erase(first, first + static_cast<std::ptrdiff_t>(piece));
      smaller.lines.resize(smaller.events.size());
      for (NamedRange& range : smaller.ranges) range.first_event = 0;
      if (IsWellFormed(smaller) && compare(smaller)) {
        trace = std::move(smaller);
      } else {
        ++i;
      }
    }
  }
  return trace;
}

struct Tally {
  std::atomic<uint64_t> traces{0};
  std::atomic<uint64_t> events{0};
  std::atomic<uint64_t> racy{0};
  std::atomic<uint64_t> malformed{0};
  std::atomic<uint64_t> disagreements{0};
  std::mutex printing;
  bool shrink = true;
};

void RunRange(uint64_t first, uint64_t last, const std::vector<Subject>& subjects, Tally& tally) {
  for (uint64_t seed = first; seed < last && tally.disagreements < 5; ++seed) {
    const Trace trace = Generate(seed, OptionsFor(seed));
    tally.traces += 1;
    tally.events += trace.events.size();
    if (seed % 16 == 0 && !IsWellFormed(trace)) tally.malformed += 1;
    if (!oracle::FindRaces(trace).empty()) tally.racy += 1;
    for (const Subject& subject : subjects) {
      if (!subject.compare(trace)) continue;
      tally.disagreements += 1;
      const Trace small = tally.shrink ? Shrink(trace, subject.compare) : trace;
      const std::lock_guard guard(tally.printing);
      std::cout << "DISAGREEMENT: " << subject.name << ", seed " << seed << ": " << *subject.compare(small) << "\n"
                << TextOf(small) << "\n";
    }
  }
}

// False if it can't be read.
bool RunFile(const std::string& path, const std::vector<Subject>& subjects, Tally& tally) {
  std::ifstream in(path);
  const TraceResult read = ReadTextTrace(in, path);
  const auto* trace = std::get_if<Trace>(&read);
  if (trace == nullptr) return false;
  for (const Subject& subject : subjects) {
    const auto difference = subject.compare(*trace);
    if (!difference) continue;
    tally.disagreements += 1;
    std::cout << "DISAGREEMENT: " << subject.name << ", " << path << ": " << *difference << "\n";
  }
  return true;
}

int Main(int argc, char** argv) {
  uint64_t traces = 20'000;
  uint64_t seed = 1;
  uint64_t jobs = 1;
  std::vector<Subject> subjects = Subjects();
  Tally tally;
  bool understood = true;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--no-shrink") {
      tally.shrink = false;
      continue;
    }
    if (!name.starts_with("-")) {
      files.emplace_back(name);
      continue;
    }
    const char* value = ++i < argc ? argv[i] : "";
    if (name == "--traces") {
      traces = std::strtoull(value, nullptr, 10);
    } else if (name == "--seed") {
      seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--jobs") {
      jobs = std::strtoull(value, nullptr, 10);
    } else if (name == "--detectors") {
      const std::string wanted = "," + std::string(value) + ",";
      std::erase_if(subjects, [&](const Subject& subject) {
        return wanted.find("," + std::string(subject.name) + ",") == std::string::npos;
      });
    } else {
      understood = false;
    }
  }
  if (!understood || subjects.empty() || traces == 0 || jobs == 0) {
    std::cerr
        << "usage: differential [--traces N] [--seed S] [--detectors NAME,NAME] [--jobs J] [--no-shrink] [FILE...]\n";
    return 2;
  }
  for (const std::string& file : files) {
    if (RunFile(file, subjects, tally)) continue;
    std::cerr << "differential: cannot read " << file << "\n";
    return 2;
  }

  std::vector<std::thread> threads;
  for (uint64_t job = 0; job < jobs; ++job) {
    threads.emplace_back(RunRange, seed + traces * job / jobs, seed + traces * (job + 1) / jobs, std::cref(subjects),
                         std::ref(tally));
  }
  for (std::thread& thread : threads) thread.join();

  const double racy = 100.0 * static_cast<double>(tally.racy) / static_cast<double>(tally.traces);
  std::cout << tally.traces << " traces from seed " << seed << ", " << tally.events << " events, " << racy
            << " % racy, " << tally.malformed << " malformed, " << tally.disagreements << " disagreements\n";
  if (racy < 30 || racy > 70) std::cout << "the share of racy traces is outside 30-70 %\n";
  return tally.disagreements == 0 && tally.malformed == 0 && racy >= 30 && racy <= 70 ? 0 : 1;
}

}  // namespace
}  // namespace redflag

int main(int argc, char** argv) { return redflag::Main(argc, argv); }
