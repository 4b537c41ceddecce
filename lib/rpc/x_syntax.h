// SPDX-License-Identifier: BSD-3-Clause
//
// The contents of a `.x` file, as the parser passes them to the compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rpc/x_compiler.h"
#include "rpc/x_scanner.h"

namespace sluice::rpc {

/// Base type of a declaration, without its shape. kNamed means a type that the file defines.
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

/// How many values a declaration has.
enum class Shape : uint8_t {
  kPlain,     ///< One value.
  kFixed,     ///< [size]
  kVariable,  ///< <size>
  kOptional,  ///< *
};

struct Declaration {
  Base base = Base::kVoid;
  Shape shape = Shape::kPlain;
  uint32_t size = UINT32_MAX;  ///< Size (kFixed) or limit (kVariable). The maximum if unlimited.
  std::string type;            ///< Name of the type, if kNamed.
  std::string name;            ///< Empty for void and in procedures.
  Position position;           ///< Position of the type.
};

struct CaseValue {
  int64_t value;
  Position position;
};

/// An arm, and the values that select it. A default has none.
struct Case {
  std::vector<CaseValue> values;
  Declaration body;
};

struct Definition {
  enum class Kind : uint8_t { kEnum, kStruct, kUnion, kTypedef };

  Kind kind;
  std::string name;
  Position position;
  std::vector<int64_t> members{};  ///< Members of an enum.
  /// Fields of a struct, the single field of a typedef, or the discriminant of a union.
  std::vector<Declaration> fields{};
  std::vector<Case> cases{};  ///< Arms of a union.
  bool has_default = false;   ///< The last case is the default.
};

struct ProcedureDefinition {
  std::string name;
  uint32_t program;
  uint32_t version;
  uint32_t number;
  std::vector<Declaration> arguments{};  ///< At least one; a single void if the procedure has none.
  Declaration result{};
};

struct Syntax {
  std::vector<Definition> definitions;
  std::map<std::string, uint32_t> by_name;  ///< Index of each definition.
  std::vector<ProcedureDefinition> procedures;
};

/// Parses a whole file, which may use `constants` in addition to the constants that it defines.
/// After an error, returns false; the scanner contains the error.
bool ParseX(Scanner& scanner, const Constants& constants, Syntax* syntax);
/// Parses NAME=NUMBER,NAME=NUMBER…. The text may be empty. After an error, returns false; the
/// scanner contains the error.
bool ParseConstants(Scanner& scanner, Constants* constants);

}  // namespace sluice::rpc
