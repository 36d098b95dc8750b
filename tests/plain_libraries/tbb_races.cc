// Races of a program's own code in tasks of oneTBB: two tasks of a group, and what is changed when one has been given away.
// PACKAGES: tbb
// FLAGS: -I{here}/../e2e
#include <tbb/tbb.h>

#include "invisible.h"

int in_group, after_run;  // not static: what nobody reads may go

int main() {
  // Two threads besides this one, whatever the machine has.
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 3);
  tbb::task_arena arena(3);
  tbb::task_group group;
  arena.execute([&] {
    group.run([] {
      in_group = 1;  // RACE(tasks) CHAIN(tasks): lambda
      Arrive();
      Await(2);
    });
    group.run([] {
      Await(1);
      in_group = 2;  // RACE(tasks) CHAIN(tasks): lambda
      Arrive();
      Await(3);
      USE(after_run);  // RACE(after) CHAIN(after): lambda
      Arrive();
    });
  });
  Await(2);
  after_run = 1;  // RACE(after) CHAIN(after): main
  Arrive();
  Await(4);
  arena.execute([&] { group.wait(); });
}
