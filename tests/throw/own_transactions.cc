// Transactions of a manager of the program's own (redflag/transaction.hpp), which is not to be seen: what has committed orders, and an access outside
// of transactions races with one inside. With an argument: what is said of bad use.
#include <redflag/transaction.hpp>
#include <thread>

#include "check.h"

int handed_over, shared, other, mixed;

void Transact(int& variable, int value) {
  redflag::transaction transaction;
  transaction.write(&variable);
  __asm__ volatile("" : "=m"(variable) : "r"(value));  // as an implementation does that is not instrumented
  transaction.commit();
}

void MisuseIt() {
  redflag_transaction_commit();
  redflag_transaction_access(&shared, sizeof shared, 0);
  redflag_transaction_abort();
  redflag::transaction outer;
  redflag::transaction inner;
  inner.abort();
  redflag_transaction_begin();
  outer.commit();
}

int main(int argc, char**) {
  if (argc > 1) {
    MisuseIt();
    return 0;
  }
  std::thread first([] {
    handed_over = 1;
    Transact(shared, 1);
    Transact(mixed, 1);
    {
      redflag::transaction aborted;
      aborted.write(&other);
    }
    Arrive();
    Await(2);
  });
  std::thread second([] {
    Await(1);
    Transact(shared, 2);
    handed_over = 2;  // ordered by what both have touched
    other = 2;        // the other one never was
    mixed = 2;        // RACE
    Arrive();
  });
  first.join();
  second.join();
  puts("all is well");
}
