// lockset called directly, without an engine: the arrows between Eraser's states, one after the other.
#include "detectors/lockset.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace redflag {
namespace {

using D = Lockset<PlainMem>;

class LocksetTest : public testing::Test {
 protected:
  D::Thread& Start(uint32_t tid) {
    threads_.push_back(std::make_unique<D::Thread>(d_, Tid{tid}));
    d_.OnStart(*threads_.back());
    return *threads_.back();
  }
  void Lock(D::Thread& t, uint32_t lock, LockMode mode = LockMode::kExclusive) {
    t.held.Acquire(SyncId{lock}, mode);
    d_.OnLock(t, sync_, mode);
  }
  void Unlock(D::Thread& t, uint32_t lock, LockMode mode = LockMode::kExclusive) {
    t.held.Release(SyncId{lock}, mode);
    d_.OnUnlock(t, sync_, mode);
  }
  ByteMask Touch(D::Thread& t, AccessKind kind, uint8_t bytes = 0xff, AccessOrigin origin = AccessOrigin::kProgram) {
    return d_.OnAccess(t, cell_,
                       Access{.granule = Addr{0x1000},
                              .object = Addr{0x1000},
                              .object_size = 8,
                              .bytes = ByteMask{bytes},
                              .kind = kind,
                              .origin = origin,
                              .context = ContextId{++accesses_}},
                       record_);
  }
  ByteMask Read(D::Thread& t) { return Touch(t, AccessKind::kRead); }
  ByteMask Write(D::Thread& t) { return Touch(t, AccessKind::kWrite); }
  ByteMask WriteUnder(D::Thread& t, uint32_t lock) {
    Lock(t, lock);
    const ByteMask raced = Write(t);
    Unlock(t, lock);
    return raced;
  }

  D d_;
  D::Cell cell_{};
  D::Sync sync_{d_};
  RaceRecord record_;
  uint32_t accesses_ = 0;
  std::vector<std::unique_ptr<D::Thread>> threads_;
  D::Thread& a_ = Start(0);
  D::Thread& b_ = Start(1);
  D::Thread& c_ = Start(2);
};

TEST_F(LocksetTest, OneThreadNeedsNoLock) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Write(a_), kNoBytes);
  EXPECT_EQ(a_.counts[D::kFirst], 1u);
  EXPECT_EQ(a_.counts[D::kOwn], 3u);
}

TEST_F(LocksetTest, InitializedDataMayBeReadByAllWithoutLocks) {
  Write(a_);
  EXPECT_EQ(Read(b_), kNoBytes);
  EXPECT_EQ(Read(c_), kNoBytes);
  EXPECT_EQ(Read(a_), kNoBytes);
  EXPECT_EQ(b_.counts[D::kShare], 1u);
  EXPECT_EQ(c_.counts[D::kSharedRead], 1u);
}

TEST_F(LocksetTest, AWriteToSharedDataNeedsALockThatAllReadersHad) {
  Write(a_);
  Read(b_);
  EXPECT_EQ(Write(c_), kAllBytes);
  EXPECT_EQ(c_.counts[D::kModify], 1u);
  EXPECT_EQ(c_.counts[D::kRace], 1u);
}

TEST_F(LocksetTest, TheSecondThreadsWriteWithoutALockIsReportedAtOnce) {
  Write(a_);
  EXPECT_EQ(Write(b_), kAllBytes);
  EXPECT_EQ(b_.counts[D::kShareModified], 1u);
}

TEST_F(LocksetTest, CandidatesBeginWithTheSecondThreadNotWithTheFirst) {
  EXPECT_EQ(Write(a_), kNoBytes) << "initialization without a lock";
  EXPECT_EQ(WriteUnder(b_, 1), kNoBytes);
  EXPECT_EQ(WriteUnder(a_, 1), kNoBytes);
  EXPECT_EQ(WriteUnder(c_, 2), kAllBytes) << "{1} and {2} have nothing in common";
}

TEST_F(LocksetTest, CandidatesAreIntersected) {
  Write(a_);
  Lock(b_, 1);
  Lock(b_, 2);
  Write(b_);
  EXPECT_EQ(WriteUnder(c_, 2), kNoBytes);
  EXPECT_EQ(WriteUnder(a_, 2), kNoBytes);
  EXPECT_EQ(WriteUnder(a_, 1), kAllBytes) << "1 is out since c wrote under 2 alone";
}

// The reader-writer rule: RaceTrack 3.1, Eraser.
TEST_F(LocksetTest, AReadLockProtectsReads) {
  Write(a_);
  WriteUnder(b_, 1);
  Lock(c_, 1, LockMode::kShared);
  EXPECT_EQ(Read(c_), kNoBytes) << "held for writing there and for reading here: the same lock";
}
TEST_F(LocksetTest, AReadLockDoesNotProtectAWrite) {
  Write(a_);
  WriteUnder(b_, 1);
  Lock(c_, 1, LockMode::kShared);
  EXPECT_EQ(Write(c_), kAllBytes);
}

TEST_F(LocksetTest, TransactionsProtectEachOtherAndNothingElse) {
  Touch(a_, AccessKind::kWrite, 0xff, AccessOrigin::kTransaction);
  EXPECT_EQ(Touch(b_, AccessKind::kWrite, 0xff, AccessOrigin::kTransaction), kNoBytes);
  EXPECT_EQ(Touch(c_, AccessKind::kRead, 0xff, AccessOrigin::kTransaction), kNoBytes);
  EXPECT_EQ(Read(c_), kAllBytes);
}

TEST_F(LocksetTest, AtomicAccessesAreNotTracked) {
  EXPECT_EQ(Touch(a_, AccessKind::kAtomicWrite), kNoBytes);
  EXPECT_EQ(Write(b_), kNoBytes) << "still the first access";
  EXPECT_EQ(Touch(c_, AccessKind::kAtomicWrite), kNoBytes);
  EXPECT_EQ(Write(b_), kNoBytes) << "still one thread";
  EXPECT_EQ(a_.counts[D::kAtomic] + c_.counts[D::kAtomic], 2u);
}

TEST_F(LocksetTest, BytesHaveStatesOfTheirOwn) {
  Touch(a_, AccessKind::kWrite, 0x0f);
  EXPECT_EQ(Touch(b_, AccessKind::kWrite, 0x3c), ByteMask{0x0c});
  EXPECT_EQ(Touch(a_, AccessKind::kWrite, 0xff), ByteMask{0x30});
}

TEST_F(LocksetTest, AReportedByteIsIgnoredUntilItsNextLifetime) {
  Write(a_);
  Write(b_);
  EXPECT_EQ(Write(a_), kNoBytes);
  EXPECT_EQ(a_.counts[D::kIgnored], 1u);
  d_.Revive(cell_, ByteMask{0x0f}, d_.OnLifetime(c_, Addr{0x1000}, 4, AccessOrigin::kAlloc, ContextId{}));
  EXPECT_EQ(Write(a_), kNoBytes) << "virgin again, whoever allocated it";
  EXPECT_EQ(Write(b_), ByteMask{0x0f});
}

TEST_F(LocksetTest, AFreeIsNotAskedForLocks) {
  Write(a_);
  WriteUnder(b_, 1);
  WriteUnder(a_, 1);
  EXPECT_EQ(Touch(c_, AccessKind::kWrite, 0xff, AccessOrigin::kFree), kNoBytes);
  EXPECT_EQ(c_.counts[D::kFreed], 1u);
}
TEST_F(LocksetTest, AFreeOfDataThatIsReadWithoutLocksIsAWriteToIt) {
  Write(a_);
  Read(b_);
  EXPECT_EQ(Touch(c_, AccessKind::kWrite, 0xff, AccessOrigin::kFree), kAllBytes);
}

TEST_F(LocksetTest, TheRecordNamesTheLastAccessesOfOtherThreads) {
  Write(a_);          // 1
  WriteUnder(b_, 1);  // 2
  WriteUnder(c_, 1);  // 3
  Lock(a_, 1);
  Read(a_);  // 4
  Unlock(a_, 1);
  ASSERT_EQ(Write(c_), kAllBytes);  // 5
  EXPECT_EQ(record_.access.thread, Tid{2});
  ASSERT_EQ(record_.earlier_count, 2u);
  EXPECT_EQ(record_.earlier[0].context, ContextId{2}) << "the last write of another thread than c";
  EXPECT_EQ(record_.earlier[1].context, ContextId{4}) << "the last read of another thread than c";
  EXPECT_EQ(d_.locksets().View(record_.earlier[0].locks).count, 1u);
}
TEST_F(LocksetTest, AReadIsNamedBesideAReadOnlyIfNobodyElseWrote) {
  Read(a_);
  WriteUnder(b_, 1);
  ASSERT_EQ(Read(b_), kAllBytes);
  ASSERT_EQ(record_.earlier_count, 1u);
  EXPECT_EQ(record_.earlier[0].thread, Tid{0});
  EXPECT_EQ(record_.earlier[0].kind, AccessKind::kRead);
}

TEST_F(LocksetTest, TheTagChangesWhenALockIsLost) {
  EXPECT_EQ(d_.OnLock(a_, sync_, LockMode::kExclusive), Tag::kKept);
  EXPECT_EQ(d_.OnUnlock(a_, sync_, LockMode::kExclusive), Tag::kChanged);
  EXPECT_EQ(d_.OnCommitBegin(a_, nullptr, 0), Tag::kKept);
  EXPECT_EQ(d_.OnCommitEnd(a_, nullptr, 0), Tag::kChanged);
  EXPECT_EQ(d_.OnReleaseStore(a_, sync_), Tag::kKept) << "order means nothing here";
}

TEST(LastAccessesTest, KeepsTheLastAccessAndTheLastOfAnotherThread) {
  LastAccesses<SeenAccess> last{};
  const auto by = [](uint32_t thread, uint32_t context) {
    return SeenAccess{.thread = Tid{thread}, .context = ContextId{context}, .seen = true};
  };
  EXPECT_EQ(last.NotBy(Tid{0}), nullptr);
  last.Note(by(0, 1));
  EXPECT_EQ(last.NotBy(Tid{0}), nullptr);
  EXPECT_EQ(last.NotBy(Tid{1})->context, ContextId{1});
  last.Note(by(0, 2));
  last.Note(by(1, 3));
  last.Note(by(1, 4));
  EXPECT_EQ(last.NotBy(Tid{1})->context, ContextId{2});
  EXPECT_EQ(last.NotBy(Tid{0})->context, ContextId{4});
  EXPECT_EQ(last.NotBy(Tid{7})->context, ContextId{4});
}

}  // namespace
}  // namespace redflag
