// SPDX-License-Identifier: BSD-3-Clause
//
// From a `.x` file, written in RPCL (RFC 4506 section 6, RFC 5531 section 12), to a signature
// table. docs/rpc.md says which part of the language there is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/table.h"

namespace sluice::rpc {

/// Longer files are refused.
inline constexpr size_t kMaxXBytes = 1 << 20;

struct CompiledX {
  Table table;  ///< Sound.
  /// Of the table's procedures, by index. Procedure 0 of a version that does not declare one is
  /// "NULL": it takes and returns nothing (RFC 5531 section 12.1).
  std::vector<std::string> procedure_names;
  /// Types of the table by the names that the file gives them; enums, too.
  std::map<std::string, uint32_t, std::less<>> types;
  /// The first procedure with several arguments, which `rpcgen -N` alone declares; empty: none has.
  std::string several_arguments;
};

/// Values of names that a file uses and does not define.
using Constants = std::map<std::string, int64_t, std::less<>>;

/// Compiles `text`, which errors call `file`. nullopt: `*error` is one line,
/// "file:line:column: what is wrong".
std::optional<CompiledX> CompileX(std::string_view text, std::string_view file, std::string* error,
                                  const Constants& constants = {});
/// Reads "NAME=NUMBER,NAME=NUMBER…". nullopt: `*error` is one line, as above.
std::optional<Constants> ReadConstants(std::string_view text, std::string_view name,
                                       std::string* error);

}  // namespace sluice::rpc
