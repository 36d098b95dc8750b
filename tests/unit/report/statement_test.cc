#include "report/statement.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

using Path = Statement::Path;

TEST(StatementTest, AssignmentsAreWrites) {
  const Statement statement = Statement::Of("  stats->table[i].hits += n * 2;  // x = 1");
  ASSERT_EQ(statement.writes().size(), 1u);
  EXPECT_EQ(statement.writes()[0].path, (Path{"stats", "table", "hits"}));
  EXPECT_EQ(statement.writes()[0].sign, "+=");
  EXPECT_EQ(statement.writes()[0].value, "n * 2");
  EXPECT_FALSE(statement.writes()[0].declares);
}

TEST(StatementTest, IncrementsOnEitherSideAreWrites) {
  EXPECT_EQ(Statement::Of("++hits;").writes().at(0).sign, "++");
  EXPECT_EQ(Statement::Of("if (--this->refs == 0) delete this;").writes().at(0).path, Path{"refs"});
  EXPECT_EQ(Statement::Of("return hits++;").writes().at(0).path, Path{"hits"});
  EXPECT_TRUE(Statement::Of("if (a == b && c <= d) f();").writes().empty());
}

TEST(StatementTest, DeclarationsAreToldFromWrites) {
  EXPECT_TRUE(Statement::Of("const int x = y;").writes().at(0).declares);
  EXPECT_TRUE(Statement::Of("Node* x = head;").writes().at(0).declares);
  EXPECT_TRUE(Statement::Of("std::vector<int> x = y;").writes().at(0).declares);
  EXPECT_FALSE(Statement::Of("return x = y;").writes().at(0).declares);
  EXPECT_TRUE(Statement::Of("*p = 1;").writes().at(0).dereferences);
}

TEST(StatementTest, ConditionsOfIfAndOfLoops) {
  EXPECT_TRUE(Statement::Of("if (!inited) {").Checks("inited"));
  EXPECT_TRUE(Statement::Of("return obj ? obj : 0;").Checks("obj"));
  EXPECT_FALSE(Statement::Of("if (ready) done = 1;").Checks("done"));
  EXPECT_FALSE(Statement::Of("flags |= a ? 3 : 1;").Checks("flags"));
  EXPECT_TRUE(Statement::Of("while (!done) sleep(1);").LoopsOn("done"));
  EXPECT_FALSE(Statement::Of("while (more) done = 1;").LoopsOn("done"));
  EXPECT_TRUE(Statement::Of("if (a && (b || !inited)) {").Checks("inited"));
  EXPECT_TRUE(Statement::Of("if (unlikely(!inited)) {").Checks("inited"));
  EXPECT_FALSE(Statement::Of("if (write(fd, buffer, 4) != 4) f();").Checks("buffer"));
}

TEST(StatementTest, Masks) {
  EXPECT_EQ(Statement::Of("if (state & kReady) f();").MaskOf("state"), "kReady");
  EXPECT_EQ(Statement::Of("state |= kReady;").MaskOf("state"), "");
}

TEST(StatementTest, AStatementOfSeveralLinesIsReadWhole) {
  const std::vector<std::string> lines = {"int f() {", "  while (", "      !done)", "    sleep(1);", "}"};
  EXPECT_TRUE(Statement::At(lines, 3).LoopsOn("done"));
  EXPECT_TRUE(Statement::At(lines, 9).empty());
  EXPECT_TRUE(Statement::At(lines, 0).empty());
}

TEST(StatementTest, WhatAFileDoesToAName) {
  const std::vector<std::string> lines = {"struct S { int a : 4, b : 28; int refs; };",
                                          "if (--s->refs == 0) delete s;"};
  EXPECT_TRUE(Decreases(lines, "refs"));
  EXPECT_FALSE(Decreases(lines, "a"));
  EXPECT_TRUE(DeclaresBitField(lines, "a"));
  EXPECT_TRUE(DeclaresBitField(lines, "b"));
  EXPECT_FALSE(DeclaresBitField(lines, "refs"));
}

}  // namespace
}  // namespace redflag
