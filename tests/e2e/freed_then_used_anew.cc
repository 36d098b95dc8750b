// Memory that was freed serves others, whatever gives it out: nothing of what was before is held against them.
// NORACE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Node {
  long value;
  Node* next;
};

// Its own pool: what it takes back it uses at once.
struct Pool {
  Node* free = nullptr;
  Node* Take() {
    if (free == nullptr) return static_cast<Node*>(malloc(sizeof(Node)));
    Node* node = free;
    free = node->next;
    return node;
  }
  void Give(Node* node) {
    node->next = free;
    free = node;
  }
};

void Churn(unsigned seed) {
  std::vector<void*> blocks(64);
  for (unsigned i = 0; i < 4000; ++i) {
    seed = seed * 1103515245 + 12345;
    void*& block = blocks[seed >> 16 & 63];
    const size_t size = 8 + (seed >> 8 & 1023);
    switch (i % 7) {
      case 0:
        free(block);
        block = malloc(size);
        break;
      case 1:
        free(block);
        block = calloc(2, size);
        break;
      case 2:
        block = realloc(block, size);
        break;
      case 3:
        free(block);
        block = aligned_alloc(64, (size + 63) / 64 * 64);
        break;
      case 4: {
        free(block);
        std::string text(size, 'a');
        block = strdup(text.c_str());
        break;
      }
      case 5: {
        free(block);
        char* printed = nullptr;
        if (asprintf(&printed, "%*d", static_cast<int>(size), 1) < 0) abort();
        block = printed;
        break;
      }
      default:
        free(block);
        if (posix_memalign(&block, 32, size) != 0) abort();
    }
    memset(block, static_cast<int>(i), 8);
    std::make_unique<Node>()->value = i;
  }
  for (void* block : blocks) free(block);
}

void* Lines(void*) {
  for (int i = 0; i < 50; ++i) {
    FILE* file = tmpfile();
    for (int line = 0; line < 20; ++line) fprintf(file, "%0200d\n", line);
    rewind(file);
    char* line = nullptr;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) > 0) line[0] = 'x';
    free(line);
    fclose(file);
  }
  return nullptr;
}

int main() {
  Pool pool;
  for (int i = 0; i < 100; ++i) {
    Node* node = pool.Take();
    node->value = i;
    pool.Give(node);
  }
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back(Churn, i + 1);
    pthread_t lines;
    pthread_create(&lines, nullptr, Lines, nullptr);
    for (std::thread& thread : threads) thread.join();
    pthread_join(lines, nullptr);
  }
}
