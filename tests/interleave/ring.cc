// The ring (events/ring.h) with its real ends, runtime/ring_writer.cc and collect/ring_reader.cc, under every schedule: messages come whole, in order and
// once; a full ring makes the writer wait; one whose reader gives up or dies does not make it wait for ever; and whoever takes a dead reader's
// place is told all that that one had not reported.
//
//   ring [PREEMPTIONS]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/mem.h"
#include "collect/ring_reader.h"
#include "explorer.h"
#include "runtime/helper.h"
#include "runtime/ring_writer.h"

namespace redflag::rt {
namespace {

constexpr uint64_t kCapacity = 64;  // two messages and a bit: it is full soon, and messages go around its end

struct Opened {
  int fd;
  RingHeader* header;
};
std::deque<Opened> opened;

}  // namespace

// In place of the runtime's: the reader is a thread of the test.
bool StartHelper(int64_t ring_fd, RingHeader& ring, bool) {
  ring.capacity = kCapacity;
  opened.push_back({.fd = dup(static_cast<int>(ring_fd)), .header = &ring});
  return true;
}

namespace {

using Status = RingReader::Status;

struct Contents {
  uint64_t writer;
  uint64_t number;
  uint64_t zero;
};

enum class Reader : uint8_t {
  kReads,     // all there is
  kGivesUp,   // after the first message
  kDies,      // after so many: see Scenario::lives_for
  kHoldsAll,  // reads all, reports nothing, and dies
};

struct Scenario {
  const char* name;
  int writers;
  int messages;  // of each
  Reader reader;
  int lives_for = 0;
};
const Scenario kScenarios[] = {
    {"one writes, one reads", 1, 3, Reader::kReads},
    {"two write, one reads", 2, 2, Reader::kReads},
    {"the reader gives up", 1, 3, Reader::kGivesUp},
    {"the reader dies at once", 1, 2, Reader::kDies, 0},
    {"the reader dies after a message", 1, 2, Reader::kDies, 1},
    {"the reader dies with all it has read", 1, 2, Reader::kHoldsAll},
};

class World {
 public:
  explicit World(const Scenario& scenario) : scenario_(scenario) {}
  ~World() { Close(); }

  void Begin(interleave::Plan& plan) {
    Close();
    got_.clear();
    is_right_ = true;
    writers_left_ = scenario_.writers;
    writer_ = {};
    is_right_ &= writer_.Open(false);
    reader_ = Open(opened.front());
    plan.shared.clear();
    const auto ring = reinterpret_cast<uint64_t>(opened.front().header);
    // All that is atomic, wherever the reader has it; and of the bytes of messages, the first and the last: a step at each would be the same
    // many times over.
    const uint64_t data = ring + kRingDataOffset;
    for (const uint64_t byte : {0, 31, 32, 63}) plan.shared.push_back({.begin = data + byte, .end = data + byte + 1});
    plan.shared.push_back({.begin = 0, .end = ~uint64_t{0}, .only_atomics = true});
  }

  // What a thread of the program does: as runtime/emit.cc, under a lock.
  void Write(int number) {
    for (int i = 0; i < scenario_.messages; ++i) {
      const ScopedLock guard(lock_);
      message_->Begin(wire::MessageType::kFlush);
      message_->Add(Contents{static_cast<uint64_t>(number), static_cast<uint64_t>(i), 0});
      writer_.Put(*message_);
    }
    const ScopedLock guard(lock_);
    if (--writers_left_ == 0) writer_.End();
  }

  void Read() {
    for (int i = 0; scenario_.reader != Reader::kDies || i < scenario_.lives_for;) {
      switch (reader_->Next(std::chrono::milliseconds(0))) {
        case Status::kMessage:
          ++i;
          if (scenario_.reader == Reader::kGivesUp) return GiveUp();
          if (scenario_.reader == Reader::kHoldsAll) break;  // nothing is settled
          Take(*reader_);
          reader_->Settle(reader_->end());
          reader_->Finish();
          break;
        case Status::kTimeout:
          interleave::Yield();
          break;
        case Status::kDone:
          if (scenario_.reader == Reader::kHoldsAll) return Die();
          reader_->Abandon();  // all is written: the program may end
          return;
        default:
          is_right_ = false;
          return;
      }
    }
    Die();
  }

  // Afterwards, one at a time.
  bool IsRight() {
    if (scenario_.reader == Reader::kGivesUp) return is_right_ && writer_.reader_failed();
    if (writer_.reader_died()) ReadTheRest();
    std::vector<int> next(static_cast<size_t>(scenario_.writers), 0);
    for (const Contents& one : got_) {
      is_right_ &= one.writer < next.size() && next[one.writer]++ == static_cast<int>(one.number) && one.zero == 0;
    }
    for (const int count : next) is_right_ &= count == scenario_.messages;
    const bool is_drained = scenario_.reader != Reader::kReads || writer_.Await(1);
    return is_right_ && is_drained && writer_.dropped() == 0;
  }

 private:
  static std::unique_ptr<RingReader> Open(const Opened& ring) {
    auto made = RingReader::Open(ring.fd, getpid());
    return std::move(std::get<std::unique_ptr<RingReader>>(made));
  }
  void Take(const RingReader& reader) {
    Contents contents{.writer = ~uint64_t{0}, .number = 0, .zero = 0};
    is_right_ &= reader.message().size() == sizeof(wire::MessageHeader) + sizeof contents;
    if (is_right_) std::memcpy(&contents, reader.message().data() + sizeof(wire::MessageHeader), sizeof contents);
    got_.push_back(contents);
  }
  void GiveUp() {
    __atomic_store_n(&opened.front().header->reader_failed, 1, __ATOMIC_RELEASE);
    reader_->Abandon();
  }
  void Die() {
    __atomic_fetch_or(&opened.front().header->reader_lives, 0x40000000u, __ATOMIC_RELEASE);  // as the kernel does
  }
  void ReadTheRest() {
    RingWriter next;
    is_right_ &= next.Open(false);
    std::unique_ptr<RingReader> reader = Open(opened.back());
    next.TakeOver(writer_);
    next.End();
    while (reader->Next(std::chrono::milliseconds(0)) == Status::kMessage) Take(*reader);
    next.Leave();
  }
  void Close() {
    reader_.reset();
    if (!opened.empty()) writer_.Leave();
    for (const Opened& ring : opened) close(ring.fd);
    opened.clear();
  }

  const Scenario& scenario_;
  RingWriter writer_;
  std::unique_ptr<RingReader> reader_;
  AtomicMem::Lock lock_;
  int writers_left_ = 0;
  bool is_right_ = true;
  std::unique_ptr<Message> message_ = std::make_unique<Message>();
  std::vector<Contents> got_;
};

int Main(int preemptions) {
  uint64_t total = 0;
  for (const Scenario& scenario : kScenarios) {
    World world(scenario);
    interleave::Plan plan;
    plan.preemptions = preemptions;
    plan.begin = [&] { world.Begin(plan); };
    for (int i = 0; i < scenario.writers; ++i) plan.threads.emplace_back([&, i] { world.Write(i); });
    plan.threads.emplace_back([&] { world.Read(); });
    plan.is_right = [&] { return world.IsRight(); };
    const interleave::Outcome outcome = interleave::Explore(plan);
    total += outcome.schedules;
    if (!interleave::Tell(scenario.name, outcome)) return 1;
  }
  std::printf("%llu schedules with up to %d preemptions: every message came, whole and once\n",
              static_cast<unsigned long long>(total), preemptions);
  return 0;
}

}  // namespace
}  // namespace redflag::rt

int main(int argc, char** argv) { return redflag::rt::Main(argc > 1 ? std::atoi(argv[1]) : 2); }
