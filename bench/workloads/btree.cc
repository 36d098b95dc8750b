// B-tree with a reader-writer lock in each node, after Boxwood in the RaceTrack paper (section 4.2): a simulation of
// a distributed B-tree under random insertions and deletions, with "fine-grained locking".
//
// All walks couple locks from the root down: the lock of a child is taken before that of its parent is given up.
//   find                 shared locks all the way
//   insert, erase        shared locks, exclusive on the leaf
//   insert, leaf full    again, with exclusive locks, and each full node on the way is split
//   compress             likewise, and neighbours with few entries are merged or evened out
// Erasing leaves thin leaves behind; one more thread, the compressor, is told of them by a condition variable and
// puts them right. Nobody waits for a node while its parent is locked exclusively, so a merged one is freed at once.
//
// The operations come from 64 clients, shared out among the threads. A client's keys are its own, so that its results
// depend on its own past alone, but they lie side by side with everybody's. The tree grows and shrinks by turns.
//
// Synchronization: std::shared_mutex, one per node; mutex and condition variable. The size is the number of operations.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "workload.h"

namespace {

constexpr int kClients = 64;
constexpr uint64_t kBatch = 16;  // operations of one client in a row
constexpr size_t kFanout = 64;
constexpr size_t kThin = kFanout / 3;

// What the tree stores. Belongs to the thread that makes it, then to the leaf, then to the thread that erases it.
struct Record {
  explicit Record(uint64_t seed) {
    workload::Random random(seed);
    for (uint64_t& word : words) word = random.Next();
  }
  uint64_t Digest() const {
    workload::Checksum checksum;
    for (const uint64_t word : words) checksum.Add(word);
    return checksum.Value();
  }

  std::array<uint64_t, 16> words;
};

// Entries in the order of their keys. In a leaf (level 0) each has a record; above, each has a child, which holds the
// keys from the entry's own to the next one's, but the first child has all the smaller ones too.
struct Node {
  union Content {
    Record* record;
    Node* child;
  };

  explicit Node(size_t level_of_node) : level(level_of_node) {}
  bool full() const { return count == kFanout; }

  // The first entry that is not less than the key.
  size_t LowerBound(uint64_t key) const {
    return static_cast<size_t>(std::lower_bound(keys.begin(), keys.begin() + count, key) - keys.begin());
  }
  bool HasAt(size_t index, uint64_t key) const { return index < count && keys[index] == key; }
  size_t ChildIndex(uint64_t key) const {
    return static_cast<size_t>(std::upper_bound(keys.begin() + 1, keys.begin() + count, key) - keys.begin()) - 1;
  }
  Node* ChildFor(uint64_t key) const { return contents[ChildIndex(key)].child; }

  void InsertAt(size_t index, uint64_t key, Content content) {
    std::copy_backward(keys.begin() + index, keys.begin() + count, keys.begin() + count + 1);
    std::copy_backward(contents.begin() + index, contents.begin() + count, contents.begin() + count + 1);
    keys[index] = key;
    contents[index] = content;
    ++count;
  }
  void EraseAt(size_t index) {
    std::copy(keys.begin() + index + 1, keys.begin() + count, keys.begin() + index);
    std::copy(contents.begin() + index + 1, contents.begin() + count, contents.begin() + index);
    --count;
  }

  // Moves entries to or from the next node of the same level, until this one has `wanted`.
  void Even(Node* next, size_t wanted) {
    for (; count < wanted; next->EraseAt(0)) InsertAt(count, next->keys[0], next->contents[0]);
    for (; count > wanted; --count) next->InsertAt(0, keys[count - 1], contents[count - 1]);
  }

  std::shared_mutex lock;  // guards all that follows
  size_t level;            // changes in the root alone
  size_t count = 0;
  std::array<uint64_t, kFanout> keys;
  std::array<Content, kFanout> contents;
};

class BTree {
 public:
  BTree() : root_(1) { root_.InsertAt(0, 0, {.child = new Node(0)}); }

  // The digest of the record, or 0.
  uint64_t Find(uint64_t key) {
    Node* node = &root_;
    node->lock.lock_shared();
    while (node->level > 0) {
      Node* const child = node->ChildFor(key);
      child->lock.lock_shared();
      node->lock.unlock_shared();
      node = child;
    }
    const size_t index = node->LowerBound(key);
    const uint64_t digest = node->HasAt(index, key) ? node->contents[index].record->Digest() : 0;
    node->lock.unlock_shared();
    return digest;
  }

  // False if the key is there already.
  bool Insert(uint64_t key, std::unique_ptr<Record> record) {
    Node* leaf = LockLeaf(key);
    if (leaf->full()) {
      leaf->lock.unlock();
      leaf = LockLeafWithRoom(key);
    }
    const std::lock_guard lock(leaf->lock, std::adopt_lock);
    const size_t index = leaf->LowerBound(key);
    if (leaf->HasAt(index, key)) return false;
    leaf->InsertAt(index, key, {.record = record.release()});
    return true;
  }

  struct Erased {
    std::unique_ptr<Record> record;  // null if there was none
    bool thin;                       // the leaf just became so, and should be compressed
  };
  Erased Erase(uint64_t key) {
    Node* const leaf = LockLeaf(key);
    const std::lock_guard lock(leaf->lock, std::adopt_lock);
    const size_t index = leaf->LowerBound(key);
    if (!leaf->HasAt(index, key)) return {nullptr, false};
    std::unique_ptr<Record> record(leaf->contents[index].record);
    leaf->EraseAt(index);
    return {std::move(record), leaf->count == kThin - 1};
  }

  // Merges or evens out thin nodes on the way to the key.
  void Compress(uint64_t key) {
    Node* node = &root_;
    node->lock.lock();
    LowerRoot();
    while (true) {
      EvenChild(node, node->ChildIndex(key));
      if (node->level == 1) break;
      Node* const child = node->ChildFor(key);
      child->lock.lock();
      node->lock.unlock();
      node = child;
    }
    node->lock.unlock();
  }

  // Empties the tree for good and returns a digest of what it held. Only when nobody else uses it.
  uint64_t Finish() {
    workload::Checksum checksum;
    FreeContents(&root_, &checksum);
    return checksum.Value();
  }

 private:
  Node* LockLeaf(uint64_t key) {
    Node* node = &root_;
    node->lock.lock_shared();
    while (true) {
      const bool above_leaf = node->level == 1;
      Node* const child = node->ChildFor(key);
      above_leaf ? child->lock.lock() : child->lock.lock_shared();
      node->lock.unlock_shared();
      if (above_leaf) return child;
      node = child;
    }
  }

  Node* LockLeafWithRoom(uint64_t key) {
    Node* node = &root_;
    node->lock.lock();
    if (node->full()) RaiseRoot();
    while (node->level > 0) {
      Node* child = node->ChildFor(key);
      child->lock.lock();
      if (child->full()) child = Split(node, child, key);
      node->lock.unlock();
      node = child;
    }
    return node;
  }

  // Gives the upper half of a full child to a new neighbour; returns the one that the key belongs to, locked.
  static Node* Split(Node* parent, Node* child, uint64_t key) {
    Node* const next = new Node(child->level);
    next->lock.lock();
    child->Even(next, kFanout / 2);
    parent->InsertAt(parent->LowerBound(next->keys[0]), next->keys[0], {.child = next});
    const bool goes_right = key >= next->keys[0];
    (goes_right ? child : next)->lock.unlock();
    return goes_right ? next : child;
  }

  // The root stays where it is, so that nothing has to guard a pointer to it: its entries move a level down, or up.
  void RaiseRoot() {
    Node* const child = new Node(root_.level);
    const std::lock_guard lock(child->lock);
    root_.Even(child, 0);
    ++root_.level;
    root_.InsertAt(0, 0, {.child = child});
  }
  void LowerRoot() {
    while (root_.level > 1 && root_.count == 1) {
      Node* const child = root_.contents[0].child;
      child->lock.lock();
      root_.count = 0;
      --root_.level;
      root_.Even(child, child->count);
      child->lock.unlock();
      delete child;
    }
  }

  static void EvenChild(Node* parent, size_t index) {
    if (parent->count < 2) return;
    const size_t left_index = std::min(index, parent->count - 2);
    Node* const left = parent->contents[left_index].child;
    Node* const right = parent->contents[left_index + 1].child;
    std::unique_lock left_lock(left->lock), right_lock(right->lock);
    if (left->count >= kThin && right->count >= kThin) return;
    const size_t total = left->count + right->count;
    if (total > kFanout * 3 / 4) {
      left->Even(right, total / 2);
      parent->keys[left_index + 1] = right->keys[0];
    } else {
      left->Even(right, total);
      parent->EraseAt(left_index + 1);
      right_lock.unlock();
      delete right;
    }
  }

  static void FreeContents(Node* node, workload::Checksum* checksum) {
    for (size_t i = 0; i < node->count; ++i) {
      if (node->level > 0) {
        FreeContents(node->contents[i].child, checksum);
        delete node->contents[i].child;
      } else {
        checksum->Add(node->keys[i]);
        checksum->Add(node->contents[i].record->Digest());
        delete node->contents[i].record;
      }
    }
  }

  Node root_;  // its level is at least 1
};

class Compressor {
 public:
  explicit Compressor(BTree* tree) : tree_(tree), thread_([this] { Run(); }) {}

  void Notify(uint64_t key) {
    const std::lock_guard lock(mutex_);
    keys_.push_back(key);
    wake_.notify_one();
  }

  void Finish() {
    std::unique_lock lock(mutex_);
    finished_ = true;
    wake_.notify_one();
    lock.unlock();
    thread_.join();
  }

 private:
  void Run() {
    std::vector<uint64_t> batch;
    std::unique_lock lock(mutex_);
    while (!keys_.empty() || !finished_) {
      wake_.wait(lock, [this] { return !keys_.empty() || finished_; });
      batch.swap(keys_);
      lock.unlock();
      for (const uint64_t key : batch) tree_->Compress(key);
      batch.clear();
      lock.lock();
    }
  }

  BTree* const tree_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<uint64_t> keys_;
  bool finished_ = false;
  std::thread thread_;  // last: it uses all the others
};

class Client {
 public:
  Client(BTree* tree, Compressor* compressor, uint64_t number, uint64_t keys)
      : tree_(tree), compressor_(compressor), number_(number), keys_(keys), random_(number) {}

  void RunOne() {
    const bool growing = done_++ / (4 * keys_) % 2 == 0;
    const uint64_t key = random_.Below(keys_) * kClients + number_;
    const uint64_t choice = random_.Below(100);
    if (choice < 40) {
      results_.Add(tree_->Find(key));
    } else if ((choice < 90) == growing) {
      results_.Add(uint64_t{tree_->Insert(key, std::make_unique<Record>(random_.Next()))});
    } else if (const BTree::Erased erased = tree_->Erase(key); erased.record != nullptr) {
      results_.Add(erased.record->Digest());
      if (erased.thin) compressor_->Notify(key);
    }
  }
  uint64_t digest() const { return results_.Value(); }

 private:
  BTree* const tree_;
  Compressor* const compressor_;
  const uint64_t number_, keys_;
  workload::Random random_;
  uint64_t done_ = 0;
  workload::Checksum results_;
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 2'000'000});
  const uint64_t keys = 16 + options.size / 4096;  // of each client
  BTree tree;
  Compressor compressor(&tree);
  std::vector<uint64_t> digests(options.threads);
  workload::InParallel(options.threads, [&](int thread) {
    const workload::Range own = workload::ShareOf(kClients, thread, options.threads);
    std::vector<Client> clients;
    for (uint64_t i = own.begin; i < own.end; ++i) clients.emplace_back(&tree, &compressor, i, keys);
    const uint64_t rounds = options.size / (kClients * kBatch) + 1;
    for (uint64_t round = 0; round < rounds; ++round)
      for (Client& client : clients)
        for (uint64_t i = 0; i < kBatch; ++i) client.RunOne();
    for (const Client& client : clients) digests[thread] += client.digest();
  });
  compressor.Finish();
  uint64_t checksum = tree.Finish();
  for (const uint64_t digest : digests) checksum += digest;
  return workload::Finish("btree", checksum);
}
