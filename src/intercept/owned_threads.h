// Threads that belong to an object of a plain library, which waits for their end by means that nobody sees, and does not join them: QThread.
//
// The library's function that starts the thread is told before (Starting) and after (Started); the thread that it creates meanwhile is the object's. When
// the library says that the thread has ended, it may still be about to: Await waits for the last of it, a moment, and takes over all that it did.
#pragma once

#include "intercept/hooks.h"

namespace redflag {

class OwnedThreads {
 public:
  static void Starting(const void* owner);
  static void Started();
  static void Await(hooks::Pc pc, const void* owner);

  // For who creates threads (threads.cc): whose the next one is; null: nobody's.
  static const void* Creating();
  static void NotCreated(const void* owner);
  // In the thread itself: its first action, and its last.
  static void Begun(const void* owner);
  static void Ending();
};

}  // namespace redflag
