// SPDX-License-Identifier: BSD-3-Clause
//
// What a `.x` file says, after the parser and before the compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rpc/x_compiler.h"
#include "rpc/x_scanner.h"

namespace sluice::rpc {

/// Of a declaration without its shape. kNamed: a definition's.
enum class Base : uint8_t {
  kVoid,
  kInt,
  kUnsigned,
  kHyper,
  kFloat,
  kDouble,
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kLong,
  kUnsignedLong,
  kString,
  kOpaque,
  kNamed,
};

/// How often there is what a declaration declares.
enum class Shape : uint8_t {
  kPlain,     ///< Once.
  kFixed,     ///< [size]
  kVariable,  ///< <size>
  kOptional,  ///< *
};

struct Declaration {
  Base base = Base::kVoid;
  Shape shape = Shape::kPlain;
  uint32_t size = UINT32_MAX;  ///< Of kFixed and kVariable; without a limit the largest there is.
  std::string type;            ///< Of kNamed.
  std::string name;            ///< Empty for void and in procedures.
  Position position;           ///< Of the type.
};

struct CaseValue {
  int64_t value;
  Position position;
};

/// An arm, with the values that choose it. Of a default there are none.
struct Case {
  std::vector<CaseValue> values;
  Declaration body;
};

struct Definition {
  enum class Kind : uint8_t { kEnum, kStruct, kUnion, kTypedef };

  Kind kind;
  std::string name;
  Position position;
  std::vector<int64_t> members{};     ///< Of an enum.
  std::vector<Declaration> fields{};  ///< Of a struct; a typedef's one; a union's discriminant.
  std::vector<Case> cases{};          ///< Of a union.
  bool has_default = false;           ///< It is the last case.
};

struct ProcedureDefinition {
  std::string name;
  uint32_t program;
  uint32_t version;
  uint32_t number;
  std::vector<Declaration> arguments{};  ///< One at least; void alone, if so.
  Declaration result{};
};

struct Syntax {
  std::vector<Definition> definitions;
  std::map<std::string, uint32_t> by_name;  ///< Indices of definitions.
  std::vector<ProcedureDefinition> procedures;
};

/// Parses a whole file, to which `constants` are known besides its own. Returns false if the
/// scanner has the error.
bool ParseX(Scanner& scanner, const Constants& constants, Syntax* syntax);
/// Parses NAME=NUMBER,NAME=NUMBER…; an empty text has none. Returns false if the scanner has the
/// error.
bool ParseConstants(Scanner& scanner, Constants* constants);

}  // namespace sluice::rpc
