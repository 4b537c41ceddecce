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

/// Type of a declaration without its shape. kNamed means the type of a definition in the file.
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

/// Number of values in a declaration.
enum class Shape : uint8_t {
  kPlain,     ///< One value.
  kFixed,     ///< [size]
  kVariable,  ///< <size>
  kOptional,  ///< *
};

struct Declaration {
  Base base = Base::kVoid;
  Shape shape = Shape::kPlain;
  uint32_t size = UINT32_MAX;  ///< Size (kFixed) or limit (kVariable; the maximum if unlimited).
  std::string type;            ///< Name of the type, if kNamed.
  std::string name;            ///< Empty for void and in procedures.
  Position position;           ///< Position of the type.
};

struct CaseValue {
  int64_t value;
  Position position;
};

/// An arm, with the values that select it; a default has none.
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
  /// Fields of a struct; one for a typedef; the discriminant of a union.
  std::vector<Declaration> fields{};
  std::vector<Case> cases{};  ///< Arms of a union.
  bool has_default = false;   ///< The last case is the default.
};

struct ProcedureDefinition {
  std::string name;
  uint32_t program;
  uint32_t version;
  uint32_t number;
  std::vector<Declaration> arguments{};  ///< One or more; a single void if there are none.
  Declaration result{};
};

struct Syntax {
  std::vector<Definition> definitions;
  std::map<std::string, uint32_t> by_name;  ///< Indices of definitions.
  std::vector<ProcedureDefinition> procedures;
};

/// Parses a whole file, which may use `constants` in addition to the constants that it defines.
/// Returns false after an error, which the scanner contains.
bool ParseX(Scanner& scanner, const Constants& constants, Syntax* syntax);
/// Parses NAME=NUMBER,NAME=NUMBER…; the text may be empty. Returns false after an error, which the
/// scanner contains.
bool ParseConstants(Scanner& scanner, Constants* constants);

}  // namespace sluice::rpc
