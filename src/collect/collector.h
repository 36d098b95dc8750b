// The host side of a running program: takes its messages one by one and prints a report for each race that is new.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "collect/report_builder.h"
#include "collect/triage.h"
#include "collect/wire_reader.h"
#include "report/text_form.h"

namespace redflag {

// Where text goes. Whether it may be coloured is known only when that place has been opened.
class TextOutput {
 public:
  using Render = std::function<std::string(Colour)>;

  virtual ~TextOutput() = default;
  virtual void Print(const Render& render) = 0;
};

class Collector {
 public:
  struct Options {
    std::string detector;                          // for reports; may be empty
    Claim claim = Claim::kUnordered;               // of the detector
    uint32_t pid = 0;                              // until the program says more of itself
    std::function<void(const std::string&)> json;  // takes each line of JSON; may be empty
    TextForm form = TextForm::kShort;              // of the text
    bool names_ancestors = false;                  // of threads
  };

  Collector(Options options, TextOutput& output)
      : options_(std::move(options)), output_(output), builder_(options_.detector, options_.claim), triage_(builder_) {
    builder_.OnProcess({.pid = options_.pid, .start_time = 0, .command = "?"});
    if (options_.names_ancestors) builder_.NameAncestors();
  }

  // One message. A report has been written when this returns, or is held back for what may become known of its variable: until the
  // program says so, or WriteDue() finds that it is time.
  // `position`: where it stood, for held_since().
  void Consume(std::span<const std::byte> message, uint64_t position = 0);
  using Clock = std::chrono::steady_clock;
  void WriteDue(Clock::time_point now);
  // When that should be asked again; nothing: no report is held back.
  std::optional<Clock::time_point> due() const;

  // Where the first message stood whose report is held back; nothing: there is none.
  std::optional<uint64_t> held_since() const;

  // There are no more. `dropped`: messages that the program could not send.
  void Finish(uint64_t dropped);

  // A sentence of our own to the user.
  void Say(const std::string& text);

  // Did the program say that it ends?
  bool ended() const { return ended_; }
  uint64_t races() const { return triage_.groups().size(); }
  uint64_t repeated() const { return triage_.repeated(); }
  // Races that the program told and nobody wants to hear of, repetitions included.
  uint64_t suppressed() const { return triage_.suppressed() + suppressed_misuses_; }

 private:
  void On(ProcessMessage& process) { builder_.OnProcess(std::move(process)); }
  void On(const ModuleMessage& module) { builder_.OnModule(module); }
  void On(ThreadMessage& thread) { builder_.OnThread(std::move(thread)); }
  void On(const RaceMessage& race);
  void On(const CountersMessage& counters) { counters_ = counters.counters; }
  void On(const NoteMessage& note);
  void On(const EndMessage&) {
    WriteAll();
    ended_ = true;
  }
  void On(const FlushMessage&) { WriteAll(); }
  void On(const MisuseMessage& misuse);
  void On(const WatchedMessage& watched);
  void On(const DetectorMessage&) {}
  void On(const RepeatsMessage& repeats) { triage_.Repeat(repeats.sequence, repeats.count); }
  void On(const SuppressionsMessage& suppressions);
  void On(ToleratedMessage& tolerated) { builder_.OnTolerated(std::move(tolerated)); }
  void On(TagMessage& tag) { builder_.OnTag(std::move(tag)); }

  // A report that is not written yet.
  struct Held {
    uint64_t position;
    uint64_t sequence;
    RaceReport report;
    Clock::time_point due;
  };
  void Write(const RaceReport& report);
  void WriteAll() { WriteDue(Clock::time_point::max()); }

  Options options_;
  TextOutput& output_;
  ReportBuilder builder_;
  Triage triage_;
  SourceLines sources_;
  std::deque<Held> held_;  // in the order of their numbers
  uint64_t position_ = 0;  // of the message in hand
  wire::Counters counters_{};
  bool ended_ = false;
  uint64_t unreadable_ = 0;
  uint64_t misuses_ = 0;
  uint64_t suppressed_misuses_ = 0;
};

}  // namespace redflag
