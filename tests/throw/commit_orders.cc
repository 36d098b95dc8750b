// Two transactions, one after the other, and data that is handed over with them: whether that is in order depends on what it is that orders transactions
// (transactions=common|reads|all).
//
//   both-write   they have a byte in common, and the second does not read it
//   reads        the second reads what the first has written
//   blind        so does a third, and in between the second has written over it without having read it
//   apart        they have nothing in common
#include <cstdio>
#include <cstring>
#include <redflag/transaction.hpp>
#include <thread>

#include "invisible.h"

namespace {

int handed_over, flag, other;

void Commit(int* read, int* written) {
  redflag::transaction transaction;
  if (read != nullptr) transaction.read(read);
  if (written != nullptr) transaction.write(written);
  transaction.commit();
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(what, name) == 0; };
  std::thread first([] {
    handed_over = 1;
    Commit(nullptr, &flag);
    Arrive();
    Await(3);
  });
  std::thread second([&] {
    Await(1);
    if (is("blind")) Commit(nullptr, &flag);
    Arrive();
    Await(3);
  });
  Await(2);
  if (is("both-write")) Commit(nullptr, &flag);
  if (is("reads") || is("blind")) Commit(&flag, nullptr);
  if (is("apart")) Commit(&other, &other);
  const int seen = handed_over;
  Arrive();
  first.join();
  second.join();
  std::printf("%d\n", seen);
}
