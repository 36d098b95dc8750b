// With g++ and `redflag c++ --throw`, the compiler's own accesses throw in place of happening, in the function itself and through its callers,
// with their destructors; and never where that would end the program. Run with on_race=throw.
#include <pthread.h>

#include <future>
#include <redflag/race_error.hpp>

#include "check.h"

struct Shared {
  int number;
  char byte;
  short half;
  long wide;
  double real;
  float single;
  int array[16];
  long pair[2];
  Shared* next;
  unsigned bits : 5;
};

Shared* shared;
int direct;
int ended;

struct Guard {
  ~Guard() { ++ended; }
};

#define NEVER __attribute__((noinline))

NEVER void WriteNumber(Shared* s) {
  const Guard guard;
  s->number = 2;
}
NEVER int ReadNumber(const Shared* s) { return s->number; }
NEVER void WriteByte(Shared* s) { s->byte = 2; }
NEVER int ReadHalf(const Shared* s) { return s->half; }
NEVER void AddWide(Shared* s, long value) { s->wide += value; }
NEVER double ReadReal(const Shared* s) { return s->real * 2; }
NEVER void WriteReal(Shared* s, double value) { s->real = value; }
NEVER void WriteSingle(Shared* s, float value) { s->single = value; }
NEVER int ReadElement(const Shared* s, int i) { return s->array[i]; }
NEVER void WriteElement(Shared* s, int i, int value) { s->array[i] = value; }
NEVER Shared* Follow(const Shared* s) { return s->next; }
NEVER void WriteBits(Shared* s) { s->bits = 3; }
NEVER void Deep(Shared* s, int depth) {
  const Guard guard;
  if (depth == 0) {
    WriteNumber(s);
  } else {
    Deep(s, depth - 1);
  }
}
// The value has to be the one before, whatever the compiler keeps where.
NEVER long KeepsState(Shared* s, long a, long b, long c) {
  long sum = a;
  for (long i = 0; i < 3; ++i) {
    try {
      sum += b * i;
      s->wide = sum;
      sum = -1000000;
    } catch (const redflag::data_race_error&) {
      sum += c;
    }
  }
  return sum;
}

NEVER void MayNotThrow(Shared* s) noexcept { s->number = 3; }
struct InDestructor {
  explicit InDestructor(Shared* s) : s(s) {}
  ~InDestructor() { s->half = 3; }
  Shared* s;
};
NEVER void Destroys(Shared* s) { const InDestructor racy(s); }
NEVER void WriteDirectly() { direct = 5; }

void* Other(void*) {
  shared->number = 1;
  shared->byte = 1;
  shared->half = 1;
  shared->wide = 1;
  shared->real = 1;
  shared->single = 1;
  for (int& element : shared->array) element = 1;
  shared->next = shared;
  shared->bits = 1;
  direct = 1;
  Arrive();
  Await(2);
  return nullptr;
}

void CheckThrown(Shared* s) {
  CHECK_THROWS(WriteNumber(s));
  CHECK(ended == 1);
  CHECK_THROWS(WriteNumber(s));  // again
  CHECK_THROWS(Deep(s, 20));
  CHECK(ended == 1 + 1 + 22);
  CHECK_THROWS(USE(ReadNumber(s)));
  CHECK_THROWS(WriteByte(s));
  CHECK_THROWS(USE(ReadHalf(s)));
  CHECK_THROWS(AddWide(s, 4));
  CHECK_THROWS(ReadReal(s));
  CHECK_THROWS(WriteReal(s, 3));
  CHECK_THROWS(WriteSingle(s, 3));
  CHECK_THROWS(USE(ReadElement(s, 5)));
  CHECK_THROWS(WriteElement(s, 7, 2));
  CHECK_THROWS(USE(Follow(s)));
  CHECK_THROWS(WriteBits(s));
  CHECK(KeepsState(s, 7, 10, 100) == 7 + 30 + 300);
  bool is_thrown = false;
  try {
    s->array[3] = 4;  // in the function that catches it
  } catch (const std::exception& error) {
    is_thrown = true;
  }
  CHECK(is_thrown);
  // By std::async's own handler, and again by whoever asks for the result.
  CHECK_THROWS(std::async(std::launch::async, [s] { return ReadNumber(s); }).get());
}

void* Ends(void* s) {
  const Guard guard;
  const redflag::race_scope scope(redflag::on_race::stop_thread);
  WriteNumber(static_cast<Shared*>(s));
  ended = 1000;
  return nullptr;
}
void* NobodyCatches(void* s) {
  WriteReal(static_cast<Shared*>(s), 9);
  ended = 0;
  return nullptr;
}
void Run(void* (*body)(void*), Shared* s) {
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, body, s) == 0);
  pthread_join(thread, nullptr);
}

int main() {
  shared = new Shared();
  Shared* const s = shared;
  pthread_t other;
  CHECK(pthread_create(&other, nullptr, Other, nullptr) == 0);
  Await(1);
  CheckThrown(s);
  // A thread that ends in place of the access.
  ended = 0;
  Run(Ends, s);
  CHECK(ended == 2);
  // What cannot be thrown happens.
  Run(NobodyCatches, s);
  CHECK(ended == 0);
  try {
    MayNotThrow(s);
    Destroys(s);
    WriteDirectly();
  } catch (...) {
    CHECK(!"thrown");
  }
  {
    const redflag::race_scope scope(redflag::on_race::report);
    WriteByte(s);
  }
  redflag::set_policy(s->single, redflag::on_race::report);
  WriteSingle(s, 5);
  Arrive();
  pthread_join(other, nullptr);
  CHECK(s->number == 3 && s->byte == 2 && s->half == 3 && s->real == 9 && s->wide == 1 && s->single == 5 &&
        direct == 5);
  puts("all is well");
}
