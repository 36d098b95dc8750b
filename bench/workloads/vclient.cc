// Streaming video client, after Vclient in the RaceTrack paper (section 4.2), which "performs extensive buffering and
// scheduling using many threads". Network, clock and screen are simulated; nothing sleeps.
//
//   receive  one thread    takes packets from a network that swaps and repeats them
//   reorder  one thread    brings them in order, puts frames together, and groups that start with a key frame
//   decode   --threads     decode one group each: blocks of 8 x 8 are moved from the picture before, and corrected
//   render   one thread    brings pictures in order, and copies them to the screen with the time of day in a corner
//
// A picture is written by a decoder, then read by it (for the next picture) and by the renderer at the same time, and
// belongs to whoever drops it last, who returns its memory to a pool that all decoders draw from.
//
// Synchronization: a single-producer, single-consumer ring of acquire and release atomics (std::atomic::wait) after
// the receiver; rings with a mutex and two condition variables between the others; reference counts of
// std::shared_ptr; a mutex around the pool. The size is the number of groups of 8 frames.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "workload.h"

namespace {

constexpr int kWidth = 96, kHeight = 64, kBlock = 8;
constexpr int kBlocks = kWidth / kBlock * (kHeight / kBlock);
constexpr int kCoefficients = 6;                       // of a block; the others are 0
constexpr size_t kBlockBytes = 1 + 2 * kCoefficients;  // motion, then place and value of each coefficient
constexpr uint64_t kFramesPerGroup = 8;
constexpr size_t kPacketBytes = 256;
constexpr uint64_t kTicksPerFrame = 3000;  // of a clock of 90 kHz

// For one producer and one consumer.
template <class T>
class SpscRing {
 public:
  void Push(T item) {
    const uint32_t end = end_.load(std::memory_order_relaxed);
    for (uint32_t begin; end - (begin = begin_.load(std::memory_order_acquire)) == kSize;)
      begin_.wait(begin, std::memory_order_acquire);
    slots_[end % kSize] = std::move(item);
    end_.store(end + 1, std::memory_order_release);
    end_.notify_one();
  }
  T Pop() {
    const uint32_t begin = begin_.load(std::memory_order_relaxed);
    end_.wait(begin, std::memory_order_acquire);
    T item = std::move(slots_[begin % kSize]);
    begin_.store(begin + 1, std::memory_order_release);
    begin_.notify_one();
    return item;
  }

 private:
  static constexpr uint32_t kSize = 128;
  std::array<T, kSize> slots_;
  alignas(64) std::atomic<uint32_t> begin_ = 0;  // written by the consumer
  alignas(64) std::atomic<uint32_t> end_ = 0;    // written by the producer
};

// For any number of producers and consumers.
template <class T>
class BlockingRing {
 public:
  void Push(T item) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return end_ - begin_ < kSize; });
    slots_[end_++ % kSize] = std::move(item);
    has_items_.notify_one();
  }
  // Nothing once the ring is closed and empty.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    has_items_.wait(lock, [this] { return end_ > begin_ || closed_; });
    if (end_ == begin_) return std::nullopt;
    std::optional<T> item = std::move(slots_[begin_++ % kSize]);
    has_room_.notify_one();
    return item;
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_items_.notify_all();
  }

 private:
  static constexpr uint64_t kSize = 32;
  std::mutex mutex_;
  std::condition_variable has_room_, has_items_;
  std::array<T, kSize> slots_;
  uint64_t begin_ = 0, end_ = 0;
  bool closed_ = false;
};

struct Packet {
  uint64_t sequence = 0;
  uint64_t arrival = 0;  // on the simulated clock
  bool ends_frame = false;
  std::vector<uint8_t> bytes;
};

struct Group {
  uint64_t first_frame = 0;
  std::vector<std::vector<uint8_t>> frames;  // coded
};

struct Picture {
  uint64_t frame = 0;
  std::array<uint8_t, kWidth * kHeight> pixels;
};
using SharedPicture = std::shared_ptr<Picture>;

// Memory of pictures that nobody uses any more.
class PicturePool {
 public:
  SharedPicture Get() {
    return {Take().release(), [this](Picture* picture) { Return(picture); }};
  }

 private:
  std::unique_ptr<Picture> Take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Picture>();
    std::unique_ptr<Picture> picture = std::move(free_.back());
    free_.pop_back();
    return picture;
  }
  void Return(Picture* picture) {
    const std::lock_guard lock(mutex_);
    free_.emplace_back(picture);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Picture>> free_;
};

class Client {
 public:
  explicit Client(uint64_t groups) : groups_count_(groups) {}

  uint64_t Run(int decoders) {
    std::thread receiver([this] { Receive(); });
    std::thread reorderer([this] { Reorder(); });
    std::thread renderer([this] { Render(); });
    workload::InParallel(decoders, [this](int) { Decode(); });
    pictures_.Close();
    receiver.join();
    reorderer.join();
    renderer.join();
    return shown_.Value() + jitter_;
  }

 private:
  // --- receive

  void Receive() {
    workload::Random random(groups_count_);
    std::array<Packet, 16> window;  // packets under way: one of them arrives whenever another is sent
    uint64_t sequence = 0;
    const auto exchange = [&](Packet packet) {
      Packet& other = window[random.Below(window.size())];
      std::swap(packet, other);
      if (packet.bytes.empty()) return;
      packet.arrival = other.sequence * 500 + random.Below(400);
      if (random.Below(50) == 0) packets_.Push(packet);
      packets_.Push(std::move(packet));
    };
    for (uint64_t frame = 0; frame < groups_count_ * kFramesPerGroup; ++frame) {
      const std::vector<uint8_t> bytes = Encode(&random);
      for (size_t begin = 0; begin < bytes.size(); begin += kPacketBytes) {
        const size_t end = std::min(bytes.size(), begin + kPacketBytes);
        exchange({sequence++, 0, end == bytes.size(), {bytes.begin() + begin, bytes.begin() + end}});
      }
    }
    for (Packet& packet : window)
      if (!packet.bytes.empty()) packets_.Push(std::move(packet));
    packets_.Push({});  // without bytes: the end
  }

  static std::vector<uint8_t> Encode(workload::Random* random) {
    std::vector<uint8_t> bytes(kBlocks * kBlockBytes);
    for (size_t i = 0; i < bytes.size(); i += 8) {
      const uint64_t word = random->Next();
      std::memcpy(&bytes[i], &word, std::min<size_t>(8, bytes.size() - i));
    }
    return bytes;
  }

  // --- reorder

  void Reorder() {
    std::map<uint64_t, Packet> early;
    uint64_t next = 0, last_arrival = 0;
    while (true) {
      Packet packet = packets_.Pop();
      if (packet.bytes.empty()) break;
      const uint64_t gap = std::max(packet.arrival, last_arrival) - std::min(packet.arrival, last_arrival);
      jitter_ += gap / 16 - jitter_ / 16;
      last_arrival = packet.arrival;
      if (packet.sequence < next) continue;  // repeated
      early.emplace(packet.sequence, std::move(packet));
      for (; !early.empty() && early.begin()->first == next; ++next) Append(early.extract(early.begin()).mapped());
    }
    groups_.Close();
  }

  void Append(const Packet& packet) {
    frame_.insert(frame_.end(), packet.bytes.begin(), packet.bytes.end());
    if (!packet.ends_frame) return;
    group_.frames.push_back(std::move(frame_));
    frame_.clear();
    if (group_.frames.size() < kFramesPerGroup) return;
    const uint64_t next_group = group_.first_frame + kFramesPerGroup;
    groups_.Push(std::move(group_));
    group_ = {next_group, {}};
  }

  // --- decode

  void Decode() {
    while (const std::optional<Group> group = groups_.Pop()) {
      SharedPicture before;  // none for the first, which is the key frame
      for (size_t i = 0; i < group->frames.size(); ++i) {
        SharedPicture picture = pool_.Get();
        picture->frame = group->first_frame + i;
        for (int block = 0; block < kBlocks; ++block)
          DecodeBlock(&group->frames[i][block * kBlockBytes], block, before.get(), picture.get());
        before = picture;
        pictures_.Push(std::move(picture));
      }
    }
  }

  static void DecodeBlock(const uint8_t* code, int block, const Picture* before, Picture* picture) {
    std::array<int, kBlock * kBlock> cells{};
    for (int i = 0; i < kCoefficients; ++i)
      cells[code[1 + 2 * i] % cells.size()] += static_cast<int8_t>(code[2 + 2 * i]);
    for (int i = 0; i < kBlock; ++i) Transform(&cells[i * kBlock], 1);
    for (int i = 0; i < kBlock; ++i) Transform(&cells[i], kBlock);

    const int left = block % (kWidth / kBlock) * kBlock, top = block / (kWidth / kBlock) * kBlock;
    const int from_left = std::clamp(left + code[0] % 8 - 4, 0, kWidth - kBlock);
    const int from_top = std::clamp(top + code[0] / 8 % 8 - 4, 0, kHeight - kBlock);
    for (int y = 0; y < kBlock; ++y)
      for (int x = 0; x < kBlock; ++x) {
        const int predicted = before != nullptr ? before->pixels[(from_top + y) * kWidth + from_left + x] : 128;
        const int pixel = predicted + cells[y * kBlock + x] / 8;
        picture->pixels[(top + y) * kWidth + left + x] = static_cast<uint8_t>(std::clamp(pixel, 0, 255));
      }
  }

  // Walsh-Hadamard transform of the eight cells, in place.
  static void Transform(int* cells, int stride) {
    for (int half = 1; half < kBlock; half *= 2)
      for (int i = 0; i < kBlock; ++i) {
        if ((i & half) != 0) continue;
        int& a = cells[i * stride];
        int& b = cells[(i + half) * stride];
        const int sum = a + b;
        b = a - b;
        a = sum;
      }
  }

  // --- render

  void Render() {
    std::map<uint64_t, SharedPicture> early;
    uint64_t next = 0;
    while (std::optional<SharedPicture> picture = pictures_.Pop()) {
      early.emplace((*picture)->frame, std::move(*picture));
      for (; !early.empty() && early.begin()->first == next; ++next) Show(*early.extract(early.begin()).mapped());
    }
  }

  void Show(const Picture& picture) {
    for (size_t i = 0; i < screen_.size(); ++i) screen_[i] = picture.pixels[i] * 0x010101u;
    uint64_t seconds = picture.frame * kTicksPerFrame / 90000;
    for (int digit = 0; digit < 8; ++digit, seconds /= 10) screen_[kWidth - 1 - digit] = 0xff0000u | seconds % 10;
    uint64_t sum = 0;
    for (const uint32_t pixel : screen_) sum = sum * 31 + pixel;
    shown_.Add(sum);
  }

  const uint64_t groups_count_;
  PicturePool pool_;
  SpscRing<Packet> packets_;
  BlockingRing<Group> groups_;
  BlockingRing<SharedPicture> pictures_;

  // The reorderer's.
  std::vector<uint8_t> frame_;
  Group group_;
  uint64_t jitter_ = 0;

  // The renderer's.
  std::array<uint32_t, kWidth * kHeight> screen_{};
  workload::Checksum shown_;
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 3000});
  const auto client = std::make_unique<Client>(options.size);
  return workload::Finish("vclient", client->Run(options.threads));
}
