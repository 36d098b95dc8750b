#include "collect/trace_drain.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "collect/wire_reader.h"
#include "collect/wire_writer.h"
#include "trace/binary_trace.h"

namespace redflag {
namespace {

// The program's end of the memory, as runtime/recorder.cc writes to it.
class Program {
 public:
  explicit Program(uint32_t slots = 8)
      : fd_(memfd_create("trace", 0)), bytes_(kTraceShareBytes + slots * kTraceSlotBytes) {
    EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(bytes_)), 0);
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    EXPECT_NE(memory, MAP_FAILED);
    memory_ = static_cast<std::byte*>(memory);
    share().slots = slots;
    share().magic = TraceShare::kMagic;
  }
  ~Program() {
    munmap(memory_, bytes_);
    close(fd_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int fd() const { return fd_; }
  TraceShare& share() const { return *reinterpret_cast<TraceShare*>(memory_); }
  TraceSlot& slot(uint32_t index) const {
    return *reinterpret_cast<TraceSlot*>(memory_ + kTraceShareBytes + size_t{index} * kTraceSlotBytes);
  }

  void Begin(uint32_t index, uint32_t thread) {
    TraceSlot& slot = this->slot(index);
    slot = TraceSlot();
    slot.thread = thread;
    slot.state = TraceSlot::kFilling;
    states_[index] = BlockState();
    share().used = std::max(share().used, index + 1);
  }
  // A write that has a stamp.
  void Write(uint32_t index, uint64_t addr) {
    TraceSlot& slot = this->slot(index);
    slot.pending = share().stamp + 1;
    const uint64_t stamp = ++share().stamp;
    Put(index, addr, stamp);
    slot.pending = 0;
  }
  void Put(uint32_t index, uint64_t addr, uint64_t stamp) {
    TraceSlot& slot = this->slot(index);
    auto* begin = reinterpret_cast<uint8_t*>(&slot) + (kTraceSlotBytes - kTraceSlotRoom);
    uint8_t* end = PutAccess(states_[index], begin + slot.bytes, true, addr, 8, 7, stamp);
    if (stamp != kNoStamp) {
      if (slot.first_stamp == 0) slot.first_stamp = stamp;
      slot.last_stamp = stamp;
    }
    ++slot.events;
    __atomic_store_n(&slot.bytes, static_cast<uint32_t>(end - begin), __ATOMIC_RELEASE);
  }
  void Publish(uint32_t index) {
    slot(index).ticket = ++share().tickets;
    __atomic_store_n(&slot(index).state, TraceSlot::kFull, __ATOMIC_RELEASE);
  }

 private:
  int fd_;
  size_t bytes_;
  std::byte* memory_ = nullptr;
  std::map<uint32_t, BlockState> states_;
};

class TraceDrainTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/trace_drain_test.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "run.rft"; }

  std::unique_ptr<TraceDrain> Drain(const Program& program, const std::string& to) {
    auto opened = TraceDrain::Open(program.fd(), to, getpid());
    EXPECT_TRUE(std::holds_alternative<std::unique_ptr<TraceDrain>>(opened)) << std::get<std::string>(opened);
    return std::get<std::unique_ptr<TraceDrain>>(std::move(opened));
  }

  // The events of a trace as "thread:address", in order.
  static std::vector<std::string> Read(const std::string& from, bool partial = false) {
    auto opened = BinaryTrace::Open(from, {.partial = partial});
    if (const auto* error = std::get_if<std::string>(&opened)) return {*error};
    const auto& trace = std::get<std::unique_ptr<BinaryTrace>>(opened);
    std::vector<std::string> events;
    const auto stream = trace->Open();
    for (auto batch = stream->Next(); !batch.empty(); batch = stream->Next()) {
      for (const Event& event : batch) {
        events.push_back(std::to_string(Raw(event.thread)) + ":" + std::to_string(Raw(event.addr)));
      }
    }
    if (!stream->error().empty()) events.push_back(stream->error());
    return events;
  }

  // Waits until something is so; the drain has a thread of its own.
  template <class Condition>
  static bool Await(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  std::filesystem::path folder_;
};

using Events = std::vector<std::string>;

TEST_F(TraceDrainTest, TakesFullBlocksWhileTheProgramRunsAndTheRestAtTheEnd) {
  Program program;
  const auto drain = Drain(program, path());
  program.Begin(0, 3);
  program.Begin(1, 4);
  program.Write(0, 100);
  program.Write(1, 200);
  program.Write(0, 101);
  program.Publish(0);
  ASSERT_TRUE(Await([&] { return program.slot(0).state == TraceSlot::kFree; }));
  EXPECT_EQ(program.share().emptied, 1u);
  program.Begin(0, 3);
  program.Write(0, 102);
  drain->Finish("the program ended");
  EXPECT_EQ(drain->error(), "");
  EXPECT_EQ(program.share().closed, 1u);
  EXPECT_EQ(Read(path()), (Events{"3:100", "4:200", "3:101", "3:102"}));
}

TEST_F(TraceDrainTest, BlocksOfAThreadStayInOrderWhateverSlotTheyAreIn) {
  Program program;
  const auto drain = Drain(program, path());
  for (const uint32_t index : {5, 2, 7, 0}) {  // all full before the drain looks
    program.Begin(index, 1);
    program.Write(index, 10 * index + 1);
    program.slot(index).ticket = ++program.share().tickets;
  }
  for (uint32_t index = 0; index < 8; ++index) {
    if (program.slot(index).bytes != 0)
      __atomic_store_n(&program.slot(index).state, TraceSlot::kFull, __ATOMIC_RELEASE);
  }
  drain->Finish("x");
  EXPECT_EQ(Read(path()), (Events{"1:51", "1:21", "1:71", "1:1"}));
}

TEST_F(TraceDrainTest, ABlockThatWasCopiedWhileItWasFilledIsThereOnce) {
  Program program;
  const auto drain = Drain(program, path());
  program.Begin(0, 1);
  program.Write(0, 1);
  // The file is locked while it is written: look at a copy.
  ASSERT_TRUE(Await([&] {
    if (!std::filesystem::exists(path())) return false;
    std::filesystem::copy_file(path(), folder_ / "copy.rft", std::filesystem::copy_options::overwrite_existing);
    return Read(folder_ / "copy.rft", true) == Events{"1:1"};
  }));
  program.Put(0, 2, kNoStamp);
  program.Write(0, 3);
  program.Publish(0);
  drain->Finish("x");
  EXPECT_EQ(Read(path()), (Events{"1:1", "1:2", "1:3"}));
}

TEST_F(TraceDrainTest, AnEventThatWasUnderWayEndsTheTrace) {
  Program program;
  const auto drain = Drain(program, path());
  program.Begin(0, 1);
  program.Begin(1, 2);
  program.Write(0, 1);
  // Thread 2 has taken stamp 2 and was killed before its event was there; what thread 1 did after that may rely on it.
  program.slot(1).pending = 2;
  program.share().stamp = 2;
  program.Write(0, 5);
  drain->Finish("killed");
  EXPECT_EQ(Read(path()), (Events{"1:1"}));
}

TEST_F(TraceDrainTest, MessagesAreKeptButRacesAreNot) {
  Program program;
  const auto drain = Drain(program, path());
  drain->AddMessage(EncodeMessage(DetectorMessage{"hb"}));
  program.Begin(0, 0);
  program.Write(0, 1);
  RaceMessage race;
  race.accesses.emplace_back();
  drain->AddMessage(EncodeMessage(race));
  drain->AddMessage(EncodeMessage(NoteMessage{.severity = 1, .text = "n"}));
  drain->Finish("x");
  auto opened = BinaryTrace::Open(path(), {});
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<BinaryTrace>>(opened)) << std::get<std::string>(opened);
  const auto& messages = std::get<std::unique_ptr<BinaryTrace>>(opened)->messages();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0], EncodeMessage(DetectorMessage{"hb"}));
  EXPECT_EQ(messages[1], EncodeMessage(NoteMessage{.severity = 1, .text = "n"}));
}

TEST_F(TraceDrainTest, AProgramThatRecordsNothingLeavesNoFile) {
  Program program;
  const auto drain = Drain(program, path());
  drain->AddMessage(EncodeMessage(NoteMessage{.severity = 0, .text = "n"}));
  drain->Finish("x");
  EXPECT_EQ(drain->error(), "");
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(TraceDrainTest, TakesAnotherFileIfThereIsSomethingInThisOne) {
  std::ofstream(path()) << "dear diary\n";
  Program program;
  const auto drain = Drain(program, path());
  program.Begin(0, 0);
  program.Write(0, 1);
  drain->Finish("x");
  EXPECT_EQ(Read(path() + "." + std::to_string(getpid())), (Events{"0:1"}));
  std::string kept;
  std::getline(std::ifstream(path()), kept);
  EXPECT_EQ(kept, "dear diary");
}

TEST_F(TraceDrainTest, SaysWhyItCannotWriteAndGoesOnTaking) {
  Program program;
  const auto drain = Drain(program, folder_ / "missing" / "run.rft");
  program.Begin(0, 0);
  program.Write(0, 1);
  program.Publish(0);
  ASSERT_TRUE(Await([&] { return program.slot(0).state == TraceSlot::kFree; }));
  EXPECT_EQ(program.share().closed, 2u);
  drain->Finish("x");
  EXPECT_NE(drain->error().find("No such file"), std::string::npos) << drain->error();
}

TEST_F(TraceDrainTest, DoesNotBelieveWhatIsInTheMemory) {
  Program program;
  for (uint32_t index = 0; index < 8; ++index) {
    program.Begin(index, index);
    program.slot(index).bytes = UINT32_MAX;
  }
  program.share().used = UINT32_MAX;
  program.slot(3).state = TraceSlot::kFull;
  program.slot(3).ticket = 1;
  const auto drain = Drain(program, path());
  drain->Finish("x");

  Program other;
  other.share().magic = 1;
  EXPECT_TRUE(std::holds_alternative<std::string>(TraceDrain::Open(other.fd(), path(), getpid())));
  other.share().magic = TraceShare::kMagic;
  other.share().slots = 9;
  EXPECT_TRUE(std::holds_alternative<std::string>(TraceDrain::Open(other.fd(), path(), getpid())));
  EXPECT_TRUE(std::holds_alternative<std::string>(TraceDrain::Open(-1, path(), getpid())));
}

}  // namespace
}  // namespace redflag
