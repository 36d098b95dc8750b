// Messages that are handed from thread to thread, an arena that all use, a message that all read, descriptors and JSON made when they are first needed. The
// library is plain; what its headers have is compiled with the program. They make maps larger if __SANITIZE_THREAD__ is defined, which the library knows
// nothing of: docs/plain-libraries.md.
// NORACE
// PACKAGES: protobuf
// FLAGS: -U__SANITIZE_THREAD__
#include <google/protobuf/arena.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

using google::protobuf::Struct;

static std::mutex mutex;
static std::condition_variable changed;
static std::queue<Struct*> messages;
static std::atomic<size_t> sum;

static void Produce(int number) {
  for (int i = 0; i < 50; ++i) {
    auto* message = new Struct;
    (*message->mutable_fields())["n"].set_number_value(number * 1000 + i);
    (*message->mutable_fields())["s"].set_string_value(std::string(40, 'x'));
    const std::lock_guard lock(mutex);
    messages.push(message);
    changed.notify_one();
  }
}

static void Consume() {
  for (int i = 0; i < 50; ++i) {
    std::unique_ptr<Struct> message;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [] { return !messages.empty(); });
      message.reset(messages.front());
      messages.pop();
    }
    Struct copy;
    copy.ParseFromString(message->SerializeAsString());
    sum += copy.fields().size() + message->DebugString().size();
  }
}

static void InArena(google::protobuf::Arena& arena) {
  for (int i = 0; i < 50; ++i) {
    auto* message = google::protobuf::Arena::CreateMessage<Struct>(&arena);
    (*message->mutable_fields())["key"].set_string_value(std::string(100, 'y'));
    sum += message->fields().size();
  }
}

static void Describe() {
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName("google.protobuf.Struct");
  Struct message;
  std::string json;
  (*message.mutable_fields())["a"].set_bool_value(true);
  if (!google::protobuf::util::MessageToJsonString(message, &json).ok()) std::abort();
  Struct read;
  if (!google::protobuf::util::JsonStringToMessage(json, &read).ok()) std::abort();
  google::protobuf::DynamicMessageFactory factory;
  std::unique_ptr<google::protobuf::Message> dynamic(factory.GetPrototype(descriptor)->New());
  dynamic->ParseFromString(read.SerializeAsString());
  sum += dynamic->ByteSizeLong();
}

template <class Work>
static void InThreads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

int main() {
  InThreads([](int number) { number % 2 == 0 ? Produce(number) : Consume(); });
  {
    google::protobuf::Arena arena;
    InThreads([&](int) { InArena(arena); });
  }
  InThreads([](int) { Describe(); });
  Struct shared;
  (*shared.mutable_fields())["a"].set_number_value(1);
  InThreads([&](int) { sum += shared.SerializeAsString().size() + Struct(shared).fields().size(); });
  return sum > 0 ? 0 : 1;
}
