// Hash map with striped locks: chains of nodes, each bucket guarded by one of 64 mutexes; inserts, finds, erases and
// additions to shared counters.
//
// Nearly every access is the first one under a lock that was just taken, to data that another thread touched last. So
// there is little to gain from remembering what was checked a moment ago: locks and first accesses decide.
//
// The operations come from 64 clients, shared out among the threads. A client's keys are its own, so that what it finds
// depends on its own past alone, but they lie in the same chains as everybody's; the counters are everybody's.
//
// Synchronization: std::mutex, one per stripe. The size is the number of operations.
#include <array>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include "workload.h"

namespace {

constexpr int kClients = 64;
constexpr uint64_t kKeysPerClient = 512;
constexpr uint64_t kCounters = 1024;
constexpr size_t kStripes = 64;
constexpr size_t kBuckets = 16384;
constexpr uint64_t kBatch = 16;  // operations of one client in a row

uint64_t Mix(uint64_t key) { return workload::Random(key).Next(); }

class StripedMap {
 public:
  // False if the key is there already.
  bool Insert(uint64_t key, uint64_t value) {
    const Place place = Lock(key);
    if (*place.link != nullptr) return false;
    Append(place, key, value);
    return true;
  }

  std::optional<uint64_t> Find(uint64_t key) {
    const Place place = Lock(key);
    if (*place.link == nullptr) return std::nullopt;
    return (*place.link)->value;
  }

  bool Erase(uint64_t key) {
    const Place place = Lock(key);
    if (*place.link == nullptr) return false;
    *place.link = std::move((*place.link)->next);
    --place.stripe->entries;
    return true;
  }

  // Adds to the value of the key, which counts as 0 if it is not there.
  void Add(uint64_t key, uint64_t amount) {
    const Place place = Lock(key);
    if (*place.link == nullptr) Append(place, key, 0);
    (*place.link)->value += amount;
  }

  // The same for the same contents, in whatever order they got there. Only when nobody else uses the map.
  uint64_t Digest() const {
    uint64_t digest = 0;
    for (const std::unique_ptr<Node>& bucket : buckets_)
      for (const Node* node = bucket.get(); node != nullptr; node = node->next.get())
        digest += Mix(Mix(node->key) + node->value);
    for (const Stripe& stripe : stripes_) digest += stripe.entries;
    return digest;
  }

 private:
  struct Node {
    uint64_t key;
    uint64_t value;
    std::unique_ptr<Node> next;
  };

  struct alignas(64) Stripe {
    std::mutex mutex;
    uint64_t entries = 0;
  };

  // The link that points to the node of a key, or the empty one at the end of its chain, and the lock that guards it.
  struct Place {
    std::unique_lock<std::mutex> lock;
    Stripe* stripe;
    std::unique_ptr<Node>* link;
  };

  Place Lock(uint64_t key) {
    const uint64_t hash = Mix(key);
    Stripe& stripe = stripes_[hash % kStripes];
    Place place{std::unique_lock(stripe.mutex), &stripe, &buckets_[hash % kBuckets]};
    while (*place.link != nullptr && (*place.link)->key != key) place.link = &(*place.link)->next;
    return place;
  }

  static void Append(const Place& place, uint64_t key, uint64_t value) {
    *place.link = std::make_unique<Node>(key, value, nullptr);
    ++place.stripe->entries;
  }

  static_assert(kBuckets % kStripes == 0, "a bucket must belong to one stripe");
  std::array<Stripe, kStripes> stripes_;
  std::vector<std::unique_ptr<Node>> buckets_ = std::vector<std::unique_ptr<Node>>(kBuckets);
};

class Client {
 public:
  Client(StripedMap* map, uint64_t number) : map_(map), number_(number), random_(number) {}

  void Run(uint64_t operations) {
    for (uint64_t i = 0; i < operations; ++i) RunOne();
  }
  uint64_t digest() const { return results_.Value(); }

 private:
  void RunOne() {
    const uint64_t key = kCounters + random_.Below(kKeysPerClient) * kClients + number_;
    const uint64_t choice = random_.Below(100);
    if (choice < 30)
      results_.Add(uint64_t{map_->Insert(key, random_.Next())});
    else if (choice < 70)
      results_.Add(map_->Find(key).value_or(0));
    else if (choice < 95)
      results_.Add(uint64_t{map_->Erase(key)});
    else
      map_->Add(key % kCounters, choice);
  }

  StripedMap* const map_;
  const uint64_t number_;
  workload::Random random_;
  workload::Checksum results_;
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 5'000'000});
  StripedMap map;
  std::vector<uint64_t> digests(kClients);

  workload::InParallel(options.threads, [&](int thread) {
    const workload::Range own = workload::ShareOf(kClients, thread, options.threads);
    std::vector<Client> clients;
    for (uint64_t number = own.begin; number < own.end; ++number) clients.emplace_back(&map, number);
    const uint64_t rounds = options.size / (kClients * kBatch) + 1;
    for (uint64_t round = 0; round < rounds; ++round) {
      for (Client& client : clients) client.Run(kBatch);
      workload::Progress();
    }
    for (uint64_t number = own.begin; number < own.end; ++number)
      digests[number] = clients[number - own.begin].digest();
  });

  return workload::Finish("hashmap", std::accumulate(digests.begin(), digests.end(), map.Digest()));
}
