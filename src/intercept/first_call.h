// Objects of the program that a plain library takes, and of which it calls a virtual function later, in another thread: a task, a runnable. What the
// program did before it gave the object away comes before that call; the library keeps that order by means that nobody sees.
//
// OnFirstCall gives the object another table of virtual functions, a copy of its own in which one or two functions are ours. The first call gives it
// its own table back, is told to the runtime, and goes on. All else in the copy is as it was, run-time type information included.
//
// There is one copy for each class, and as many as fit; objects of classes beyond keep their table. Callable from any thread that may call the object's
// functions.
#pragma once

#include <cstdint>

namespace redflag {

class FirstCall {
 public:
  static constexpr uint32_t kWords = 16;  // of a table, that are copied: what a call between may need
  using Table = void**;

  // Which of the functions, in the order of their declaration, are replaced, and by what. One of these for each kind of object.
  struct Kind {
    uint32_t first, second;  // the same, if there is one
    void* first_function;
    void* second_function;
  };

  // False: the object keeps its table.
  static bool Expect(void* object, const Kind& kind);
  // In a function of ours: the object has its own table again, which is answered.
  static Table Restore(void* object);
};

}  // namespace redflag
