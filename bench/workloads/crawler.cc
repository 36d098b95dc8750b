// Web crawler, after Crawler in the RaceTrack paper (section 4.2), on a web that is made up as it is read: the text
// of a page follows from its address. Pages are fetched and parsed, and links not seen before are queued.
//
// Much of the work is on strings, a thread's own or handed over; the rest is shared tables under many small locks.
//
// Synchronization: a pool of threads around one work queue (mutex and condition variable), which ends when no page is
// queued or being read; a set of the addresses seen, in stripes with a mutex each; a table of hosts under a
// reader-writer lock; a mutex per host, held while a page is fetched, for at most one connection to each; statistics
// in relaxed atomics. The size is the number of pages.
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "workload.h"

namespace {

constexpr uint64_t kHosts = 64;
constexpr uint64_t kWordsPerPage = 150;
constexpr uint64_t kLinksPerPage = 8;
constexpr std::string_view kScheme = "http://";
constexpr std::string_view kLinkStart = "<a href=\"";

constexpr std::array<std::string_view, 24> kWords = {"a",      "barrier", "clock",   "condition", "detector", "event",
                                                     "fork",   "happens", "in",      "join",      "lock",     "memory",
                                                     "mutex",  "order",   "pointer", "queue",     "race",     "release",
                                                     "shadow", "stack",   "thread",  "vector",    "waits",    "zone"};

struct Address {
  std::string host;
  std::string path;

  static std::optional<Address> Parse(std::string_view text) {
    if (!text.starts_with(kScheme)) return std::nullopt;
    text.remove_prefix(kScheme.size());
    const size_t slash = text.find('/');
    if (slash == text.npos) return std::nullopt;
    return Address{std::string(text.substr(0, slash)), std::string(text.substr(slash))};
  }
  std::string Text() const { return std::string(kScheme) + host + path; }
};

// What a server would send. Has no state: all threads may use it at once.
class Web {
 public:
  explicit Web(uint64_t pages) : pages_(pages) {}

  Address AddressOf(uint64_t page) const {
    return {"host" + std::to_string(HostOf(page)) + ".example", "/page" + std::to_string(page)};
  }

  std::string Fetch(const Address& address) const {
    const uint64_t page = std::strtoull(address.path.c_str() + std::strlen("/page"), nullptr, 10);
    workload::Random random(page);
    std::string text = "<html><body>";
    text.reserve(2048);
    // The first two links are those of a binary tree, so that every page can be reached.
    for (uint64_t link = 0; link < kLinksPerPage; ++link) {
      AppendWords(&text, &random, kWordsPerPage / kLinksPerPage);
      const uint64_t target = link < 2 ? 2 * page + 1 + link : random.Below(pages_);
      if (target < pages_) AppendLink(&text, page, target);
    }
    return text += "</body></html>";
  }

 private:
  static uint64_t HostOf(uint64_t page) { return workload::Random(~page).Below(kHosts); }

  static void AppendWords(std::string* text, workload::Random* random, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      *text += kWords[random->Below(kWords.size())];
      *text += ' ';
    }
  }

  void AppendLink(std::string* text, uint64_t from, uint64_t target) const {
    const Address address = AddressOf(target);
    *text += kLinkStart;
    *text += HostOf(from) == HostOf(target) ? address.path : address.Text();
    *text += "\">";
    *text += address.path.substr(1);
    *text += "</a> ";
  }

  const uint64_t pages_;
};

// Pages to read. Knows how many are being read, since these may add more.
class Frontier {
 public:
  void Push(Address address) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(address));
    ++unfinished_;
    changed_.notify_one();
  }

  // Nothing once there will be no more.
  std::optional<Address> Pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || unfinished_ == 0; });
    if (queue_.empty()) return std::nullopt;
    std::optional<Address> address = std::move(queue_.front());
    queue_.pop_front();
    return address;
  }

  // To be called for each page that was popped, after its links are pushed.
  void Done() {
    const std::lock_guard lock(mutex_);
    if (--unfinished_ == 0) changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Address> queue_;
  uint64_t unfinished_ = 0;  // queued or being read
};

class SeenSet {
 public:
  // True the first time.
  bool Add(const std::string& text) {
    Stripe& stripe = stripes_[std::hash<std::string>()(text) % stripes_.size()];
    const std::lock_guard lock(stripe.mutex);
    return stripe.texts.insert(text).second;
  }

 private:
  struct alignas(64) Stripe {
    std::mutex mutex;
    std::unordered_set<std::string> texts;
  };
  std::array<Stripe, 16> stripes_;
};

struct Host {
  std::mutex connection;  // guards the rest
  uint64_t pages = 0;
  uint64_t bytes = 0;
};

class HostTable {
 public:
  // The host of that name, which stays where it is.
  Host* Get(const std::string& name) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = hosts_.find(name); found != hosts_.end()) return found->second.get();
    }
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Host>& host = hosts_[name];
    if (host == nullptr) host = std::make_unique<Host>();
    return host.get();
  }

  // Only when nobody else uses the table.
  uint64_t Digest() const {
    uint64_t digest = 0;
    for (const auto& [name, host] : hosts_) {
      workload::Checksum checksum;
      for (const char c : name) checksum.Add(static_cast<uint64_t>(c));
      checksum.Add(host->pages);
      checksum.Add(host->bytes);
      digest += checksum.Value();
    }
    return digest;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Host>> hosts_;
};

class Crawler {
 public:
  explicit Crawler(uint64_t pages) : web_(pages) { Visit(web_.AddressOf(0)); }

  // Returns when all is read.
  void Run() {
    while (const std::optional<Address> address = frontier_.Pop()) {
      Read(*address, Fetch(*address));
      frontier_.Done();
    }
  }

  uint64_t Digest() const {
    workload::Checksum checksum;
    for (const auto* statistic : {&pages_, &links_, &repeated_links_, &words_, &letters_})
      checksum.Add(statistic->load());
    return checksum.Value() + hosts_.Digest();
  }

 private:
  std::string Fetch(const Address& address) {
    Host* const host = hosts_.Get(address.host);
    const std::lock_guard connection(host->connection);
    std::string text = web_.Fetch(address);
    ++host->pages;
    host->bytes += text.size();
    return text;
  }

  // Takes the page apart into words and tags.
  void Read(const Address& base, std::string_view text) {
    workload::Checksum letters;
    uint64_t words = 0;
    while (!text.empty()) {
      if (text.front() == '<') {
        const size_t end = text.find('>');
        if (text.starts_with(kLinkStart)) Follow(base, text.substr(kLinkStart.size(), end - kLinkStart.size() - 1));
        text.remove_prefix(end + 1);
      } else if (text.front() == ' ') {
        text.remove_prefix(1);
      } else {
        const std::string_view word = text.substr(0, text.find_first_of(" <"));
        for (const char c : word) letters.Add(static_cast<uint64_t>(c));
        ++words;
        text.remove_prefix(word.size());
      }
    }
    pages_.fetch_add(1, std::memory_order_relaxed);
    words_.fetch_add(words, std::memory_order_relaxed);
    letters_.fetch_add(letters.Value(), std::memory_order_relaxed);
  }

  void Follow(const Address& base, std::string_view link) {
    links_.fetch_add(1, std::memory_order_relaxed);
    if (link.starts_with('/'))
      Visit({base.host, std::string(link)});
    else if (std::optional<Address> address = Address::Parse(link))
      Visit(std::move(*address));
  }

  void Visit(Address address) {
    if (seen_.Add(address.Text()))
      frontier_.Push(std::move(address));
    else
      repeated_links_.fetch_add(1, std::memory_order_relaxed);
  }

  const Web web_;
  Frontier frontier_;
  SeenSet seen_;
  HostTable hosts_;
  std::atomic<uint64_t> pages_ = 0, links_ = 0, repeated_links_ = 0, words_ = 0, letters_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 50'000});
  Crawler crawler(options.size);
  workload::InParallel(options.threads, [&](int) { crawler.Run(); });
  return workload::Finish("crawler", crawler.Digest());
}
