// oneTBB: loops, reductions, groups of tasks, graphs, and its containers. Templates are compiled with the program; the scheduler, which hands tasks from
// thread to thread, is a plain library.
// NORACE
// PACKAGES: tbb
#include <tbb/tbb.h>

#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

using Range = tbb::blocked_range<size_t>;

static long Loops() {
  std::vector<long> data(10000);
  std::iota(data.begin(), data.end(), 0);
  tbb::parallel_for(Range(0, data.size(), 100), [&](const Range& range) {
    for (size_t i = range.begin(); i != range.end(); ++i) data[i] *= 2;
  });
  return tbb::parallel_reduce(
      Range(0, data.size(), 100), 0L,
      [&](const Range& range, long sum) {
        for (size_t i = range.begin(); i != range.end(); ++i) sum += data[i];
        return sum;
      },
      std::plus<long>());
}

static long Groups() {
  std::vector<long*> made(8);
  tbb::task_group group;
  for (int i = 0; i < 8; ++i) group.run([&made, i] { made[static_cast<size_t>(i)] = new long(i); });
  group.wait();
  long sum = 0;
  for (long* value : made) {
    sum += *value;
    delete value;
  }
  return sum;
}

static long Containers() {
  tbb::concurrent_hash_map<int, std::vector<int>> map;
  tbb::concurrent_vector<int> vector;
  tbb::enumerable_thread_specific<int> own(0);
  tbb::parallel_for(0, 500, [&](int i) {
    tbb::concurrent_hash_map<int, std::vector<int>>::accessor entry;
    map.insert(entry, i % 17);
    entry->second.push_back(i);
    entry.release();
    vector.push_back(i);
    ++own.local();
  });
  long sum = own.combine(std::plus<int>());
  for (const auto& entry : map) sum += static_cast<long>(entry.second.size());
  return sum + static_cast<long>(vector.size());
}

static long Queues() {
  tbb::concurrent_queue<int*> queue;
  tbb::spin_mutex mutex;
  long sum = 0;
  tbb::parallel_invoke(
      [&] {
        for (int i = 0; i < 200; ++i) queue.push(new int(i));
      },
      [&] {
        for (int i = 0; i < 200;) {
          int* taken = nullptr;
          if (!queue.try_pop(taken)) continue;
          tbb::spin_mutex::scoped_lock lock(mutex);
          sum += *taken;
          delete taken;
          ++i;
        }
      });
  tbb::concurrent_bounded_queue<int*> bounded;
  bounded.set_capacity(4);
  std::thread producer([&] {
    for (int i = 0; i < 100; ++i) bounded.push(new int(i));
  });
  for (int i = 0; i < 100; ++i) {
    int* taken = nullptr;
    bounded.pop(taken);
    sum += *taken;
    delete taken;
  }
  producer.join();
  return sum;
}

static long Locks() {
  tbb::queuing_mutex queuing;
  tbb::spin_rw_mutex spinning;
  tbb::queuing_rw_mutex readers_writer;
  long first = 0, second = 0, third = 0;
  tbb::parallel_for(0, 200, [&](int i) {
    {
      const tbb::queuing_mutex::scoped_lock lock(queuing);
      ++first;
    }
    {
      const tbb::spin_rw_mutex::scoped_lock lock(spinning, true);
      ++second;
    }
    tbb::queuing_rw_mutex::scoped_lock lock(readers_writer, i % 2 == 0);
    if (i % 2 == 0) ++third;
    if (i % 2 == 1 && third < 0) std::abort();
  });
  return first + second + third;
}

static long Graph() {
  tbb::flow::graph graph;
  long sum = 0;
  tbb::flow::function_node<int, long*> square(graph, tbb::flow::unlimited, [](int i) { return new long(i * i); });
  tbb::flow::function_node<long*> add(graph, tbb::flow::serial, [&](long* value) {
    sum += *value;
    delete value;
    return tbb::flow::continue_msg();
  });
  tbb::flow::make_edge(square, add);
  for (int i = 0; i < 50; ++i) square.try_put(i);
  graph.wait_for_all();
  return sum;
}

int main() {
  for (int i = 0; i < 5; ++i) {
    if (Loops() != 99990000 || Groups() != 28 || Containers() != 1500 || Queues() != 19900 + 4950 || Locks() != 500 ||
        Graph() != 40425) {
      return 1;
    }
  }
}
