// Accesses that do not happen if they race (IfRacy), with the detectors that offer it: kCanRefuse.
#include <gtest/gtest.h>

#include "detectors/goldilocks.h"
#include "detectors/hb.h"

namespace redflag {
namespace {

template <class D>
class RefusedAccess : public testing::Test {
 protected:
  RefusedAccess() {
    detector_.OnStart(a_);
    detector_.OnStart(b_);
  }
  ByteMask Touch(typename D::Thread& t, AccessKind kind, IfRacy if_racy) {
    return detector_.OnAccess(
        t, cell_, Access{.granule = Addr{0x1000}, .bytes = ByteMask{0x0f}, .kind = kind, .if_racy = if_racy}, record_);
  }

  D detector_;
  typename D::Thread a_{detector_, Tid{0}}, b_{detector_, Tid{1}};
  typename D::Sync sync_{detector_};
  typename D::Cell cell_{};
  RaceRecord record_;
};
using Detectors = testing::Types<Hb<PlainMem>, Goldilocks<PlainMem>>;
TYPED_TEST_SUITE(RefusedAccess, Detectors);

constexpr ByteMask kRaced{0x0f};

TYPED_TEST(RefusedAccess, IsRefusedAgain) {
  this->Touch(this->a_, AccessKind::kWrite, IfRacy::kRefused);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(this->Touch(this->b_, AccessKind::kWrite, IfRacy::kRefused), kRaced);
    EXPECT_EQ(this->record_.earlier_count, 1u);
    EXPECT_EQ(this->record_.earlier[0].thread, Tid{0});
  }
}

TYPED_TEST(RefusedAccess, HasNotHappenedToOthers) {
  this->Touch(this->a_, AccessKind::kWrite, IfRacy::kRefused);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kWrite, IfRacy::kRefused), kRaced);
  this->detector_.OnReleaseMerge(this->a_, this->sync_);
  EXPECT_EQ(this->Touch(this->a_, AccessKind::kWrite, IfRacy::kRefused), kNoBytes);
}

TYPED_TEST(RefusedAccess, IsGoodOnceItIsOrdered) {
  this->Touch(this->a_, AccessKind::kWrite, IfRacy::kRefused);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kRead, IfRacy::kRefused), kRaced);
  this->detector_.OnReleaseMerge(this->a_, this->sync_);
  this->detector_.OnAcquire(this->b_, this->sync_);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kWrite, IfRacy::kRefused), kNoBytes);
  EXPECT_EQ(this->Touch(this->a_, AccessKind::kRead, IfRacy::kRefused), kRaced) << "it was remembered";
}

TYPED_TEST(RefusedAccess, IsAskedAboutWithoutATrace) {
  EXPECT_EQ(this->Touch(this->a_, AccessKind::kWrite, IfRacy::kAsked), kNoBytes);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kWrite, IfRacy::kRefused), kNoBytes) << "there was no access";
  EXPECT_EQ(this->Touch(this->a_, AccessKind::kRead, IfRacy::kAsked), kRaced);
}

TYPED_TEST(RefusedAccess, GoesOnAsTheOneThatIsRemembered) {
  this->Touch(this->a_, AccessKind::kWrite, IfRacy::kGoesOn);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kRead, IfRacy::kGoesOn), kRaced);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kRead, IfRacy::kGoesOn), kRaced)
      << "a read leaves the write where it was";
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kWrite, IfRacy::kGoesOn), kRaced);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kWrite, IfRacy::kGoesOn), kNoBytes) << "a write takes its place";
  EXPECT_EQ(this->Touch(this->a_, AccessKind::kRead, IfRacy::kRefused), kRaced);
}

TYPED_TEST(RefusedAccess, IsReportedOnceOtherwise) {
  this->Touch(this->a_, AccessKind::kWrite, IfRacy::kReported);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kWrite, IfRacy::kReported), kRaced);
  EXPECT_EQ(this->Touch(this->b_, AccessKind::kWrite, IfRacy::kRefused), kNoBytes);
}

}  // namespace
}  // namespace redflag
