// A handler may run in a thread as soon as there is one: what the creator did comes before that.
// NORACE
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <thread>

static int config;
static std::atomic<long> sum;

static void Handle(int) { sum.fetch_add(config, std::memory_order_relaxed); }

int main() {
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval often = {{0, 100}, {0, 100}};
  setitimer(ITIMER_PROF, &often, nullptr);
  for (int i = 0; i < 2000; ++i) {
    sigset_t profile;
    sigemptyset(&profile);
    sigaddset(&profile, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &profile, nullptr);
    config = i;
    pthread_sigmask(SIG_UNBLOCK, &profile, nullptr);
    std::thread([] {}).join();
  }
}
