// The ring: how messages (events/wire.h) get out of the program under test. Shared memory, one writer process, one reader
// process. It survives the writer: whatever was published is there to read after a crash or a kill.
//
// The writer publishes whole messages only: `head` moves past a message after its last byte is in place. Positions count bytes
// since the start and never wrap; the place of a byte is its position modulo the capacity. Writers within the process exclude each
// other by a lock that is not in here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace redflag {

struct RingHeader {
  static constexpr size_t kReaderLivesBytes = 48;       // a pthread_mutex_t of the reader's libc
  static constexpr uint64_t kMagic = 0x31676c66646572;  // "redflg1"

  uint64_t magic;
  uint64_t capacity;          // bytes of data, a power of two
  alignas(64) uint64_t head;  // written so far; stored with release by the writer
  uint32_t wake;              // futex: counts publications
  uint32_t writer_done;       // 1: nothing more will come
  alignas(64) uint64_t tail;  // read so far; stored with release by the reader
  uint32_t drained;        // futex: counts what the reader has finished with, report and all; equals `wake` at the end
  uint32_t reader_waits;   // 1: the reader sleeps on `wake`
  uint64_t dropped;        // messages that found no room
  uint32_t reader_failed;  // 1: the reader could not be started, or gave up
  uint64_t
      suppressed;  // races that were not reported because the user does not want to hear of them; counted by the reader
  uint32_t reader_lives;  // a robust futex that the reader holds
  uint64_t settled;  // of what was read, all up to here has been reported; the rest the reader holds back for a while

  // Was there a reader, and is there none any more, whatever it was that ended it? The kernel says so in the futex.
  bool ReaderHasDied() const {
    constexpr uint32_t kOwnerDied = 0x40000000;  // FUTEX_OWNER_DIED
    return (__atomic_load_n(&reader_lives, __ATOMIC_ACQUIRE) & kOwnerDied) != 0;
  }
};
inline constexpr size_t kRingDataOffset = 256;
static_assert(sizeof(RingHeader) <= kRingDataOffset);

}  // namespace redflag
