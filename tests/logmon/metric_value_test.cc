// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {
namespace {

Filter Compile(std::string_view pattern) {
  std::string error;
  auto filter = Filter::CloudWatch(pattern, &error);
  EXPECT_TRUE(filter) << error;
  return *std::move(filter);
}

std::optional<double> ValueOf(std::string_view value, std::string_view pattern,
                              std::string_view line) {
  std::string error;
  const auto compiled = MetricValue::Compile(value, Compile(pattern), &error);
  EXPECT_TRUE(compiled) << error;
  Scratch scratch;
  return compiled->Of(line, scratch);
}

TEST(MetricValues, AreConstantsPropertiesOrFields) {
  EXPECT_EQ(ValueOf("1", "ERROR", "ERROR"), 1);
  EXPECT_EQ(ValueOf("2.5e-1", "{ $.a = * }", "{}"), 0.25);
  EXPECT_EQ(ValueOf("$.latency", "{ $.latency = * }", R"({"latency":50,"requestType":"GET"})"), 50);
  EXPECT_EQ(ValueOf("$.a[1].b", "{ $.a = * }", R"({"a":[0,{"b":-1.5}]})"), -1.5);
  EXPECT_EQ(ValueOf("$.a", "{ $.a = * }", R"({"a":"12"})"), 12);
  EXPECT_EQ(ValueOf("$bytes", "[ip, ..., status, bytes]", "1.1.1.1 - [x y] 404 1534"), 1534);
  EXPECT_EQ(ValueOf("$ip", "[ip, ..., status, bytes]", "7 - [x y] 404 1534"), 7);
}

TEST(MetricValues, AreNothingWithoutAFiniteNumber) {
  EXPECT_EQ(ValueOf("$.a", "{ $.b = * }", R"({"b":1})"), std::nullopt);
  EXPECT_EQ(ValueOf("$.a", "{ $.b = * }", R"({"a":"x"})"), std::nullopt);
  EXPECT_EQ(ValueOf("$.a", "{ $.b = * }", R"({"a":true})"), std::nullopt);
  EXPECT_EQ(ValueOf("$.a", "{ $.b = * }", "no object"), std::nullopt);
  for (const char* text : {"-", "nan", "inf", "1e999", "1534,", "0x10", "", "+-1"}) {
    EXPECT_EQ(ValueOf("$a", "[a, b]", std::string("\"") + text + "\" b"), std::nullopt) << text;
  }
  EXPECT_EQ(ValueOf("$a", "[a, b]", "1 2 3"), std::nullopt);
  // Fields are selected by number even if the pattern names them. If a field's name is a number,
  // the name has priority.
  EXPECT_EQ(ValueOf("$2", "[a, , c]", "1 2 3"), 2);
  EXPECT_EQ(ValueOf("$4", "[..., z]", "1 2 3 4 5"), 4);
  EXPECT_EQ(ValueOf("$6", "[..., z]", "1 2 3 4 5"), std::nullopt);
  EXPECT_EQ(ValueOf("$1", "[1 = 9, b]", "9 2"), 9);
  EXPECT_EQ(ValueOf("$2", "[2, b]", "7 8"), 7);
  EXPECT_EQ(ValueOf("$3", "[]", "1 2 3"), 3);
}

TEST(MetricValues, FitTheirPattern) {
  const auto error_of = [](std::string_view value, std::string_view pattern) {
    std::string error;
    return MetricValue::Compile(value, Compile(pattern), &error) ? "accepted" : error;
  };
  EXPECT_EQ(error_of("x", "a"), "a metric value must be a number, $.property or $field");
  EXPECT_EQ(error_of("$.a", "a"), "only JSON and space-delimited patterns support values");
  EXPECT_EQ(error_of("$a", "{ $.a = 1 }"),
            "at byte 1: a selector is missing; it must begin with $.");
  EXPECT_EQ(error_of("$.a b", "{ $.a = 1 }"), "at byte 4: unexpected text after the selector");
  EXPECT_EQ(error_of("$.a[*].b", "{ $.a[*].b = 1 }"),
            "at byte 1: a value must select one element: use an index instead of *");
  for (const auto& [value, pattern] : {std::pair("$c", "[a, b]"),
                                       {"$", "[a, ]"},
                                       {"$0", "[a, b]"},
                                       {"$3", "[a, b]"},
                                       {"$1x", "[...]"},
                                       {"$-1", "[...]"},
                                       {"$99999999999999999999", "[...]"}}) {
    EXPECT_EQ(error_of(value, pattern),
              "a value of a space-delimited pattern must be $ followed by the name or number of "
              "one of its fields")
        << value;
  }
}

TEST(Fields, OfAPatternHaveNames) {
  EXPECT_EQ(Compile("[ip, ..., status = 4*, , bytes]").fields(),
            (std::vector<std::string>{"ip", "status", "", "bytes"}));
  EXPECT_TRUE(Compile("{ $.a = 1 }").fields().empty());
}

}  // namespace
}  // namespace sluice::engine::logmon
