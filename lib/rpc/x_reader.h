// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the tokens that the parser of `.x` files (x_parser.cc) expects: signs, names and values.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "rpc/x_scanner.h"
#include "rpc/x_syntax.h"

namespace sluice::rpc {

/// Consumes the tokens of a scanner, which must outlive this object. A failed expectation discards
/// all remaining tokens, so that every loop ends; returned values are then meaningless.
class XReader {
 public:
  explicit XReader(Scanner& scanner) : scanner_(scanner) {}

  const Token& token() const { return scanner_.token(); }
  bool Is(std::string_view text) const {
    return token().kind != Token::Kind::kEnd && token().text == text;
  }
  bool Fail(std::string_view message) { return scanner_.Fail(token().position, message); }

  bool FailExpecting(std::string_view what) {
    return Fail(std::string(what) + " expected, not " +
                (token().kind == Token::Kind::kEnd ? std::string("the end")
                                                   : "'" + std::string(token().text) + "'"));
  }
  void Advance() { scanner_.Advance(); }
  bool Accept(std::string_view text) {
    if (!Is(text)) return false;
    scanner_.Advance();
    return true;
  }
  bool Expect(std::string_view text) {
    return Accept(text) || FailExpecting("'" + std::string(text) + "'");
  }

  /// Reads a name that is not a keyword.
  std::string ExpectName() {
    if (token().kind != Token::Kind::kWord) {
      FailExpecting("a name");
      return {};
    }
    if (IsKeyword(token().text)) {
      Fail("'" + std::string(token().text) + "' is a keyword: use another name");
      return {};
    }
    std::string name(token().text);
    scanner_.Advance();
    return name;
  }
  /// Reads a new name of a constant, type or program, all of which share one name space.
  std::string ExpectNewName() {
    const Position position = token().position;
    std::string name = ExpectName();
    const auto [at, added] = names_.emplace(name, position);
    if (!added && !scanner_.failed()) {
      scanner_.Fail(position,
                    "'" + name + "' is already defined in line " + std::to_string(at->second.line));
    }
    return name;
  }

  /// Reads a number or the name of a constant. The value must be between `least` and `most`.
  int64_t ExpectValue(int64_t least, int64_t most) {
    const Token at = token();
    int64_t value = 0;
    if (at.kind == Token::Kind::kNumber) {
      value = at.number;
    } else if (at.kind == Token::Kind::kWord && !IsKeyword(at.text)) {
      const std::optional<int64_t> known = ValueOf(at.text);
      if (!known) {
        Fail("undefined constant '" + std::string(at.text) + "'" + scanner_.IncludeHint() +
             " (--define=" + std::string(at.text) + "=NUMBER defines it)");
        return 0;
      }
      value = *known;
    } else {
      FailExpecting("a number or a constant");
      return 0;
    }
    if (value < least || value > most) {
      Fail("a value from " + std::to_string(least) + " to " + std::to_string(most) +
           " expected, not " + std::to_string(value));
      return 0;
    }
    scanner_.Advance();
    return value;
  }
  uint32_t ExpectUnsigned(uint32_t least = 0) {
    return static_cast<uint32_t>(ExpectValue(least, std::numeric_limits<uint32_t>::max()));
  }

  bool failed() const { return scanner_.failed(); }
  /// Reports an error at an earlier position.
  bool FailAt(Position position, std::string_view message) {
    return scanner_.Fail(position, message);
  }
  void AddConstant(const std::string& name, int64_t value) { constants_[name] = value; }
  /// Sets the values of names that the text may use without defining them.
  void AddConstants(const Constants& constants) { given_ = constants; }

 private:
  /// Returns the value of a name that is defined by the text, by the caller, or in <rpc/auth.h> and
  /// <rpc/xdr.h>, whose constants a `.x` file may use.
  std::optional<int64_t> ValueOf(std::string_view name) const {
    static const Constants kHeaders = {
        {"AUTH_NONE", 0},        {"AUTH_NULL", 0},       {"AUTH_SYS", 1},
        {"AUTH_UNIX", 1},        {"AUTH_SHORT", 2},      {"AUTH_DH", 3},
        {"AUTH_DES", 3},         {"AUTH_KERB", 4},       {"RPCSEC_GSS", 6},
        {"MAX_AUTH_BYTES", 400}, {"MAXNETNAMELEN", 255}, {"MAX_MACHINE_NAME", 255},
        {"NGRPS", 16},           {"MAX_NETOBJ_SZ", 1024}};
    for (const Constants* constants : {&constants_, &given_, &kHeaders}) {
      const auto found = constants->find(name);
      if (found != constants->end()) return found->second;
    }
    return std::nullopt;
  }

  static bool IsKeyword(std::string_view word) {
    static const std::set<std::string_view> kKeywords = {
        "bool",   "case",    "const",  "default",  "double",    "enum",   "float",
        "hyper",  "int",     "opaque", "program",  "quadruple", "string", "struct",
        "switch", "typedef", "union",  "unsigned", "version",   "void"};
    return kKeywords.contains(word);
  }

  Scanner& scanner_;
  Constants constants_ = {{"FALSE", 0}, {"TRUE", 1}};
  Constants given_;
  std::map<std::string, Position> names_ = {{"FALSE", {}}, {"TRUE", {}}};
};

}  // namespace sluice::rpc
