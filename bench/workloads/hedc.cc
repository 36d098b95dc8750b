// A meta search engine over several archives, after the kernel of hedc, the web crawler of ETH's solar data centre.
//
// The size is the number of queries. The main thread splits each query into one task for each archive and queues them
// for a pool of worker threads. A worker searches its archive and merges what it found into the query under the query's
// mutex; the main thread waits on the query's condition variable until all its tasks are done. It keeps a window of
// queries in flight.
//
// A task that comes upon a withdrawn record matching all keywords cancels the whole query. The other tasks of the query
// see an atomic flag and give up wherever they happen to be; since none of the query's hits count then, the result
// depends on the archives alone.
#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr size_t kArchives = 6;
constexpr size_t kRecords = 1000;  // of an archive
constexpr size_t kWindow = 32;     // queries in flight
constexpr uint64_t kDays = 10'000;
constexpr uint64_t kWords = 300;

struct Record {
  uint64_t day;
  std::array<uint64_t, 8> words;
  std::string title;
  bool withdrawn;
};

struct Archive {
  std::vector<Record> records;

  Archive(const std::string& name, uint64_t seed) {
    workload::Random random(seed);
    for (size_t i = 0; i < kRecords; ++i) {
      Record& record = records.emplace_back();
      record.day = random.Below(kDays);
      for (uint64_t& word : record.words) word = random.Below(kWords);
      record.title = name + "/observation-" + std::to_string(i);
      record.withdrawn = random.Below(16) == 0;
    }
  }
};

struct Hit {
  int score;
  std::string title;

  auto operator<=>(const Hit&) const = default;
};

// What is asked and, growing, what was found. Tasks call everything but AwaitHits, which is for the main thread.
class Query {
 public:
  explicit Query(uint64_t seed) {
    workload::Random random(seed);
    first_day_ = random.Below(kDays / 2);
    last_day_ = first_day_ + kDays / 2;
    for (uint64_t& keyword : keywords_) keyword = random.Below(kWords);
  }

  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // How many of the keywords a record has, 0 if it is not of the days asked for.
  int Score(const Record& record) const {
    if (record.day < first_day_ || record.day > last_day_) return 0;
    return static_cast<int>(std::ranges::count_if(
        keywords_, [&](uint64_t keyword) { return std::ranges::find(record.words, keyword) != record.words.end(); }));
  }
  bool IsPerfect(int score) const { return score == static_cast<int>(keywords_.size()); }

  // The end of one task.
  void Merge(std::vector<Hit> hits) {
    const std::lock_guard lock(mutex_);
    if (!cancelled()) std::ranges::move(hits, std::back_inserter(hits_));
    if (--pending_ == 0) done_.notify_one();
  }

  // Best first; nothing if the query was cancelled.
  std::optional<std::vector<Hit>> AwaitHits() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return pending_ == 0; });
    if (cancelled()) return std::nullopt;
    std::ranges::sort(hits_, std::greater());
    return std::move(hits_);
  }

 private:
  uint64_t first_day_, last_day_;
  std::array<uint64_t, 2> keywords_;

  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable done_;
  size_t pending_ = kArchives;  // guarded by mutex_
  std::vector<Hit> hits_;       // guarded by mutex_
};

struct Task {
  Query* query;
  const Archive* archive;

  void Run() const {
    std::vector<Hit> hits;
    for (const Record& record : archive->records) {
      if (query->cancelled()) break;
      const int score = query->Score(record);
      if (query->IsPerfect(score) && record.withdrawn)
        query->Cancel();
      else if (score > 0)
        hits.push_back({.score = score, .title = record.title});
    }
    query->Merge(std::move(hits));
  }
};

class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { Work(); });
  }

  // Finishes what is queued.
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      changed_.notify_all();
    }
    for (std::thread& worker : workers_) worker.join();
  }

  void Submit(const Task& task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
    changed_.notify_one();
  }

 private:
  void Work() {
    while (const std::optional<Task> task = Take()) task->Run();
  }

  std::optional<Task> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !tasks_.empty() || closed_; });
    if (tasks_.empty()) return std::nullopt;
    const Task task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // guarded by mutex_
  bool closed_ = false;     // guarded by mutex_
  std::vector<std::thread> workers_;
};

void Add(workload::Checksum& checksum, const std::optional<std::vector<Hit>>& hits) {
  checksum.Add(hits ? hits->size() : ~uint64_t{0});
  if (!hits) return;
  for (const Hit& hit : *hits) {
    checksum.Add(static_cast<uint64_t>(hit.score));
    for (const char c : hit.title) checksum.Add(static_cast<uint64_t>(static_cast<unsigned char>(c)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 4'500});
  std::vector<Archive> archives;
  for (size_t i = 0; i < kArchives; ++i) archives.emplace_back("archive-" + std::to_string(i), i);

  workload::Checksum checksum;
  std::deque<Query> queries;  // stay where they are until the workers have left
  {
    Pool pool(options.threads);
    size_t answered = 0;
    for (uint64_t seed = 0; seed < options.size; ++seed) {
      Query& query = queries.emplace_back(seed);
      for (const Archive& archive : archives) pool.Submit({.query = &query, .archive = &archive});
      if (queries.size() - answered == kWindow) Add(checksum, queries[answered++].AwaitHits());
    }
    while (answered < queries.size()) Add(checksum, queries[answered++].AwaitHits());
  }
  return workload::Finish("hedc", checksum.Value());
}
