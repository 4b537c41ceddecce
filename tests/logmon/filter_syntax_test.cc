// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the CloudWatch Logs filter syntax with examples from its documentation and from public test
// suites, and with hostile patterns.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {
namespace {

/// Returns whether the pattern is valid and matches.
bool Matches(std::string_view pattern, std::string_view line) {
  std::string error;
  const auto filter = Filter::CloudWatch(pattern, &error);
  if (!filter) return false;
  Scratch scratch;
  return filter->Matches(line, scratch);
}

std::string ErrorOf(std::string_view pattern) {
  std::string error;
  return Filter::CloudWatch(pattern, &error) ? "accepted" : error;
}

struct Case {
  const char* pattern;
  const char* line;
  bool matches;
};

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(Matches(c.pattern, c.line), c.matches) << c.pattern << "  on  " << c.line;
  }
}

TEST(TermPatterns, MatchAsTheGoldenCasesSay) {
  Check({
      {"Cloud watch", "Cloud logs watch", true},
      {"\"Cloud watch\"", "Cloud logs watch", false},
      {"ERROR ARGUMENTS", "[ERROR 400] BAD REQUEST", false},
      {"?ERROR ?ARGUMENTS", "[ERROR 400] BAD REQUEST", true},
      {"ERROR -ARGUMENTS", "[ERROR 400] BAD REQUEST", true},
      {"ERROR -ARGUMENTS", "[ERROR 419] MISSING ARGUMENTS", false},
      {"#Cloud", "#Cloud", false},
      {"\"#Cloud\"", "a #Cloud", true},
      {"\"#cloud\"", "a #Cloud", false},
      {"\"INTERNAL SERVER ERROR\"", "[ERROR 500] INTERNAL SERVER", false},
      {"hello", "{\"hello\" : \"world\"}", true},
      {"{", "{\"hello\" : \"world\"}", false},
      {"\"\"", "", true},
      {"", "", true},
      {" ", "anything", true},
      {"%AUTHORIZED%", "UNAUTHORIZED", true},
      {"ERROR", "[ERROR] 400 BAD REQUEST", true},
      {"ERROR", "[INFO] 200 OK", false},
  });
}

TEST(TermPatterns, AreSubstringsInAnyOrderWithCase) {
  Check({
      {"ERROR", "ERRORCODE 1", true},
      {"ERROR", "error", false},
      {"b a", "xax xbx", true},
      {"a_1", "a_12", true},
      {"\"a\\\"b\\\\c\"", "xa\"b\\cx", true},
      {"\"C:\\temp\"", "in C:\\temp now", true},
      {"\"\xc3\xa9\"", "caf\xc3\xa9", true},
      {"\"a\" b", "ba", true},
  });
}

TEST(TermPatterns, IgnoreOptionalTermsBesideOthers) {
  Check({
      {"?a b", "b", true},
      {"?a b", "a", false},
      {"?a -b", "c", true},
      {"?a -b", "ab", false},
      {"?a ?b", "c", false},
      {"-a", "b", true},
      {"-a -b", "b", false},
      {"-\"a b\"", "a b", false},
      {"?\"a b\" ?%^c%", "cd", true},
  });
}

TEST(RegexTerms, AreAnchoredAtTheLine) {
  Check({
      {"%^[hc]at%", "hat", true},
      {"%^[hc]at%", "a cat", false},
      {"%[hc]at$%", "a cat", true},
      {"%[hc]at$%", "cats", false},
      {"%colou?r%", "color", true},
      {"%a{3,5}%", "aa", false},
      {"%a{3,5}%", "aaaa", true},
      {"%gray|grey%", "grey", true},
      {"%10.*\\.5%", "10 and .5", true},
      {"%\\d+\\s\\w%", "x12 a", true},
      {"%\\D\\S\\W%", "ab!", true},
      {"%\\x3a%", "a:b", true},
      {"%\\[x\\]\\%%", "[x]%", true},
      {"-%^a%", "ba", true},
      {"-%^a%", "ab", false},
      {"?%^a% ?%b$%", "cb", true},
  });
}

TEST(RegexTerms, ReadCharactersInUtf8AndBytesInOtherText) {
  Check({
      {"%a.c%",
       "a\xc3\xa9"
       "c",
       true},
      {"%a..c%",
       "a\xc3\xa9"
       "c",
       false},
      {"%^[^x]{3}$%", "\xe2\x82\xac\xf0\x9f\x98\x80z", true},
      {"%a.c%",
       "a\xe9"
       "c",
       true},
      {"%a..c%",
       "a\xc3\xa9"
       "c \xff",
       true},
      {"%a.*c%",
       "a\xff\xfe"
       "c",
       true},
  });
}

TEST(JsonPatterns, CompareStringsNumbersAndKinds) {
  Check({
      {"{ $.a = \"x\" }", R"({"a":"x"})", true},
      {"{ $.a = \"x\" }", R"({"a":"xy"})", false},
      {"{ $.a = x }", R"({"a":"x"})", true},
      {"{ $.a = \"x*\" }", R"({"a":"xy"})", true},
      {"{ $.a = \"*x*z\" }", R"({"a":"wxyz"})", true},
      {"{ $.a = \"*x*x\" }", R"({"a":"x"})", false},
      {"{ $.a != \"x*\" }", R"({"a":"xy"})", false},
      {"{ $.a.b[1] = \"c d\" }", R"({"a":{"b":[0,"c d"]}})", true},
      {"{ $.a.b[2] = \"c\" }", R"({"a":{"b":[0,"c"]}})", false},
      {"{ $.a[0][1].b = 2 }", R"({"a":[[0,{"b":2}]]})", true},
      {"{ $.n = 404 }", R"({"n":404})", true},
      {"{ $.n = 404 }", R"({"n":4.04e2})", true},
      {"{ $.n > 1e3 }", R"({"n":1000.5})", true},
      {"{ $.n >= 1.5E-2 }", R"({"n":0.015})", true},
      {"{ $.n < -1 }", R"({"n":-2})", true},
      {"{ $.n <= 5 }", R"({"n":6})", false},
      {"{ $.n > 18446744073709551614 }", R"({"n":1})", false},
      {"{ $.n > 5 }", R"({"n":"6"})", false},
      {"{ $.n != 5 }", R"({"n":6})", true},
      {"{ $.n = 4* }", R"({"n":404})", true},
      {"{ $.n = \"4*\" }", R"({"n":404})", false},
      {"{ $.n = %^4\\d\\d$% }", R"({"n":404})", true},
      {"{ $.latency = * }", R"({"latency":50,"requestType":"GET"})", true},
      {"{ $.latency = * }", R"({"requestType":"GET"})", false},
      {"{ $.s IS NULL }", R"({"s":null})", true},
      {"{ $.s IS NULL }", R"({"t":null})", false},
      {"{ $.s NOT EXISTS }", R"({"t":null})", true},
      {"{ $.s NOT EXISTS }", R"({"s":null})", false},
      {"{ $.f IS TRUE }", R"({"f":true})", true},
      {"{ $.f IS TRUE }", R"({"f":"true"})", false},
      {"{ $.f IS FALSE }", R"({"f":false})", true},
      {"{$.f=true}", R"({"f":true})", true},
      {"{ $.e = %Trail% }", R"({"e":"UpdateTrail"})", true},
      {"{ $.e != %Trail% }", R"({"e":"UpdateTrail"})", false},
      {"{ $.ip != 123.123.* }", R"({"ip":"124.1.2.3"})", true},
      {"{ $.ip != 123.123.* }", R"({"ip":"123.123.1.1"})", false},
      {"{ $.user-name_1 = bob }", R"({"user-name_1":"bob"})", true},
  });
}

TEST(JsonPatterns, HoldOfOneElementWhereTheSelectorHasAWildcard) {
  const char* items = R"({"a":[{"b":1},{"b":5,"c":[7,8]},{"c":[]}],"d":[],"e":{"b":1}})";
  Check({
      {"{ $.a[*].b = 5 }", items, true},
      {"{ $.a[*].b = 6 }", items, false},
      {"{ $.a[*].b != 1 }", items, true},
      {"{ $.a[*].c[*] = 8 }", items, true},
      {"{ $.a[*].c[0] = 8 }", items, false},
      {"{ $.a[1].c[*] > 7 }", items, true},
      {"{ $.a[0].c[*] > 0 }", items, false},
      {"{ $.a[*].x NOT EXISTS }", items, true},
      {"{ $.a[*].b NOT EXISTS }", items, false},
      {"{ $.d[*] NOT EXISTS }", items, true},
      {"{ $.e[*] = 1 }", items, false},
      {"{ $.e[*].b = 1 }", items, false},
      {"{ $.t[*] = \"*x\" && $.t[*] IS NULL }", R"({"t":["y","ax",null]})", true},
      {"{ $.t[*] IS TRUE }", R"({"t":[[true]]})", false},
      {"{ $.t[*][*] IS TRUE }", R"({"t":[[true]]})", true},
  });
}

TEST(JsonPatterns, AreFalseOfAbsentPropertiesAndOfContainers) {
  Check({
      {"{ $.a != 1 }", "{}", false},
      {"{ $.a != \"x\" }", R"({"b":"y"})", false},
      {"{ $.a != \"x\" }", R"({"a":["y"]})", false},
      {"{ $.a = * }", R"({"a":{}})", false},
      {"{ $.a.b NOT EXISTS }", R"({"a":1})", true},
      {"{ $.a != \"x\" }", R"({"a":null})", true},
  });
}

TEST(JsonPatterns, BindAndTighterThanOr) {
  const char* all = R"({"a":1,"b":2,"c":3})";
  Check({
      {"{ $.a = 1 || $.b = 9 && $.c = 9 }", all, true},
      {"{ ($.a = 1 || $.b = 9) && $.c = 9 }", all, false},
      {"{ $.a = 9 && $.b = 9 || $.c = 3 }", all, true},
      {"{ $.a = 9 && ($.b = 9 || $.c = 3) }", all, false},
      {"{(($.a=1)&&($.b=2))}", all, true},
  });
}

TEST(JsonPatterns, SeeTheValueHoweverItIsWritten) {
  Check({
      {"{ $.a = \"x/y\" }", R"({"a":"x\/y"})", true},
      {"{ $.a = \"x\" }", R"({"\u0061":"\u0078"})", true},
      {"{ $.a = \"say \\\"hi\\\"\" }", R"({"a":"say \"hi\""})", true},
      {"{ $.a = \"\xc3\xa9\" }", R"({"a":"\u00e9"})", true},
      {"{ $.a = 1 }", R"(  { "a" : 1 }  )", true},
  });
}

TEST(JsonPatterns, MatchOnlyLinesThatAreOneObject) {
  Check({
      {"{ $.a = 1 }", R"(x {"a":1})", false},
      {"{ $.a = 1 }", R"({"a":1} x)", false},
      {"{ $.a = 1 }", R"({"a":1)", false},
      {"{ $.a NOT EXISTS }", "[]", false},
      {"{ $.a NOT EXISTS }", "7", false},
      {"{ $.a NOT EXISTS }", "", false},
      {"{ $.a NOT EXISTS }", "{\"b\":\"\xff\"}", false},
      {"{ $.a NOT EXISTS }", R"({"b":01})", false},
  });
}

TEST(JsonPatterns, SeeTheFirstOfEqualNames) {
  Check({{"{ $.a = 1 }", R"({"a":1,"a":2})", true}, {"{ $.a = 2 }", R"({"a":1,"a":2})", false}});
}

TEST(JsonPatterns, BearDeepNesting) {
  std::string deep = R"({"a":1,"b":)";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  EXPECT_FALSE(Matches("{ $.a = 1 }", deep));
  std::string bearable = R"({"a":1,"b":)" + std::string(500, '[') + std::string(500, ']') + "}";
  EXPECT_TRUE(Matches("{ $.a = 1 }", bearable));
}

constexpr char kAccess[] =
    R"(127.0.0.1 Prod frank [10/Oct/2000:13:25:15 -0700] "GET /index.html HTTP/1.0" 404 1534)";

TEST(FieldPatterns, CompareFields) {
  Check({
      {"[ip, user, username, timestamp, request =*.html*, status_code = 4*, bytes]", kAccess, true},
      {"[ip, user, id, ts, request = \"*.html*\", status = 4*, bytes > 1000]", kAccess, true},
      {"[ip, user, id, ts, request, status = 4*, bytes > 1534]", kAccess, false},
      {"[ip, user, id, ts, request, status = 404, bytes >= 1.534e3]", kAccess, true},
      {"[..., status = 404, bytes]", kAccess, true},
      {"[..., bytes = 404]", kAccess, false},
      {"[ip = 127.0.0.1, ...]", kAccess, true},
      {"[ip, ..., bytes]", kAccess, true},
      {"[ip, user, ts, bytes]", kAccess, false},
      {"[ip, user, id, ts = \"10/Oct/*\", ...]", kAccess, true},
      {"[ip, user, id, ts, request = %^GET.*1\\.[01]$%, ...]", kAccess, true},
      {"[ip, , , , , status = 404, ]", kAccess, true},
      {"[w1 != \"ERROR\" && w1 != WARN, w2]", "INFO x", true},
      {"[w1 != \"ERROR\" && w1 != WARN, w2]", "WARN x", false},
      {"[w1 = ERROR || w1 = %WARN%, w2]", "[WARNING] x", true},
      {"[w1 = a || w1 = b && w1 = c, w2]", "a x", true},
      {"[(w1 = a || w1 = b) && w1 != b, w2]", "b x", false},
      {"[a, b]", "  one   two ", true},
      {"[a, b]", "one", false},
      {"[a, b]", "one two three", false},
      {"[...]", "", true},
      {"[a, ..., b, c]", "one two", false},
      {"[a, ..., b = 3, c = 4]", "1 2 3 4", true},
      {"[a = -, b = \"\"]", "- \"\"", true},
      {"[a != 5, b]", "x 1", true},
      {"[a < 5, b]", "x 1", false},
  });
}

TEST(FieldPatterns, TakeQuotedAndBracketedTextAsOneField) {
  Check({
      {"[a = \"x y\", b = \"p q\"]", "\"x y\" [p q]", true},
      {"[a = \"x \\\\\\\"y\\\\\\\" z\", b]", R"("x \"y\" z" b)", true},
      {"[a, b, c]", "\"x y z", true},
      {"[a = \"*error*\", b]", "[error]: b", true},
      {"[a = \"\\\"x y\\\",\", b]", "\"x y\", b", true},
      {"[a, b, c]", "x [y z", true},
  });
}

TEST(FieldPatterns, TakeTimeLinearInTheLine) {
  std::string line;
  for (int i = 0; i < 60'000; ++i) line += "\"a [";
  EXPECT_FALSE(Matches("[a, ..., b = x]", line));
}

TEST(Patterns, AreRefusedWithThePlaceOfTheError) {
  EXPECT_EQ(ErrorOf("a b#"),
            "at byte 4: a term with characters other than letters, digits and _ must be in "
            "double quotes");
  EXPECT_EQ(ErrorOf("a \"b"), "at byte 3: the closing quote is missing");
  EXPECT_EQ(ErrorOf("a -"), "at byte 4: a term is missing");
  EXPECT_EQ(ErrorOf("%a"), "at byte 1: the closing percent sign is missing");
  EXPECT_EQ(ErrorOf("%%"), "at byte 1: an empty regular expression");
  EXPECT_EQ(ErrorOf("%a\\q%"), "at byte 3: unknown escape in a regular expression");
  EXPECT_EQ(ErrorOf("{ $.a = 1 "), "at byte 1: no closing brace");
  EXPECT_EQ(ErrorOf("{ $.a ! 1 }"), "at byte 7: an operator is missing: = != < <= > or >=");
  EXPECT_EQ(ErrorOf("{ $.a = }"), "at byte 9: a value is missing");
  EXPECT_EQ(ErrorOf("{ $.a > x }"), "at byte 9: a number is missing");
  EXPECT_EQ(ErrorOf("{ $.a > \"1\" }"), "at byte 9: < and > require a number");
  EXPECT_EQ(ErrorOf("{ a = 1 }"), "at byte 3: a selector is missing; it must begin with $.");
  EXPECT_EQ(ErrorOf("{ $. = 1 }"), "at byte 5: a name is missing: use letters, digits, _ and -");
  EXPECT_EQ(ErrorOf("{ $.a[x] = 1 }"),
            "at byte 7: an index is missing: give a number or * in brackets");
  EXPECT_EQ(ErrorOf("{ $.a[**] = 1 }"),
            "at byte 8: an index is missing: give a number or * in brackets");
  EXPECT_EQ(ErrorOf("{ $.a IS 1 }"), "at byte 10: NULL, TRUE or FALSE expected after IS");
  EXPECT_EQ(ErrorOf("{ ($.a = 1 }"), "at byte 3: the closing parenthesis is missing");
  EXPECT_EQ(ErrorOf("{ $.a = 1 $.b = 2 }"), "at byte 11: &&, || or a closing brace is missing");
  EXPECT_EQ(ErrorOf("{ $.a = 1 } x"), "at byte 13: unexpected text after the closing brace");
  EXPECT_EQ(ErrorOf("[a"), "at byte 1: no closing bracket");
  EXPECT_EQ(ErrorOf("[a = 1 && b = 2]"),
            "at byte 11: a condition must refer to the same field as the previous condition");
  EXPECT_EQ(ErrorOf("[..., a, ...]"), "at byte 10: three dots may appear only once");
  EXPECT_EQ(ErrorOf("[a] b"), "at byte 5: unexpected text after the closing bracket");
  EXPECT_EQ(ErrorOf("{ $.a = %a% || $.a = %b% || $.a = %c% }"),
            "at byte 35: a pattern may have at most two regular expressions");
  EXPECT_EQ(ErrorOf(std::string(1025, 'a')), "a pattern may have at most 1024 bytes");
  EXPECT_EQ(ErrorOf(std::string(1024, 'a')), "accepted");
  EXPECT_EQ(ErrorOf("{" + std::string(33, '(') + "$.a=1" + std::string(33, ')') + "}"),
            "at byte 34: parentheses are nested more than 32 deep");
  EXPECT_EQ(ErrorOf("{" + std::string(32, '(') + "$.a=1" + std::string(32, ')') + "}"), "accepted");
}

TEST(Patterns, OfRegularExpressionsKeepToTheDialect) {
  for (const char* foreign : {"%(a)%", "%a b%", "%a\"b%", "%\xc3\xa9%", "%a\\x80%", "%a\\1%", "%[%",
                              "%*%", "%a{1001}%", "%a{1000}{1000}%"}) {
    EXPECT_TRUE(ErrorOf(foreign).starts_with("at byte ")) << foreign;
  }
}

TEST(Patterns, ErrorsAreOneLineOfPrintableText) {
  for (int byte = 0; byte < 256; ++byte) {
    for (const std::string& pattern : {std::string("a") + static_cast<char>(byte),
                                       std::string("%[z-") + static_cast<char>(byte) + "]%",
                                       std::string("{ $.a = ") + static_cast<char>(byte),
                                       std::string("[a ") + static_cast<char>(byte)}) {
      for (const char c : ErrorOf(pattern)) EXPECT_TRUE(c >= ' ' && c <= '~') << byte;
    }
  }
}

}  // namespace
}  // namespace sluice::engine::logmon
