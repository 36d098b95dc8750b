#include "report/json_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "report/json.h"
#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

using Json = nlohmann::json;

Json Written(const RaceReport& report) { return Json::parse(ToJson(report).dump()); }

std::string ErrorOf(const Json& json) {
  const auto read = FromJson(json);
  const auto* error = std::get_if<std::string>(&read);
  return error == nullptr ? "" : *error;
}

TEST(JsonReaderTest, WhatWasWrittenIsReadAndWrittenAgainTheSame) {
  const RaceReport report = FullReport();
  const auto read = FromJson(Written(report));
  ASSERT_TRUE(std::holds_alternative<RaceReport>(read)) << std::get<std::string>(read);
  EXPECT_EQ(ToJson(std::get<RaceReport>(read)).dump(), ToJson(report).dump());
}

TEST(JsonReaderTest, ReportsOfTracesAndEveryWordGoThrough) {
  RaceReport report = FullReport();
  report.pid = 0;
  report.command = "";
  report.trace = "a.trace";
  report.trace_line = 7;
  report.event = 5;
  report.fingerprint = "";
  report.judgement.reset();
  report.repeated = 0;
  report.access.locks[0].mode = LockMode::kShared;
  report.access.origin = AccessOrigin::kTransaction;
  report.access.vptr = true;
  report.earlier[0].origin = AccessOrigin::kFree;
  report.earlier[0].bit_field = true;
  for (const auto place : {RacyBlock::Place::kStack, RacyBlock::Place::kThreadLocal, RacyBlock::Place::kGlobal,
                           RacyBlock::Place::kMapped}) {
    report.block->place = place;
    report.block->module = "app";
    report.block->module_offset = 16;
    report.block->function = "Fill(Cache&)";
    report.block->declared_at = {FrameAt("", "/src/app/cache.cc", 9)};
    report.block->parameter = true;
    const auto read = FromJson(Written(report));
    ASSERT_TRUE(std::holds_alternative<RaceReport>(read)) << std::get<std::string>(read);
    EXPECT_EQ(ToJson(std::get<RaceReport>(read)).dump(), ToJson(report).dump());
  }
}

TEST(JsonReaderTest, EmptyFieldsAreNotWritten) {
  RaceReport report = FullReport();
  report.fingerprint = "";
  report.judgement.reset();
  report.repeated = 0;
  const Json json = Written(report);
  for (const char* name : {"fingerprint", "judgement", "repeated"}) EXPECT_FALSE(json.contains(name)) << name;
}

TEST(JsonReaderTest, UnknownFieldsArePassedOver) {
  Json json = Written(FullReport());
  json["of the future"] = {1, 2, 3};
  json["access"]["mood"] = "good";
  EXPECT_EQ(ErrorOf(json), "");
}

TEST(JsonReaderTest, ErrorsSayWhere) {
  Json json = Written(FullReport());
  json["access"]["stack"][1]["line"] = "many";
  EXPECT_EQ(ErrorOf(json), "access.stack[1].line: a whole number was expected");
  json = Written(FullReport());
  json["earlier"][0].erase("thread");
  EXPECT_EQ(ErrorOf(json), "earlier[0]: there is no \"thread\"");
  json = Written(FullReport());
  json["judgement"]["rank"] = "highest";
  EXPECT_EQ(ErrorOf(json), "judgement.rank: a word that is not known");
  json = Written(FullReport());
  json["address"] = "0x12z";
  EXPECT_EQ(ErrorOf(json), "address: a hexadecimal string was expected");
  json = Written(FullReport());
  json["access"]["stack"][0]["line"] = uint64_t{1} << 40;
  EXPECT_EQ(ErrorOf(json), "access.stack[0].line: a smaller number was expected");
}

TEST(JsonReaderTest, EveryFieldOfEveryWrongTypeIsAnErrorOrNothing) {
  const Json flat = Written(FullReport()).flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& wrong : {Json(nullptr), Json(-1), Json(1.5), Json("x"), Json(true), Json::array({Json::array()}),
                              Json::object(), Json("0x"), Json("0xffffffffffffffffff")}) {
      Json json = Written(FullReport());
      json[Json::json_pointer(pointer)] = wrong;
      const auto read = FromJson(json);
      if (std::holds_alternative<RaceReport>(read)) {
        EXPECT_EQ(wrong.type(), value.type()) << pointer << " " << wrong;
      }
    }
  }
  EXPECT_NE(ErrorOf(Json("text")), "");
  EXPECT_NE(ErrorOf(Json(nullptr)), "");
  EXPECT_NE(ErrorOf(Json::object()), "");
}

}  // namespace
}  // namespace redflag
