// SPDX-License-Identifier: BSD-3-Clause
//
// Compares JSON patterns with another JSON parser (nlohmann) and a simple evaluation. Also changes
// every byte of patterns and lines.
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {
namespace {

using Json = nlohmann::json;

/// A condition's text, and whether the condition holds.
struct Made {
  std::string pattern;
  bool holds;
};

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  std::string OneOf(std::initializer_list<const char*> list) {
    return list.begin()[Below(list.size())];
  }

  Json Value(int depth) {
    switch (Below(depth < 3 ? 10 : 7)) {
      case 0:
        return nullptr;
      case 1:
        return Below(2) == 0;
      case 2:
        return static_cast<int64_t>(Below(5)) - 2;
      case 3:
        return static_cast<double>(Below(9)) / 4;
      case 4:
      case 5:
      case 6:
        return Text();
      case 7: {
        Json array = Json::array();
        for (size_t n = Below(3); n > 0; --n) array.push_back(Value(depth + 1));
        return array;
      }
      default:
        return Object(depth + 1);
    }
  }
  Json Object(int depth) {
    Json object = Json::object();
    for (size_t n = Below(4); n > 0; --n) object[Name()] = Value(depth);
    return object;
  }
  /// Builds a random tree of conditions for `line`. Returns the tree's text and whether it holds.
  Made Condition(const Json& line, int depth) {
    if (depth < 3 && Below(2) == 0) {
      Made a = Condition(line, depth + 1), b = Condition(line, depth + 1);
      if (Below(2) == 0) return {"(" + a.pattern + ") && (" + b.pattern + ")", a.holds && b.holds};
      return {"(" + a.pattern + "||" + b.pattern + ")", a.holds || b.holds};
    }
    return Leaf(line);
  }

 private:
  std::string Name() { return OneOf({"a", "b", "c", "longer-name"}); }
  std::string Text() { return OneOf({"", "x", "xy", "yx", "a/b", "\xc3\xa9", "q\"q", "b\\", "1"}); }

  Made Leaf(const Json& line) {
    std::string selector = "$";
    const Json* at = &line;
    for (size_t n = 1 + Below(3); n > 0; --n) {
      if (selector != "$" && Below(3) == 0) {
        const size_t index = Below(3);
        selector += "[" + std::to_string(index) + "]";
        at = at && at->is_array() && index < at->size() ? &(*at)[index] : nullptr;
      } else {
        const std::string name = Name();
        selector += "." + name;
        at = at && at->is_object() && at->contains(name) ? &(*at)[name] : nullptr;
      }
    }
    switch (Below(6)) {
      case 0:
        return {selector + " IS NULL", at && at->is_null()};
      case 1:
        return {selector + " NOT EXISTS", at == nullptr};
      case 2: {
        const bool value = Below(2) == 0;
        return {selector + (value ? " IS TRUE" : " IS FALSE"), at && *at == Json(value)};
      }
      case 3:
        return NumberLeaf(selector, at);
      default:
        return TextLeaf(selector, at);
    }
  }
  Made NumberLeaf(const std::string& selector, const Json* at) {
    const double number = static_cast<double>(Below(9)) / 4 - 1;
    const std::string relation = OneOf({"=", "!=", "<", "<=", ">", ">="});
    const bool is_number = at && at->is_number();
    const double value = is_number ? at->get<double>() : 0;
    const bool holds = relation == "=" ? is_number && value == number
                       : relation == "!="
                           ? at && !at->is_structured() && !(is_number && value == number)
                       : relation == "<"  ? is_number && value < number
                       : relation == "<=" ? is_number && value <= number
                       : relation == ">"  ? is_number && value > number
                                          : is_number && value >= number;
    return {selector + relation + std::to_string(number), holds};
  }
  Made TextLeaf(const std::string& selector, const Json* at) {
    const std::string text = OneOf({"x", "x*", "*", "*y", "x*y", "*y*", "\xc3\xa9", "a/*", "q\"q"});
    std::string quoted, expression;
    for (const char c : text) {
      quoted += c == '"' ? "\\\"" : std::string(1, c);
      expression += c == '*' ? "(?s:.*)" : std::string(1, c);
    }
    const bool equal = at && at->is_string() && RE2::FullMatch(at->get<std::string>(), expression);
    if (Below(2) == 0) return {selector + " = \"" + quoted + "\"", equal};
    return {selector + " != \"" + quoted + "\"", at && !at->is_structured() && !equal};
  }

  std::mt19937_64 random_;
};

TEST(JsonPatterns, SayWhatAPlainEvaluationSays) {
  Maker maker(1);
  Scratch scratch;
  int matches = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Json object = maker.Object(0);
    const std::string line = object.dump(-1, ' ', maker.Below(2) == 0);
    for (int j = 0; j < 3; ++j) {
      const Made made = maker.Condition(object, 1);
      std::string error;
      const auto filter = Filter::CloudWatch("{" + made.pattern + "}", &error);
      ASSERT_TRUE(filter) << made.pattern << ": " << error;
      ASSERT_EQ(filter->Matches(line, scratch), made.holds) << made.pattern << "  on  " << line;
      matches += made.holds;
    }
  }
  EXPECT_GT(matches, 10'000);
}

TEST(JsonPatterns, ReadNothingThatTheOtherReaderRefuses) {
  const std::string line =
      R"({"a":{"b":[1,-2.5e3,"x\u00e9\n/","\ud83d\ude00"]},"t":true,"n":null,"z":"\\"})";
  std::string error;
  const auto any = Filter::CloudWatch("{ $.none NOT EXISTS }", &error);
  Scratch scratch;
  int accepted = 0;
  const auto check = [&](const std::string& bent) {
    // A lone surrogate is valid (RFC 8259 section 8.2), but nlohmann rejects it.
    std::string whole = bent;
    RE2::GlobalReplace(&whole, R"(\\u[dD][89a-fA-F][0-9a-fA-F]{2})", R"(\\ufffd)");
    const Json read = Json::parse(whole, nullptr, false);
    const bool expected = read.is_object() && !read.contains("none");
    accepted += expected;
    EXPECT_EQ(any->Matches(bent, scratch), expected) << bent;
  };
  check(line);
  EXPECT_EQ(accepted, 1);
  for (size_t i = 0; i < line.size(); ++i) {
    check(line.substr(0, i));
    for (const char c : {'\0', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', ' ', '\x7f',
                         '\x80', '\xff', 'u', 't', '\n'}) {
      std::string bent = line;
      bent[i] = c;
      check(bent);
    }
  }
  EXPECT_GT(accepted, 100);
}

/// Numbers can have any magnitude (RFC 8259 section 6), and strings can contain lone surrogates
/// (RFC 8259 section 8.2).
TEST(JsonPatterns, ReadALineWhateverOneOfItsValuesIs) {
  std::string error;
  const auto errors = Filter::CloudWatch(R"({ $.level = "error" })", &error);
  Scratch scratch;
  for (const std::string value :
       {"18446744073709551616", "-9223372036854775809", "123456789012345678901234567890", "1e400",
        "-1E+400", "1e-400", "0.1e99999999999", R"("\udcff")", R"("\ud83dx")",
        R"("\ud83d\ud83d\ude00")", R"(["\\ud83d", {"\uDC00": 1e999}])"}) {
    for (const char* line : {R"({"level":"error","x":%})", R"({"x": % , "level":"error"})"}) {
      std::string text = line;
      text.replace(text.find('%'), 1, value);
      EXPECT_TRUE(errors->Matches(text, scratch)) << text;
    }
  }
  EXPECT_EQ(scratch.unread_json(), 0u);
  uint64_t unread = 0;
  for (const std::string value : {"01e400", "1e", "-", "1.e400", "+1e400", "1e400x", R"("\ud8")",
                                  R"("\udcff)", "nan", "\"\xff\"", "123456789012345678901."}) {
    const std::string text = R"({"level":"error","x":)" + value + "}";
    EXPECT_FALSE(errors->Matches(text, scratch)) << text;
    EXPECT_EQ(scratch.unread_json(), ++unread) << text;
  }
  EXPECT_FALSE(errors->Matches("level error", scratch));
  EXPECT_FALSE(errors->Matches("[1]", scratch));
  EXPECT_EQ(scratch.unread_json(), unread) << "nobody takes these for objects";
}

TEST(JsonPatterns, CompareIntegersExactly) {
  Scratch scratch;
  const auto holds = [&](const std::string& comparison, const std::string& value) {
    std::string error;
    const auto filter = Filter::CloudWatch("{ $.x " + comparison + " }", &error);
    return filter->Matches("{\"x\":" + value + "}", scratch);
  };
  EXPECT_TRUE(holds("= 9007199254740993", "9007199254740993"));
  EXPECT_FALSE(holds("= 9007199254740993", "9007199254740992"));
  EXPECT_FALSE(holds("= 9007199254740992", "9007199254740993"));
  EXPECT_TRUE(holds("> 9007199254740992", "9007199254740993"));
  EXPECT_TRUE(holds("= 18446744073709551615", "18446744073709551615"));
  EXPECT_FALSE(holds("= 18446744073709551615", "18446744073709551614"));
  EXPECT_TRUE(holds("= -9223372036854775807", "-9223372036854775807"));
  EXPECT_TRUE(holds("!= -9223372036854775807", "-9223372036854775808"));
  EXPECT_TRUE(holds("> 18446744073709551615", "18446744073709551616"));
  EXPECT_TRUE(holds("> 1e300", "1e400"));
  EXPECT_TRUE(holds("< -1e300", "-1e400"));
  EXPECT_TRUE(holds("= 5", "5.0"));
}

TEST(Patterns, BentAtEveryByteAreRefusedOrAsk) {
  const std::string lines[] = {
      "",  "a b 5", R"({"a":[{"b":"x"}],"n":5})", "\"a b\" [c d] \xff", std::string("\0", 1), "{",
      "[", "\"",    std::string(300, '[')};
  Scratch scratch;
  int compiled = 0;
  for (const std::string pattern : {R"(ERROR "a \"b" -%^a[^b]{1,3}.*$% ?c)",
                                    R"({ ($.a[0].b = "x*y" || $.n >= 1e3) && $.s IS NULL })",
                                    R"({ $.t = %a+|b$% && $.u NOT EXISTS })",
                                    R"([a = "x*" && a != 5, ..., b = %x%, c > 1.5])"}) {
    const auto check = [&](const std::string& bent) {
      std::string error;
      const auto filter = Filter::CloudWatch(bent, &error);
      EXPECT_EQ(filter.has_value(), error.empty()) << bent;
      if (!filter) return;
      ++compiled;
      for (const std::string& line : lines) filter->Matches(line, scratch);
    };
    for (size_t i = 0; i < pattern.size(); ++i) {
      check(pattern.substr(0, i));
      check(pattern.substr(i));
      for (int byte = 0; byte < 256; byte += 3) {
        std::string bent = pattern;
        bent[i] = static_cast<char>(byte);
        check(bent);
      }
    }
  }
  EXPECT_GT(compiled, 1000);
}

}  // namespace
}  // namespace sluice::engine::logmon
