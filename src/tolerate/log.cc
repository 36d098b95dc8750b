#include "tolerate/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string_view>
#include <vector>

#include "tolerate/registry.h"
#include "tolerate/stack.h"

namespace redflag::tolerate {
namespace {

std::string Hex(uint64_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value % 16]);
    value /= 16;
  } while (value != 0);
  return "0x" + digits;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (code < 0x20) {
      const char* const digits = "0123456789abcdef";
      quoted += "\\u00";
      quoted += digits[code / 16];
      quoted += digits[code % 16];
    } else {
      quoted += letter;
    }
  }
  return quoted + "\"";
}

const char* WordsFor(outcome result) {
  switch (result) {
    case outcome::tolerated:
      return "tolerated: the section saw one value throughout";
    case outcome::published:
      return "the section's value was published";
    case outcome::dropped:
      return "the other value stays";
    case outcome::merged:
      return "the program's function merges them";
    case outcome::refused:
      return "the section's update was dropped, data_race_error is thrown";
    case outcome::fatal:
      return "the program is aborted";
    case outcome::inconsistent:
      break;
  }
  return "";
}

void WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// A few at once, then one a second.
class Limiter {
 public:
  // How many were left out before this one; -1: this one is left out too.
  int64_t Pass() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::lock_guard guard(lock_);
    if (now.tv_sec != second_) {
      allowance_ = second_ == 0 ? kBurst : 1;
      second_ = now.tv_sec;
    }
    if (allowance_ == 0) {
      ++left_out_;
      return -1;
    }
    --allowance_;
    const int64_t before = left_out_;
    left_out_ = 0;
    return before;
  }

 private:
  static constexpr int kBurst = 5;
  std::mutex lock_;
  time_t second_ = 0;
  int allowance_ = 0;
  int64_t left_out_ = 0;
};

constinit Limiter limiter;

std::string Command() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

std::string ThreadName() {
  const auto id = gettid();
  return id == getpid() ? "main" : "thread " + std::to_string(id);
}

std::string AccessJson(const std::string& thread, bool writes, const detection& found, uint64_t value,
                       const std::string& stack, const std::string& rest) {
  return "{\"thread\":" + Quoted(thread) + ",\"write\":" + (writes ? "true" : "false") +
         ",\"atomic\":false,\"origin\":\"program\",\"address\":" +
         Quoted(Hex(reinterpret_cast<uint64_t>(found.address))) + ",\"size\":" + std::to_string(found.bytes) +
         ",\"stack\":[" + stack + "]" + rest + ",\"value\":" + Quoted(Hex(value)) + "}";
}

// The race as docs/json.md has it: the section's access completes it, the earlier one is somebody's of whom nothing more is known.
void AppendJson(const std::string& path, const detection& found, const std::vector<CodePlace>& places) {
  std::string stack;
  for (const CodePlace& place : places) {
    if (!stack.empty()) stack += ',';
    stack += "{\"file\":\"\",\"line\":0,";
    if (!place.module.empty()) stack += "\"module\":" + Quoted(place.module) + ",";
    stack += "\"offset\":" + Quoted(Hex(place.offset)) + "}";
  }
  const std::string thread = ThreadName();
  const bool writes = found.local != found.original;
  const std::string line =
      "{\"kind\":\"data-race\",\"detector\":\"tolerate\",\"variable\":\"\",\"offset\":0,\"address\":" +
      Quoted(Hex(reinterpret_cast<uint64_t>(found.address))) + ",\"size\":" + std::to_string(found.bytes) +
      ",\"access\":" +
      AccessJson(thread, writes, found, found.local, stack,
                 ",\"locks\":[{\"name\":" + Quoted(TitleOf(found)) + ",\"mode\":\"exclusive\",\"taken_at\":[]}]") +
      ",\"earlier\":[" + AccessJson("?", true, found, found.global, "", ",\"locks\":[],\"locks_known\":false") +
      "],\"earlier_omitted\":0,\"threads\":[],\"why\":" + Quoted(describe(found)) +
      ",\"process\":{\"pid\":" + std::to_string(getpid()) + ",\"command\":" + Quoted(Command()) + "}}\n";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    static std::atomic<bool> is_said{false};
    if (!is_said.exchange(true)) Print("redflag: cannot write to " + path + ": " + std::strerror(errno) + "\n");
    return;
  }
  WriteAll(file, line);
  close(file);
}

}  // namespace

void Print(const std::string& text) { WriteAll(STDERR_FILENO, text); }

std::string PlaceTitle(const char* file, int line) {
  if (file == nullptr) return "(unnamed)";
  const char* const slash = std::strrchr(file, '/');
  return std::string(slash != nullptr ? slash + 1 : file) + ":" + std::to_string(line);
}

std::string TitleOf(const detection& found) {
  return found.section[0] != '\0' ? found.section : PlaceTitle(found.file, found.line);
}

std::string describe(const detection& found) {
  const std::string section = "section '" + TitleOf(found) + "'";
  if (found.result == outcome::inconsistent)
    return section +
           ": what it guards kept changing while the section began; the values that it began with may not be of one "
           "moment";
  const std::string word = std::to_string(found.bytes) + " byte" + (found.bytes == 1 ? "" : "s") + " at " +
                           Hex(reinterpret_cast<uint64_t>(found.address));
  if (found.result == outcome::tolerated)
    return section + ": somebody who was not in it changed " + word + " from " + Hex(found.original) + " to " +
           Hex(found.global) + "; " + WordsFor(found.result);
  return section + ": both the section and somebody who was not in it changed " + word + ", which held " +
         Hex(found.original) + ": the section to " + Hex(found.local) + ", the other to " + Hex(found.global) + "; " +
         WordsFor(found.result);
}

void PrintSummary(const std::string& title, const counters& counted) {
  const auto count = [](uint64_t n, const char* what) { return std::to_string(n) + what; };
  Print("redflag: section '" + title + "': " + count(counted.sections, " sections, ") +
        count(counted.published, " words published, ") + count(counted.conflicts, " conflicts, ") +
        count(counted.tolerated, " changes from outside tolerated; from outside ") +
        count(counted.outside_reads, " reads and ") + count(counted.outside_writes, " writes\n"));
}

void Log(const detection& found, bool is_limited) {
  std::string text;
  if (is_limited) {
    const int64_t left_out = limiter.Pass();
    if (left_out < 0) return;
    if (left_out > 0) text = "redflag: (" + std::to_string(left_out) + " detections were not logged)\n";
  }
  const std::vector<CodePlace> places = Callers();
  text += "redflag: " + describe(found) + "\n";
  for (size_t i = 0; i < places.size(); ++i) {
    text += "    #" + std::to_string(i) + " " + places[i].module + (places[i].module.empty() ? "" : "+") +
            Hex(places[i].offset) + "\n";
  }
  Print(text);
  if (const std::string& path = Registry::Get().log_path(); !path.empty()) AppendJson(path, found, places);
}

}  // namespace redflag::tolerate
