#include "collect/trace_drain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

#include "events/wire.h"

namespace redflag {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSlice{100};
constexpr std::chrono::seconds kBetweenCheckpoints{1};

template <class Word>
std::atomic_ref<Word> Atomic(Word& word) {
  return std::atomic_ref<Word>(word);
}

void FutexWait(uint32_t& word, uint32_t seen, std::chrono::milliseconds timeout) {
  const timespec limit{.tv_sec = 0, .tv_nsec = timeout.count() * 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void FutexWake(uint32_t& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

// An empty file that is locked; negative, and errno, if it cannot be had.
int OpenEmpty(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return fd;
  struct stat status{};
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 && status.st_size == 0) return fd;
  close(fd);
  errno = EEXIST;
  return -1;
}

}  // namespace

std::variant<std::unique_ptr<TraceDrain>, std::string> TraceDrain::Open(int fd, std::string path, pid_t pid) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return fmt::format("cannot look at descriptor {}: {}", fd, std::strerror(errno));
  const auto size = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
  if (size < kTraceShareBytes + kTraceSlotBytes) return fmt::format("descriptor {} has {} bytes", fd, size);
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return fmt::format("cannot map descriptor {}: {}", fd, std::strerror(errno));
  const auto& share = *static_cast<const TraceShare*>(memory);
  const uint64_t room = (size - kTraceShareBytes) / kTraceSlotBytes;
  if (share.magic != TraceShare::kMagic || share.slots == 0 || share.slots > room) {
    munmap(memory, size);
    return fmt::format("descriptor {} is not what a program records into", fd);
  }
  return std::unique_ptr<TraceDrain>(
      new TraceDrain(static_cast<std::byte*>(memory), size, share.slots, std::move(path), pid));
}

TraceDrain::TraceDrain(std::byte* memory, size_t mapped, uint32_t slots, std::string path, pid_t pid)
    : memory_(memory),
      mapped_(mapped),
      slots_(slots),
      path_(std::move(path)),
      pid_(pid),
      buffer_(kTraceSlotRoom),
      last_checkpoint_(Clock::now()),
      thread_([this] { Work(); }) {}

TraceDrain::~TraceDrain() {
  if (thread_.joinable()) Finish("the recording was broken off");
  munmap(memory_, mapped_);
}

uint32_t TraceDrain::SlotsInUse() const {
  return std::min(Atomic(share().used).load(std::memory_order_acquire), slots_);
}

void TraceDrain::Fail(std::string why) {
  if (error_.empty()) error_ = std::move(why);
  Atomic(share().closed).store(2, std::memory_order_release);
  FutexWake(share().closed);
}

// Called with the lock.
bool TraceDrain::HasFile() {
  if (!error_.empty()) return false;
  if (file_ != nullptr) return true;
  int fd = OpenEmpty(path_);
  if (fd < 0 && errno == EEXIST) {
    path_ += fmt::format(".{}", pid_);
    fd = OpenEmpty(path_);
  }
  if (fd < 0) {
    Fail(fmt::format("{}: {}", path_, std::strerror(errno)));
    return false;
  }
  auto created = BinaryWriter::Create(fd);
  if (auto* error = std::get_if<std::string>(&created)) {
    Fail(std::move(*error));
    return false;
  }
  file_ = std::get<std::unique_ptr<BinaryWriter>>(std::move(created));
  for (const auto& message : std::exchange(waiting_, {})) {
    if (!file_->AddMessage(message)) Fail(file_->error());
  }
  return error_.empty();
}

void TraceDrain::AddMessage(std::span<const std::byte> message) {
  wire::MessageHeader header{};
  if (message.size() < sizeof header) return;
  std::memcpy(&header, message.data(), sizeof header);
  if (header.type == wire::MessageType::kRace || header.type == wire::MessageType::kEnd) return;
  const std::lock_guard guard(lock_);
  if (file_ == nullptr) {
    waiting_.emplace_back(message.begin(), message.end());
  } else if (error_.empty() && !file_->AddMessage(message)) {
    Fail(file_->error());
  }
}

// What a slot holds, as far as `bytes`. One that is not full is looked through: its fields may be ahead of its bytes.
bool TraceDrain::Add(const TraceSlot& slot, uint32_t bytes, bool is_full) {
  if (bytes > kTraceSlotRoom) return false;
  std::memcpy(buffer_.data(), reinterpret_cast<const std::byte*>(&slot) + (kTraceSlotBytes - kTraceSlotRoom), bytes);
  const Tid thread{slot.thread};
  uint64_t first = slot.first_stamp;
  uint64_t last = slot.last_stamp;
  uint32_t events = slot.events;
  if (!is_full) {
    first = last = events = 0;
    const auto* begin = reinterpret_cast<const uint8_t*>(buffer_.data());
    BlockReader reader(begin, begin + bytes, thread);
    Event event{};
    for (auto item = reader.Next(event); item != BlockReader::Item::kEnd; item = reader.Next(event)) {
      if (item != BlockReader::Item::kEvent) continue;
      ++events;
      if (reader.stamp == kNoStamp) continue;
      if (first == 0) first = reader.stamp;
      last = reader.stamp;
    }
  }
  const std::lock_guard guard(lock_);
  if (!HasFile()) return false;
  if (file_->AddEvents(thread, first, last, events, {buffer_.data(), bytes})) return true;
  Fail(file_->error());
  return false;
}

// In the order of their tickets: those of one thread in the order in which it filled them. Was there one?
bool TraceDrain::TakeFull() {
  bool took = false;
  for (bool more = true; more;) {
    more = false;
    const uint32_t in_use = SlotsInUse();
    if (copied_.size() < in_use) copied_.resize(in_use);
    for (uint32_t i = 0; i < in_use; ++i) {
      TraceSlot& slot = SlotAt(i);
      if (Atomic(slot.state).load(std::memory_order_acquire) != TraceSlot::kFull || slot.ticket != next_ticket_)
        continue;
      Add(slot, Atomic(slot.bytes).load(std::memory_order_acquire), true);
      copied_[i] = {};
      ++next_ticket_;
      Atomic(slot.state).store(TraceSlot::kFree, std::memory_order_release);
      Atomic(share().emptied).fetch_add(1, std::memory_order_release);
      FutexWake(share().emptied);
      more = took = true;
    }
  }
  return took;
}

// A block that is being filled, as it is now: what comes later in the file with the same first stamp takes its place.
void TraceDrain::CopyUnfinished(uint32_t index) {
  const TraceSlot& slot = SlotAt(index);
  const uint32_t bytes = Atomic(SlotAt(index).bytes).load(std::memory_order_acquire);
  const uint64_t first = slot.first_stamp;
  if (bytes == 0 || (copied_[index].bytes == bytes && copied_[index].first_stamp == first)) return;
  if (Add(slot, bytes, false)) copied_[index] = {.bytes = bytes, .first_stamp = first};
}

void TraceDrain::Checkpoint(bool is_last) {
  last_checkpoint_ = Clock::now();
  // In this order: who has taken one of these stamps, and not written its event yet, says so in its slot.
  uint64_t stamp = Atomic(share().stamp).load(std::memory_order_seq_cst);
  if (stamp == checkpoint_ && !is_last) return;
  const uint32_t in_use = SlotsInUse();
  for (uint32_t i = 0; i < in_use; ++i) {
    if (Atomic(SlotAt(i).state).load(std::memory_order_acquire) != TraceSlot::kFilling) continue;
    const uint64_t pending = Atomic(SlotAt(i).pending).load(std::memory_order_acquire);
    if (pending != 0) stamp = std::min(stamp, pending - 1);
  }
  TakeFull();
  for (uint32_t i = 0; i < in_use; ++i) {
    // In this order: the thread that fills it may have filled another one a moment ago, and that comes first.
    while (Atomic(SlotAt(i).state).load(std::memory_order_acquire) == TraceSlot::kFilling) {
      if (Atomic(share().tickets).load(std::memory_order_acquire) < next_ticket_) {
        CopyUnfinished(i);
        break;
      }
      if (!TakeFull()) break;  // nothing there: the program has written over it
    }
  }
  TakeFull();  // those that became full meanwhile
  if (stamp <= checkpoint_) return;
  const std::lock_guard guard(lock_);
  if (file_ == nullptr || !error_.empty()) return;
  if (!file_->AddCheckpoint(stamp)) return Fail(file_->error());
  checkpoint_ = stamp;
}

void TraceDrain::Work() {
  for (;;) {
    const uint32_t filled = Atomic(share().filled).load(std::memory_order_acquire);
    const bool stop = [&] {
      const std::lock_guard guard(lock_);
      return stop_;
    }();
    TakeFull();
    if (stop) return Checkpoint(true);
    if (Clock::now() - last_checkpoint_ >= kBetweenCheckpoints) Checkpoint(false);
    FutexWait(share().filled, filled, kSlice);
  }
}

void TraceDrain::Finish(const std::string& ending) {
  {
    const std::lock_guard guard(lock_);
    stop_ = true;
  }
  Atomic(share().filled).fetch_add(1, std::memory_order_release);
  FutexWake(share().filled);
  thread_.join();
  if (file_ != nullptr && error_.empty() && !file_->Finish(ending)) Fail(file_->error());
  file_.reset();  // unlocks it
  if (!error_.empty()) return;
  Atomic(share().closed).store(1, std::memory_order_release);
  FutexWake(share().closed);
}

}  // namespace redflag
