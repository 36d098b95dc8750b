// The packed cell against what it stands for: one word an access, the filter without a lock, many threads at once. That it
// decides races like the exact one is the differential suite's business (subject_hb_packed.cc).
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/arena.h"
#include "base/mem.h"
#include "clocks/opened_packed_cell.h"
#include "detectors/hb.h"

namespace redflag {
namespace {

using Cell = PackedCell<PlainMem>;

// Knows every time of every slot up to `time`.
struct KnowsUpTo {
  Time time;
  bool Knows(Slot, Time other) const { return other <= time; }
};
constexpr KnowsUpTo kKnowsAll{Time{PackedAccess::kMaxTime}};
constexpr KnowsUpTo kKnowsNothing{kNever};

HistoryEntry Entry(uint16_t slot, uint64_t time, AccessKind kind, uint8_t bytes = 0xff, uint32_t context = 1) {
  return HistoryEntry{.epoch = MakeEpoch(Slot{slot}, Time{time}),
                      .context = ContextId{context},
                      .bytes = ByteMask{bytes},
                      .kind = kind};
}

class PackedCellTest : public testing::Test {
 protected:
  void Record(const HistoryEntry& entry) { Cell::Opened(cell_).Record(arena_, kKnowsAll, entry); }
  void RecordConcurrent(const HistoryEntry& entry) { Cell::Opened(cell_).Record(arena_, kKnowsNothing, entry); }
  bool Shortcut(KnowsUpTo clock, const HistoryEntry& entry) {
    return cell_.TakesShortcut(
        arena_, clock, PackedAccess(entry),
        [this](ContextId old, ContextId fresh, ByteMask bytes) {
          mixed_ = {Raw(old), Raw(fresh), Raw(bytes)};
          return ContextId{99};
        },
        false);
  }
  int Races(const HistoryEntry& entry) {
    int races = 0;
    Cell::Opened(cell_).ForEachRace(kKnowsNothing, entry, [&](const HistoryEntry&) { ++races; });
    return races;
  }
  ~PackedCellTest() override {
    cell_.Clear(arena_);
    EXPECT_EQ(arena_.in_use(), 0u);
  }

  Arena<PlainMem> arena_;
  Cell cell_{};
  std::vector<uint32_t> mixed_;  // the latest pair of contexts that became one, and the bytes of the second
};

// One that tells accesses apart by their locks too, which they have never in common.
struct KnowsLocks : KnowsUpTo {
  bool KeepsApart(PackedAccess, PackedAccess) const { return false; }
};
constexpr KnowsLocks kKnowsLocks{kKnowsAll};

// A thread at a time that it had before, with a read in between.
TEST_F(PackedCellTest, WhereLocksCountWhatIsRedundantStaysAsItIs) {
  Record(Entry(3, 5, AccessKind::kWrite, 0x01));
  Record(Entry(3, 4, AccessKind::kRead, 0x0c));
  Record(Entry(3, 6, AccessKind::kRead, 0xf1));
  ASSERT_TRUE(cell_.has_record());
  const auto read = [&](uint8_t bytes) { return cell_.Covers(PackedAccess(Entry(3, 6, AccessKind::kRead, bytes))); };
  const auto write = [](uint8_t bytes) { return PackedAccess(Entry(3, 5, AccessKind::kWrite, bytes)); };
  EXPECT_FALSE(cell_.GoesOn(kKnowsLocks, write(0x11))) << "a part is redundant";
  EXPECT_TRUE(read(0xf1));
  EXPECT_TRUE(cell_.GoesOn(kKnowsLocks, write(0x10)));
  EXPECT_FALSE(read(0x10)) << "the write has taken its place";
  EXPECT_TRUE(read(0xe1));
  EXPECT_TRUE(cell_.Covers(write(0x11)));

  const auto no_mix = [](ContextId, ContextId, ByteMask) { return kNoContext; };
  EXPECT_TRUE(cell_.TakesShortcut(arena_, kKnowsLocks, write(0x31), no_mix, true));
  EXPECT_TRUE(read(0xc1)) << "byte 0 was redundant, byte 5 was not";
  EXPECT_FALSE(read(0x20));
  EXPECT_TRUE(cell_.GoesOn(kKnowsAll, write(0x41))) << "where nothing but order counts, all of it is new";
  EXPECT_FALSE(read(0x01));
}

TEST(PackedAccessTest, GivesBackWhatWasPutIn) {
  for (const AccessKind kind :
       {AccessKind::kAtomicRead, AccessKind::kRead, AccessKind::kAtomicWrite, AccessKind::kWrite}) {
    for (const uint16_t slot : {0, 1, 511, 1023}) {
      for (const uint64_t time : {uint64_t{1}, uint64_t{77}, PackedAccess::kMaxTime}) {
        for (const uint32_t context : {0u, 5u, PackedAccess::kMaxContext}) {
          for (int bytes = 1; bytes < 256; bytes += 13) {
            const HistoryEntry entry = Entry(slot, time, kind, static_cast<uint8_t>(bytes), context);
            const HistoryEntry again = PackedAccess(entry).Unpacked();
            EXPECT_TRUE(again.SameAccess(entry));
            EXPECT_EQ(again.bytes, entry.bytes);
          }
        }
      }
    }
  }
}

TEST_F(PackedCellTest, AWriteIsFoundInBothPlaces) {
  Record(Entry(3, 9, AccessKind::kWrite));
  EXPECT_TRUE(cell_.Covers(PackedAccess(Entry(3, 9, AccessKind::kRead))));
  EXPECT_TRUE(cell_.Covers(PackedAccess(Entry(3, 9, AccessKind::kWrite, 0x0f))));
  EXPECT_FALSE(cell_.Covers(PackedAccess(Entry(3, 10, AccessKind::kRead))));
  EXPECT_FALSE(cell_.Covers(PackedAccess(Entry(4, 9, AccessKind::kRead))));
}

TEST_F(PackedCellTest, AReadDoesNotCoverAWriteNorMoreBytes) {
  Record(Entry(3, 9, AccessKind::kRead, 0x0f));
  EXPECT_TRUE(cell_.Covers(PackedAccess(Entry(3, 9, AccessKind::kRead, 0x03))));
  EXPECT_FALSE(cell_.Covers(PackedAccess(Entry(3, 9, AccessKind::kRead, 0x1f))));
  EXPECT_FALSE(cell_.Covers(PackedAccess(Entry(3, 9, AccessKind::kWrite, 0x0f))));
}

TEST_F(PackedCellTest, OneWriterAndOneReaderNeedNoMemory) {
  Record(Entry(1, 5, AccessKind::kWrite));
  Record(Entry(2, 6, AccessKind::kRead));
  EXPECT_EQ(arena_.in_use(), 0u);
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite)), 2);
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kRead)), 1);
}

TEST_F(PackedCellTest, ManyReadersKeepTheirPlacesUntilAWrite) {
  Record(Entry(0, 1, AccessKind::kWrite));
  for (uint16_t slot = 1; slot <= 100; ++slot) RecordConcurrent(Entry(slot, 7, AccessKind::kRead));
  EXPECT_EQ(Races(Entry(200, 1, AccessKind::kWrite)), 101);
  Record(Entry(200, 1, AccessKind::kWrite));
  EXPECT_EQ(Races(Entry(201, 1, AccessKind::kWrite)), 1);
}

// Data that is written and then read by several, over and over, keeps its record; when only its writer comes, that goes back.
TEST_F(PackedCellTest, ARecordGoesBackWhenItsWriterIsAlone) {
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 1, AccessKind::kWrite)));
  for (uint16_t slot = 2; slot <= 4; ++slot) RecordConcurrent(Entry(slot, 7, AccessKind::kRead));
  EXPECT_NE(arena_.in_use(), 0u);
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 2, AccessKind::kWrite)));
  EXPECT_NE(arena_.in_use(), 0u);
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(2, 8, AccessKind::kRead)));
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 3, AccessKind::kWrite)));
  EXPECT_NE(arena_.in_use(), 0u);
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 4, AccessKind::kWrite)));
  EXPECT_EQ(arena_.in_use(), 0u);
  EXPECT_EQ(Races(Entry(3, 9, AccessKind::kWrite)), 1);
}

TEST_F(PackedCellTest, AReaderOfSharedDataRenewsItsOwnPlace) {
  for (uint16_t slot = 1; slot <= 5; ++slot) RecordConcurrent(Entry(slot, 7, AccessKind::kRead));
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(3, 8, AccessKind::kRead)));
  EXPECT_TRUE(cell_.Covers(PackedAccess(Entry(3, 8, AccessKind::kRead))));
  EXPECT_EQ(Races(Entry(9, 1, AccessKind::kWrite)), 5);
}

// What covers more than the latest access of its thread takes away all that it covers, however often that is.
TEST_F(PackedCellTest, WhoComesAgainAndAgainNeedsNoMoreMemory) {
  for (uint16_t slot = 1; slot <= 5; ++slot) RecordConcurrent(Entry(slot, 7, AccessKind::kRead));
  const auto come = [&](const HistoryEntry& entry) {
    if (!Shortcut(kKnowsAll, entry)) Record(entry);
  };
  uint64_t in_use = 0;
  for (uint64_t time = 10; time < 2000; time += 4) {
    come(Entry(3, time, AccessKind::kRead, 0x01));
    come(Entry(3, time + 1, AccessKind::kRead, 0xff));
    come(Entry(4, time + 2, AccessKind::kAtomicRead));
    come(Entry(4, time + 3, AccessKind::kAtomicWrite));
    if (time == 50) in_use = arena_.in_use();
  }
  EXPECT_EQ(arena_.in_use(), in_use);
}

TEST_F(PackedCellTest, AShortcutLeavesARaceToBeExamined) {
  Record(Entry(1, 5, AccessKind::kWrite));
  EXPECT_FALSE(Shortcut(kKnowsNothing, Entry(2, 5, AccessKind::kRead)));
  EXPECT_FALSE(Shortcut(kKnowsNothing, Entry(2, 5, AccessKind::kWrite)));
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kRead)), 1);
}

// A context that stands for several is made when there is no room for both: for a third field, or for an access at another time.
TEST_F(PackedCellTest, FieldsOfOneGranuleAreOneAccessOfTwoContexts) {
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 5, AccessKind::kWrite, 0x0f, 10)));
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 5, AccessKind::kWrite, 0x30, 11)));
  EXPECT_TRUE(mixed_.empty());
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kRead)), 2);
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 5, AccessKind::kWrite, 0xc0, 12)));
  EXPECT_EQ(mixed_, std::vector<uint32_t>({11, 12, 0xc0}));
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 6, AccessKind::kRead, 0xff, 13)));
  EXPECT_EQ(mixed_[2] | 0xf0, 0xff) << "those that were there, with each other";
  EXPECT_EQ(arena_.in_use(), 0u);
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kRead)), 1);
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kWrite)), 2);
}

TEST_F(PackedCellTest, AFieldIsMadeOneWithThatFromTheSamePlace) {
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 5, AccessKind::kWrite, 0x01, 10)));
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 5, AccessKind::kWrite, 0x02, 11)));
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 5, AccessKind::kWrite, 0x04, 10)));
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(1, 5, AccessKind::kWrite, 0x08, 11)));
  EXPECT_TRUE(mixed_.empty());
  EXPECT_EQ(arena_.in_use(), 0u);
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kRead, 0x05)), 1);
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kRead, 0x0a)), 1);
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kRead, 0xf0)), 0);
}

// Without anything else to look at: the time and the place of an access like it.
TEST_F(PackedCellTest, AnAccessLikeAnEarlierOneTakesItsPlace) {
  bool is_alone = true;
  const auto renews = [&](const HistoryEntry& entry) {
    const PackedAccess mine(entry);
    const Cell::Words words = cell_.Load();
    const Renewed which = entry.kind == AccessKind::kWrite ? RenewedBy<AccessKind::kWrite>(mine, words)
                                                           : RenewedBy<AccessKind::kRead>(mine, words);
    return which != Renewed::kNone ? cell_.Renews(words, which, mine, is_alone) : cell_.RenewsInRecord(mine);
  };
  EXPECT_FALSE(renews(Entry(1, 4, AccessKind::kWrite))) << "of an empty cell";
  Record(Entry(1, 5, AccessKind::kWrite, 0x0f));
  EXPECT_FALSE(renews(Entry(1, 6, AccessKind::kRead, 0x0f))) << "another kind";
  EXPECT_FALSE(renews(Entry(2, 6, AccessKind::kWrite, 0x0f))) << "another thread";
  EXPECT_FALSE(renews(Entry(1, 6, AccessKind::kWrite, 0x1f))) << "other bytes";
  EXPECT_TRUE(renews(Entry(1, 6, AccessKind::kWrite, 0x0f)));
  EXPECT_TRUE(cell_.Covers(PackedAccess(Entry(1, 6, AccessKind::kWrite, 0x0f))));
  Record(Entry(1, 7, AccessKind::kWrite, 0xf0));
  EXPECT_TRUE(renews(Entry(1, 8, AccessKind::kWrite, 0x0f))) << "beside another field";
  is_alone = false;
  EXPECT_TRUE(renews(Entry(1, 8, AccessKind::kWrite, 0xf0)));
  is_alone = true;
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kRead)), 2);
  Record(Entry(1, 9, AccessKind::kRead, 0x0f));
  EXPECT_NE(arena_.in_use(), 0u);
  EXPECT_TRUE(renews(Entry(1, 10, AccessKind::kRead, 0x0f)));
  EXPECT_TRUE(renews(Entry(1, 10, AccessKind::kWrite, 0xf0)));
  EXPECT_FALSE(renews(Entry(1, 10, AccessKind::kRead, 0xf0)));
  EXPECT_FALSE(renews(Entry(2, 10, AccessKind::kRead, 0x0f))) << "of another thread's record";
  EXPECT_TRUE(cell_.Covers(PackedAccess(Entry(1, 10, AccessKind::kRead, 0x0f))));
}

TEST_F(PackedCellTest, WhatHasChangedSinceIsNotRenewed) {
  for (const bool is_alone : {true, false}) {
    cell_.Clear(arena_);
    Record(Entry(1, 5, AccessKind::kWrite));
    const Cell::Words before = cell_.Load();
    const PackedAccess mine(Entry(1, 6, AccessKind::kWrite));
    const Renewed which = RenewedBy<AccessKind::kWrite>(mine, before);
    ASSERT_NE(which, Renewed::kNone);
    RecordConcurrent(Entry(2, 5, AccessKind::kRead));
    EXPECT_FALSE(cell_.Renews(before, which, mine, is_alone));
    EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite)), 2) << "both are still there";
    EXPECT_FALSE(cell_.Covers(mine));
  }
}

TEST_F(PackedCellTest, ARecordOfOnesOwnTakesWhatFits) {
  Record(Entry(1, 5, AccessKind::kWrite, 0x0f));
  Record(Entry(1, 6, AccessKind::kWrite, 0xf0));
  EXPECT_FALSE(cell_.RecordsInOwn(PackedAccess(Entry(1, 7, AccessKind::kRead, 0x01)))) << "there is no record yet";
  Record(Entry(1, 7, AccessKind::kRead, 0x01));
  const Cell::Words words = cell_.Load();
  EXPECT_FALSE(cell_.RecordsInOwn(PackedAccess(Entry(2, 7, AccessKind::kRead, 0x02)))) << "another thread's";
  EXPECT_FALSE(cell_.RecordsInOwn(PackedAccess(Entry(1, 8, AccessKind::kRead, 0x80)))) << "there is no room";
  EXPECT_TRUE(cell_.RecordsInOwn(PackedAccess(Entry(1, 8, AccessKind::kWrite, 0x0f)))) << "takes two away";
  EXPECT_TRUE(cell_.RecordsInOwn(PackedAccess(Entry(1, 9, AccessKind::kRead, 0x80))));
  EXPECT_EQ(cell_.Load().read, words.read);
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kWrite)), 3);
  EXPECT_EQ(Races(Entry(2, 1, AccessKind::kRead, 0x01)), 1);
}

TEST_F(PackedCellTest, ARecordWithARaceIsNotOnesOwn) {
  for (const auto kind : {AccessKind::kWrite, AccessKind::kRead}) Record(Entry(1, 5, kind, 0x0f));
  Cell::Opened(cell_).AddRacy(arena_, ByteMask{0x80});
  ASSERT_TRUE(cell_.has_record());
  EXPECT_FALSE(cell_.RecordsInOwn(PackedAccess(Entry(1, 6, AccessKind::kWrite, 0x10))));
}

TEST_F(PackedCellTest, AWriteLooksAtWhatItOverlaps) {
  Record(Entry(1, 5, AccessKind::kWrite));
  RecordConcurrent(Entry(2, 5, AccessKind::kRead));
  EXPECT_EQ(RenewedBy<AccessKind::kWrite>(PackedAccess(Entry(1, 6, AccessKind::kWrite)), cell_.Load()), Renewed::kNone);
  EXPECT_NE(RenewedBy<AccessKind::kRead>(PackedAccess(Entry(2, 6, AccessKind::kRead)), cell_.Load()), Renewed::kNone);
}

TEST_F(PackedCellTest, AReadLooksAtAtomicsThatItOverlaps) {
  RecordConcurrent(Entry(2, 5, AccessKind::kRead));
  RecordConcurrent(Entry(1, 5, AccessKind::kAtomicWrite));
  EXPECT_EQ(RenewedBy<AccessKind::kRead>(PackedAccess(Entry(2, 6, AccessKind::kRead)), cell_.Load()), Renewed::kNone);
}

// A record of hundreds is not searched: nearly every thread has a place of its own in it, however many came after.
TEST_F(PackedCellTest, HundredsOfReadersFindTheirPlaces) {
  constexpr uint16_t kReaders = 900;
  for (uint16_t slot = 0; slot < kReaders; ++slot) RecordConcurrent(Entry(slot, 5, AccessKind::kRead));
  int renewed = 0;
  for (uint16_t slot = 0; slot < kReaders; ++slot) {
    const PackedAccess mine(Entry(slot, 6, AccessKind::kRead));
    renewed += cell_.Refresh(kKnowsNothing, mine, false) ? 1 : 0;
  }
  EXPECT_GE(renewed, kReaders - 7);
  EXPECT_EQ(Races(Entry(1000, 1, AccessKind::kWrite)), kReaders);
  // What was not the thread's own, of the same bytes and kind, is nobody's to renew.
  EXPECT_FALSE(cell_.Refresh(kKnowsNothing, PackedAccess(Entry(950, 6, AccessKind::kRead)), false));
  EXPECT_FALSE(cell_.Refresh(kKnowsNothing, PackedAccess(Entry(800, 7, AccessKind::kRead, 1)), false));
  int at_new_time = 0;
  Cell::Opened(cell_).ForEachRace(KnowsUpTo{Time{5}}, Entry(1000, 1, AccessKind::kWrite),
                                  [&](const HistoryEntry&) { ++at_new_time; });
  EXPECT_EQ(at_new_time, renewed);
}

// The address of a record is no access, whatever its bits look like.
TEST_F(PackedCellTest, ARecordsAddressIsNotRenewed) {
  const PackedAccess mine(Entry(3, 6, AccessKind::kRead, 0x81));
  const Cell::Words words{.write = Cell::Words::kSpilled,
                          .read = mine.word() & ~PackedAccess::kTimeField & ~uint64_t{PackedAccess::kMaxContext}};
  ASSERT_TRUE(PackedRecord::IsHandle(words.read));
  EXPECT_EQ(RenewedBy<AccessKind::kRead>(mine, words), Renewed::kNone);
}

// Fields of a granule that one thread uses at different times stay in a record, each at its latest, until another thread comes.
TEST_F(PackedCellTest, FieldsOfOneThreadAreReplacedOneByOne) {
  for (uint8_t byte = 0; byte < 3; ++byte) Record(Entry(1, 5u + byte, AccessKind::kWrite, uint8_t(1u << byte), byte));
  const uint64_t in_use = arena_.in_use();
  EXPECT_NE(in_use, 0u);
  for (uint64_t time = 10; time < 20; ++time) {
    const auto byte = static_cast<uint8_t>(time % 3);
    EXPECT_TRUE(Shortcut(kKnowsNothing, Entry(1, time, AccessKind::kWrite, uint8_t(1u << byte), byte)));
    EXPECT_EQ(Races(Entry(2, 1, AccessKind::kRead)), 3);
  }
  EXPECT_EQ(arena_.in_use(), in_use);
  EXPECT_FALSE(Shortcut(kKnowsNothing, Entry(2, 1, AccessKind::kRead, 1)));  // races, whoever the record was of
  EXPECT_TRUE(Shortcut(kKnowsAll, Entry(2, 1, AccessKind::kWrite, 1)));
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kRead)), 3);
  EXPECT_FALSE(Shortcut(kKnowsNothing, Entry(1, 21, AccessKind::kWrite, 1)));
}

TEST_F(PackedCellTest, AFewReadersAreSeenWithoutALock) {
  for (uint16_t slot = 1; slot <= 6; ++slot) RecordConcurrent(Entry(slot, 7, AccessKind::kRead));
  for (uint16_t slot = 1; slot <= 6; ++slot) EXPECT_TRUE(cell_.Covers(PackedAccess(Entry(slot, 7, AccessKind::kRead))));
  EXPECT_FALSE(cell_.Covers(PackedAccess(Entry(7, 7, AccessKind::kRead))));
}

TEST_F(PackedCellTest, RacyBytesAreRememberedUntilANewLife) {
  Record(Entry(1, 5, AccessKind::kWrite));
  Cell::Opened(cell_).AddRacy(arena_, ByteMask{0x0f});
  EXPECT_EQ(Cell::Opened(cell_).racy(), ByteMask{0x0f});
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite, 0x0f)), 0);
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite, 0xf0)), 1);
  Cell::Opened(cell_).Restart(arena_, Entry(4, 2, AccessKind::kWrite));
  EXPECT_EQ(Cell::Opened(cell_).racy(), kNoBytes);
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kRead)), 1);
  EXPECT_EQ(arena_.in_use(), 0u);
}

TEST_F(PackedCellTest, AllThatHasRacedNeedsNoRecordOfItsOwn) {
  Record(Entry(1, 5, AccessKind::kWrite));
  RecordConcurrent(Entry(2, 5, AccessKind::kRead));
  Cell::Opened(cell_).AddRacy(arena_, ByteMask{0x0f});
  EXPECT_NE(arena_.in_use(), 0u);
  Cell::Opened(cell_).AddRacy(arena_, ByteMask{0xf0});
  EXPECT_EQ(arena_.in_use(), 0u);
  EXPECT_TRUE(cell_.Load().has_all_raced());
  EXPECT_TRUE(cell_.has_record());
  EXPECT_EQ(Cell::Opened(cell_).racy(), kAllBytes);
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite)), 0);
  EXPECT_TRUE(Shortcut(kKnowsNothing, Entry(3, 1, AccessKind::kWrite)));
  Cell::Opened(cell_).TakeInLatest(arena_, PackedAccess(Entry(3, 2, AccessKind::kRead)));
  EXPECT_TRUE(cell_.Load().has_all_raced());

  Cell other{};
  Cell::Opened(other).AddRacy(arena_, kAllBytes);
  EXPECT_TRUE(other.Load().has_all_raced());

  // A part begins another life: the rest has raced, and another cell has nothing to do with it.
  Cell::Opened(cell_).Restart(arena_, Entry(4, 2, AccessKind::kWrite, 0x03));
  EXPECT_EQ(Cell::Opened(cell_).racy(), ByteMask{0xfc});
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kRead, 0x03)), 1);
  EXPECT_EQ(Cell::Opened(other).racy(), kAllBytes);
  Cell::Opened(cell_).Clear(arena_);
  EXPECT_EQ(arena_.in_use(), 0u);

  for (const bool is_alone : {true, false}) {
    EXPECT_FALSE(other.RestartsQuickly(ByteMask{0x03}, PackedAccess(Entry(4, 2, AccessKind::kWrite)), is_alone));
    EXPECT_EQ(Cell::Opened(other).racy(), kAllBytes);
    EXPECT_TRUE(other.RestartsQuickly(kAllBytes, PackedAccess(Entry(4, 2, AccessKind::kWrite)), is_alone));
    EXPECT_EQ(Cell::Opened(other).racy(), kNoBytes);
    EXPECT_TRUE(other.CoversInPlace(PackedAccess(Entry(4, 2, AccessKind::kWrite))));
    {
      const Cell::Opened locked(other);
      EXPECT_FALSE(other.RestartsQuickly(kAllBytes, PackedAccess(Entry(4, 2, AccessKind::kWrite)), is_alone));
    }
    Cell::Opened(other).AddRacy(arena_, kAllBytes);
  }
  Cell::Opened(other).Clear(arena_);
  Cell::Opened(other).AddRacy(arena_, kAllBytes);
  Cell::Opened(other).Restart(arena_, Entry(4, 3, AccessKind::kWrite));
  EXPECT_EQ(Cell::Opened(other).racy(), kNoBytes);
  Cell::Opened(other).AddRacy(arena_, kAllBytes);
  other.Clear(arena_);
  EXPECT_EQ(Cell::Opened(other).racy(), kNoBytes);
}

TEST_F(PackedCellTest, ARaceThatIsKnownEndsTheHistory) {
  constexpr KnowsUpTo kOrdered{Time{100}};
  std::vector<PackedAccess> asked;
  bool is_known = false;
  const auto races_again = [&](const auto& clock, const HistoryEntry& mine, bool is_alone = false) {
    return cell_.RacesAgain(clock, PackedAccess(mine), is_alone, [&](PackedAccess earlier) {
      asked.push_back(earlier);
      return is_known;
    });
  };
  Record(Entry(1, 5, AccessKind::kWrite, 0xff, 7));
  EXPECT_FALSE(races_again(kOrdered, Entry(2, 5, AccessKind::kRead)));  // no race
  EXPECT_FALSE(races_again(kKnowsNothing, Entry(2, 5, AccessKind::kRead, 0x0f)));
  EXPECT_TRUE(asked.empty());
  EXPECT_FALSE(races_again(kKnowsNothing, Entry(2, 5, AccessKind::kRead)));  // not known
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].context(), ContextId{7});
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite)), 1);
  is_known = true;
  EXPECT_TRUE(races_again(kKnowsNothing, Entry(2, 5, AccessKind::kRead)));
  EXPECT_TRUE(cell_.Load().has_all_raced());
  EXPECT_FALSE(races_again(kKnowsNothing, Entry(2, 5, AccessKind::kRead)));  // it has had its race

  for (const HistoryEntry& other : {Entry(3, 5, AccessKind::kAtomicWrite), Entry(3, 5, AccessKind::kRead, 0x01)}) {
    cell_.Clear(arena_);
    Record(Entry(1, 5, AccessKind::kWrite));
    RecordConcurrent(other);  // there is more to it
    EXPECT_FALSE(races_again(kKnowsNothing, Entry(2, 5, AccessKind::kRead)));
  }
  cell_.Clear(arena_);
  Record(Entry(1, 5, AccessKind::kWrite));
  EXPECT_TRUE(races_again(kKnowsNothing, Entry(2, 5, AccessKind::kWrite), true));
  EXPECT_TRUE(cell_.Load().has_all_raced());
}

// As of hybrid: locks keep some apart.
struct KnowsNothingAndKeepsApart {
  Slot kept_apart;
  bool Knows(Slot, Time) const { return false; }
  bool KeepsApart(PackedAccess entry, PackedAccess) const { return entry.slot() == kept_apart; }
};

TEST_F(PackedCellTest, LocksKeepApartWhatIsFoundAgain) {
  const auto races_again = [&](Slot kept_apart) {
    return cell_.RacesAgain(KnowsNothingAndKeepsApart{kept_apart}, PackedAccess(Entry(3, 5, AccessKind::kWrite)), true,
                            [](PackedAccess) { return true; });
  };
  Record(Entry(1, 5, AccessKind::kWrite));
  EXPECT_FALSE(races_again(Slot{1}));
  EXPECT_TRUE(races_again(Slot{2}));
}

TEST_F(PackedCellTest, WhatIsReadApartIsNotReadInTheCellToo) {
  constexpr KnowsNothingAndKeepsApart kClock{Slot{1}};
  const auto no_mix = [](ContextId, ContextId, ByteMask) { return kNoContext; };
  Record(Entry(1, 5, AccessKind::kWrite));
  RecordConcurrent(Entry(2, 5, AccessKind::kRead));
  uint64_t word = 0;
  // The thread's own read of an earlier time is here: not quickly.
  EXPECT_FALSE(cell_.ReadsApartQuickly(kClock, &word, PackedAccess(Entry(2, 4, AccessKind::kRead, 0x0f))));
  EXPECT_TRUE(cell_.ReadsApart(arena_, kClock, &word, PackedAccess(Entry(2, 4, AccessKind::kRead, 0x0f)), no_mix));
  EXPECT_EQ(PackedAccess(word).bytes(), ByteMask{0x0f});
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite, 0x0f)), 1);
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite, 0xf0)), 2);
  // What is there already, at the same time, stays where it is.
  EXPECT_TRUE(cell_.ReadsApart(arena_, kClock, &word, PackedAccess(Entry(2, 5, AccessKind::kRead, 0xf0)), no_mix));
  EXPECT_EQ(PackedAccess(word).bytes(), ByteMask{0x0f});
  // Back at the later time: the earlier one goes.
  EXPECT_TRUE(cell_.ReadsApartQuickly(kClock, &word, PackedAccess(Entry(2, 5, AccessKind::kRead, 0x0f))));
  EXPECT_EQ(PackedAccess(word).time(), Time{5});
  // Compared anew, with other locks.
  EXPECT_FALSE(cell_.ReadsApartQuickly(KnowsNothingAndKeepsApart{Slot{9}}, &word,
                                       PackedAccess(Entry(2, 6, AccessKind::kRead, 0x0f))));
  EXPECT_FALSE(cell_.ReadsApart(arena_, KnowsNothingAndKeepsApart{Slot{9}}, &word,
                                PackedAccess(Entry(2, 6, AccessKind::kRead, 0x0f)), no_mix));
  EXPECT_EQ(PackedAccess(word).time(), Time{5});
}

TEST_F(PackedCellTest, WhatIsFreedIsUsedWithoutOrderByWhoeverComes) {
  constexpr KnowsUpTo kOrdered{Time{100}};
  const auto frees_seen = [&](const HistoryEntry& entry) {
    int frees = 0;
    Cell::Opened(cell_).ForEachRace(kOrdered, entry, [&](const HistoryEntry& free) {
      EXPECT_TRUE(free.SameAccess(Entry(1, 5, AccessKind::kWrite, 0xff, 7)));
      ++frees;
    });
    return frees;
  };
  Record(Entry(1, 5, AccessKind::kWrite));
  Cell::Words known{};
  const auto ends = [&](KnowsUpTo clock, uint16_t slot) {
    const PackedAccess free(Entry(slot, 5, AccessKind::kWrite, 0xff, 7));
    return cell_.EndsQuickly(clock, free, Cell::FreedBy(free), true, known);
  };
  EXPECT_FALSE(ends(kKnowsNothing, 2));
  EXPECT_TRUE(ends(kOrdered, 1));
  for (const uint16_t slot : {1, 2}) {  // the thread itself, at the same time, and another one
    for (const AccessKind kind : {AccessKind::kRead, AccessKind::kAtomicWrite, AccessKind::kWrite}) {
      EXPECT_FALSE(cell_.Covers(PackedAccess(Entry(slot, 5, kind, 0x0f))));
      EXPECT_FALSE(Shortcut(kOrdered, Entry(slot, 5, kind, 0x0f)));
      EXPECT_EQ(frees_seen(Entry(slot, 5, kind, 0x0f)), 1);
    }
  }
  Cell::Opened(cell_).AddRacy(arena_, ByteMask{0x0f});  // told of
  EXPECT_EQ(frees_seen(Entry(2, 9, AccessKind::kRead, 0x0f)), 0);
  EXPECT_EQ(frees_seen(Entry(2, 9, AccessKind::kRead, 0xf0)), 1);
  Cell::Opened(cell_).Restart(arena_, Entry(3, 6, AccessKind::kWrite));
  EXPECT_EQ(frees_seen(Entry(2, 9, AccessKind::kWrite)), 0);
}

TEST_F(PackedCellTest, APartOfAGranuleIsFreed) {
  constexpr KnowsUpTo kOrdered{Time{100}};
  Record(Entry(1, 5, AccessKind::kWrite, 0xff));
  Record(Entry(2, 5, AccessKind::kRead, 0xff));
  Cell::Opened(cell_).End(arena_, PackedAccess(Entry(2, 6, AccessKind::kWrite, 0x0f)));
  EXPECT_TRUE(Cell::Opened(cell_).Races(kOrdered, PackedAccess(Entry(3, 1, AccessKind::kRead, 0x08))));
  EXPECT_FALSE(Cell::Opened(cell_).Races(kOrdered, PackedAccess(Entry(3, 1, AccessKind::kWrite, 0xf0))));
  EXPECT_EQ(Races(Entry(3, 1, AccessKind::kWrite, 0xf0)), 2);
}

// Readers that are ordered after one write, on several threads, and now and then a writer that is ordered after everybody.
// No race may be reported; afterwards one that is there must be.
TEST(PackedCellConcurrentTest, SimultaneousAccessesNeitherInventNorHideARace) {
  using Detector = Hb<AtomicMem, PackedCell>;
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  constexpr int kCells = 8;
  Detector hb;
  static Detector::Cell cells[kCells];
  for (auto& cell : cells) cell = {};
  Detector::Thread main(hb, Tid{0});
  hb.OnStart(main);
  std::atomic<int> races = 0;
  const auto no_mix = [](ContextId, ContextId, ByteMask) { return kNoContext; };
  for (int round = 0; round < kRounds; ++round) {
    const auto touch = [&](Detector::Thread& t, Detector::Cell& cell, AccessKind kind) {
      RaceRecord record;
      const PackedAccess mine(t.clock.epoch(), kind, kAllBytes, ContextId{1});
      if (hb.TakesShortcut(t, cell, mine, no_mix, false)) return;
      const Access access{.bytes = kAllBytes, .kind = kind, .context = ContextId{1}};
      if (Any(hb.OnAccess(t, cell, access, record))) ++races;
    };
    for (auto& cell : cells) touch(main, cell, AccessKind::kWrite);
    if (round % 100 != 0) continue;
    std::vector<std::unique_ptr<Detector::Thread>> children;
    children.reserve(kThreads);
    for (uint32_t i = 0; i < kThreads; ++i) {
      children.push_back(std::make_unique<Detector::Thread>(hb, Tid{1 + i}));
      hb.OnFork(main, *children.back());
    }
    std::vector<std::thread> threads;
    threads.reserve(children.size());
    for (auto& child : children) {
      threads.emplace_back([&, t = child.get()] {
        for (int i = 0; i < 200; ++i) {
          const PackedAccess access(t->clock.epoch(), AccessKind::kRead, kAllBytes, ContextId{1});
          for (auto& cell : cells) {
            if (!cell.Covers(access)) touch(*t, cell, AccessKind::kRead);
          }
          if (i % 8 == 0) hb.OnReleaseFence(*t);  // a new time: everything is read anew
        }
        hb.OnEnd(*t);
      });
    }
    for (auto& thread : threads) thread.join();
    for (auto& child : children) hb.OnJoin(main, *child);
  }
  EXPECT_EQ(races, 0);

  // Two at once, unordered: exactly one report a cell.
  Detector::Thread left(hb, Tid{50}), right(hb, Tid{51});
  hb.OnFork(main, left);
  hb.OnFork(main, right);
  const auto write_all = [&](Detector::Thread& t) {
    for (auto& cell : cells) {
      RaceRecord record;
      if (hb.TakesShortcut(t, cell, PackedAccess(t.clock.epoch(), AccessKind::kWrite, kAllBytes, ContextId{2}), no_mix,
                           false))
        continue;
      if (Any(hb.OnAccess(t, cell, {.bytes = kAllBytes, .kind = AccessKind::kWrite, .context = ContextId{2}}, record)))
        ++races;
    }
  };
  std::thread a([&] { write_all(left); }), b([&] { write_all(right); });
  a.join();
  b.join();
  EXPECT_EQ(races, kCells);
  for (auto& cell : cells) hb.Forget(cell);
}

}  // namespace
}  // namespace redflag
