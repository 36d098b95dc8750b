// Many threads fork at the same time: each child is whole, and nobody waits for others who wait for their turn.
// NORACE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void* Forker(void*) {
  for (int i = 0; i < 4; ++i) {
    auto* block = static_cast<volatile int*>(calloc(1, 64));
    block[0] = 1;
    __atomic_fetch_add(const_cast<int*>(block) + 1, 1, __ATOMIC_SEQ_CST);
    const pid_t child = fork();
    if (child == 0) {
      block[0] = 2;
      __atomic_fetch_add(const_cast<int*>(block) + 1, 1, __ATOMIC_SEQ_CST);
      free(const_cast<int*>(block));
      free(malloc(100));
      _exit(7);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) abort();
    free(const_cast<int*>(block));
  }
  return nullptr;
}

int main() {
  pthread_t threads[60];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Forker, nullptr);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}
