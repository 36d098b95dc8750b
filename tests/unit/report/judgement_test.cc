#include "report/judgement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

namespace redflag {
namespace {

using Rank = Judgement::Rank;

class Texts : public SourceText {
 public:
  const std::vector<std::string>& Lines(const std::string& file, const std::string&) override { return files_[file]; }
  void Set(const std::string& file, const std::string& text) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) files_[file].push_back(line);
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

// A race between two lines of a.cc.
class JudgementTest : public testing::Test {
 protected:
  static AccessSite Site(AccessKind kind, std::string function, uint32_t line) {
    return AccessSite{.thread = "T1",
                      .kind = kind,
                      .origin = AccessOrigin::kProgram,
                      .addr = Addr{0x1000},
                      .size = 4,
                      .stack = {Frame{.function = std::move(function), .file = "a.cc", .line = line, .column = 0}},
                      .locks = {}};
  }
  static AccessSite Write(std::string function, uint32_t line) {
    return Site(AccessKind::kWrite, std::move(function), line);
  }
  static AccessSite Read(std::string function, uint32_t line) {
    return Site(AccessKind::kRead, std::move(function), line);
  }
  static void Hold(AccessSite& site, std::string name, LockMode mode = LockMode::kExclusive) {
    site.locks.push_back(HeldLockInfo{.name = std::move(name), .mode = mode, .taken_at = {}});
  }
  static void Above(AccessSite& site, std::string function) {
    site.stack.insert(
        site.stack.begin(),
        Frame{.function = std::move(function), .file = "/usr/include/c++/12/x.h", .line = 1, .column = 0});
  }

  Judgement Judge(AccessSite access, AccessSite earlier, const std::string& text = "") {
    Texts source;
    source.Set("a.cc", text);
    report.access = std::move(access);
    report.earlier = {std::move(earlier)};
    report.earlier[0].thread = "main";
    report.size = 4;
    return redflag::Judge(report, source);
  }
  std::string PatternOf(AccessSite access, AccessSite earlier, const std::string& text = "") {
    // It does not matter who was first.
    const std::string one = Judge(access, earlier, text).pattern;
    EXPECT_EQ(Judge(earlier, access, text).pattern, one);
    return one;
  }

  RaceReport report;
};

TEST_F(JudgementTest, WithoutSourceWhatWasObservedSpeaks) {
  EXPECT_EQ(PatternOf(Write("f", 1), Write("g", 2)), "unsynchronized access");
  AccessSite free = Write("f", 1);
  free.origin = AccessOrigin::kFree;
  EXPECT_EQ(PatternOf(free, Read("g", 2)), "free while in use");
  EXPECT_EQ(PatternOf(free, Site(AccessKind::kAtomicWrite, "Release", 2)), "reference count");
  EXPECT_EQ(PatternOf(Write("f", 1), Site(AccessKind::kAtomicRead, "g", 2)), "atomic and plain access");
}

TEST_F(JudgementTest, AFreeThatCameBeforeIsNoRace) {
  AccessSite free = Write("f", 1);
  free.origin = AccessOrigin::kFree;
  free.ordered = true;
  const Judgement judgement = Judge(Read("g", 2), free, "");
  EXPECT_EQ(judgement.pattern, "use after free");
  EXPECT_EQ(judgement.rank, Judgement::Rank::kHigh);
  for (const std::string& reason : judgement.reasons) EXPECT_EQ(reason.find("nothing in this run"), std::string::npos);
  EXPECT_EQ(ExplainRace(report).find("nothing in this run"), std::string::npos);
}

TEST_F(JudgementTest, VptrInDestructorAndConstructor) {
  AccessSite destroys = Write("Base::~Base()", 1);
  destroys.vptr = true;
  EXPECT_EQ(PatternOf(destroys, Read("Caller", 2)), "vptr in destructor");
  AccessSite constructs = Write("ns::Base::Base(int)", 1);
  constructs.vptr = true;
  EXPECT_EQ(PatternOf(constructs, Read("Caller", 2)), "vptr in constructor");
  EXPECT_EQ(PatternOf(Write("Table::~Table()", 1), Read("Get", 2)), "destruction while in use");
}

TEST_F(JudgementTest, AFieldIsKnownByItsOwnName) {
  AccessSite frees = Write("Drop", 1);
  frees.origin = AccessOrigin::kFree;
  report.variable = "nodes[3].size";
  EXPECT_EQ(PatternOf(frees, Write("Use", 2)), "free while in use");
  report.variable = "nodes[3].refs";
  EXPECT_EQ(PatternOf(frees, Write("Use", 2)), "reference count");
}

TEST_F(JudgementTest, StackObjects) {
  RacyBlock& block = report.block.emplace();
  block.place = RacyBlock::Place::kStack;
  EXPECT_EQ(PatternOf(Write("f", 1), Read("g", 2)), "stack object shared");
  EXPECT_EQ(PatternOf(Write("Task::~Task()", 1), Read("g", 2)), "stack object escaping");
  block.thread = "main";
  report.threads = {ThreadInfo{.name = "T1", .title = {}, .creator = "main", .created_at = {Read("Start", 9).stack}}};
  EXPECT_EQ(Judge(Write("Worker", 1), Write("SomethingElse", 2)).pattern, "stack object escaping");
  EXPECT_EQ(Judge(Write("Worker", 1), Write("Start", 2)).pattern, "stack object shared");
}

TEST_F(JudgementTest, ContainersAndSmartPointers) {
  AccessSite pushes = Write("Append(int)", 1);
  Above(pushes, "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(PatternOf(pushes, Read("g", 2)), "container mutated");
  AccessSite resets = Write("Replace()", 1);
  Above(resets, "std::__shared_ptr<int, (__gnu_cxx::_Lock_policy)2>::operator=(std::__shared_ptr<int> const&)");
  EXPECT_EQ(PatternOf(resets, Read("g", 2)), "smart pointer replaced");
  EXPECT_EQ(Judge(pushes, Read("g", 2)).rank, Rank::kHigh);
}

TEST_F(JudgementTest, Locks) {
  AccessSite locked = Write("f", 1);
  Hold(locked, "m");
  EXPECT_EQ(PatternOf(locked, Write("g", 2)), "forgotten lock");
  EXPECT_EQ(PatternOf(locked, Read("g", 2)), "unlocked read");
  EXPECT_EQ(Judge(locked, Read("g", 2)).rank, Rank::kMedium);
  AccessSite other = Write("g", 2);
  Hold(other, "n");
  EXPECT_EQ(PatternOf(locked, other), "different locks");
  Hold(other, "m");
  EXPECT_EQ(PatternOf(locked, other), "weak lock") << "it excludes them, and orders nothing";
  AccessSite reader = Write("f", 1);
  Hold(reader, "rw", LockMode::kShared);
  EXPECT_EQ(PatternOf(reader, reader), "write under read lock");
  locked.locks_known = false;
  EXPECT_EQ(PatternOf(locked, Read("g", 2)), "");
}

TEST_F(JudgementTest, BitFieldNeighbours) {
  const std::string text =
      "struct { int status : 4; int received : 28; int plain; } st;\nst.status = 1;\nst.received++;\nif (st.received > "
      "4) f();\n";
  EXPECT_EQ(PatternOf(Write("f", 2), Write("g", 3), text), "bit-field neighbours");
  EXPECT_EQ(Judge(Write("f", 2), Write("g", 3), text).rank, Rank::kHigh);
  // Nothing can be lost here.
  EXPECT_EQ(PatternOf(Write("f", 2), Read("g", 4), text), "safe flag update");
  EXPECT_EQ(Judge(Write("f", 2), Read("g", 4), text).rank, Rank::kLow);
}

TEST_F(JudgementTest, DoubleCheckedLockingAndLazyInitialisation) {
  const std::string text = "if (!inited) {\n  mu.lock();\n  inited = true;\nif (!obj)\n  obj = new Obj;\n";
  AccessSite locked = Write("Init()", 3);
  Hold(locked, "mu");
  EXPECT_EQ(PatternOf(locked, Read("Init()", 1), text), "double-checked locking");
  EXPECT_EQ(PatternOf(Write("Init()", 5), Read("Init()", 4), text), "lazy initialisation");
  EXPECT_EQ(PatternOf(Write("Init()", 5), Write("Init()", 5), text), "lazy initialisation");
}

TEST_F(JudgementTest, NotificationPublicationAndChecks) {
  const std::string text =
      "while (!done) sleep(1);\ndone = true;\nobject = new Object;\nwhile (object == nullptr) {}\nif (owner == me) "
      "f();\nowner = 0;\n";
  EXPECT_EQ(PatternOf(Write("f", 2), Read("g", 1), text), "notification flag");
  EXPECT_EQ(PatternOf(Write("f", 3), Read("g", 4), text), "publication without barrier");
  EXPECT_EQ(PatternOf(Write("f", 6), Read("g", 5), text), "check then act");
}

TEST_F(JudgementTest, CountersThatOnlyGrowAreDemotedAndReferenceCountsAreNot) {
  const std::string text = "stats.hits++;\nhits += 2;\nprint(hits);\nrefs++;\nif (--refs == 0) f();\n";
  EXPECT_EQ(PatternOf(Write("f", 1), Write("g", 2), text), "statistics counter");
  EXPECT_EQ(Judge(Write("f", 1), Write("g", 2), text).rank, Rank::kLow);
  EXPECT_EQ(PatternOf(Write("f", 1), Read("g", 3), text), "statistics counter");
  EXPECT_EQ(PatternOf(Write("f", 4), Write("g", 5), text), "reference count");
  AccessSite locked = Write("f", 1);
  Hold(locked, "m");
  EXPECT_EQ(PatternOf(locked, Write("g", 2), text), "forgotten lock") << "somebody cares for this counter";
}

TEST_F(JudgementTest, FlagUpdatesThatWriteAreNeverDemoted) {
  const std::string text = "x &= ~kNotDeleted;\nx |= kCached;\nif (x & kCached) f();\nif (x & kOther) f();\n";
  EXPECT_EQ(PatternOf(Write("AddToCache", 1), Write("AddToCache", 2), text), "flag updates overwrite each other");
  EXPECT_EQ(PatternOf(Write("AddToCache", 2), Write("AddToCache", 2), text), "flag updates overwrite each other");
  const Judgement same = Judge(Write("AddToCache", 2), Write("AddToCache", 2), text);
  EXPECT_EQ(same.rank, Rank::kHigh);
  EXPECT_NE(same.reasons.back().find("does not make it harmless"), std::string::npos);
  EXPECT_EQ(PatternOf(Write("f", 2), Read("g", 4), text), "safe flag update");
  EXPECT_NE(PatternOf(Write("f", 2), Read("g", 3), text), "safe flag update");
}

TEST_F(JudgementTest, AValueThatIsComputedFromTheOldOneMayBeLost) {
  const std::string text = "registry = Combine(registry, callback);\n";
  EXPECT_EQ(PatternOf(Write("Register", 1), Write("Register", 1), text), "lost update");
}

TEST_F(JudgementTest, SpecialVariablesAreDemotedAlsoIfTheUserSaysSo) {
  report.variable = "environ";
  EXPECT_EQ(Judge(Write("f", 1), Read("g", 2)).pattern, "special variable");
  EXPECT_EQ(Judge(Write("f", 1), Read("g", 2)).rank, Rank::kLow);
  report.variable = "now";
  report.judgement = Judge(Write("f", 1), Read("g", 2));
  EXPECT_EQ(report.judgement->rank, Rank::kMedium);
  JudgeSpecial(report, "special:now");
  EXPECT_EQ(report.judgement->rank, Rank::kLow);
  EXPECT_EQ(report.judgement->reasons[0], "special:now");
}

TEST_F(JudgementTest, PreciseBeforeApproximateSeveralStacksBeforeOneFieldsBeforeObjects) {
  AccessSite locked = Write("f", 1);
  Hold(locked, "m");
  EXPECT_EQ(Judge(locked, Write("g", 2)).rank, Rank::kHigh);
  report.claim = Claim::kUnprotected;
  EXPECT_EQ(Judge(locked, Write("g", 2)).rank, Rank::kMedium);
  EXPECT_EQ(Judge(Write("f", 1), Write("g", 2)).rank, Rank::kLow);
  AccessSite unknown = Write("g", 2);
  unknown.stack.clear();
  const Judgement one_stack = Judge(Write("f", 1), unknown);
  EXPECT_NE(std::find(one_stack.reasons.begin(), one_stack.reasons.end(), "the stack of one side only is known"),
            one_stack.reasons.end());
  report.claim = Claim::kUnordered;
  report.earlier.clear();
  Texts none;
  EXPECT_EQ(redflag::Judge(report, none).pattern, "");
}

}  // namespace
}  // namespace redflag
