// SPDX-License-Identifier: BSD-3-Clause
//
// Compiles a `.x` file, written in RPCL (RFC 4506 section 6, RFC 5531 section 12), to a signature
// table. docs/rpc.md lists the supported part of the language.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/table.h"

namespace sluice::rpc {

/// Maximum file size in bytes.
inline constexpr size_t kMaxXBytes = 1 << 20;

struct CompiledX {
  Table table;  ///< Satisfies Table::IsSound.
  /// Names of the table's procedures, by index. If a version does not declare procedure 0, that
  /// procedure is "NULL", without arguments and result (RFC 5531 section 12.1).
  std::vector<std::string> procedure_names;
  /// Indices of the table's types, including enums, by name in the file.
  std::map<std::string, uint32_t, std::less<>> types;
  /// Name of the first procedure with several arguments, which only `rpcgen -N` supports; empty if
  /// there is none.
  std::string several_arguments;
};

/// Values of constants that a file uses but does not define.
using Constants = std::map<std::string, int64_t, std::less<>>;

/// Compiles `text`; error messages name `file`. Returns nullopt on failure, with one line in
/// `*error`: "file:line:column: what is wrong".
std::optional<CompiledX> CompileX(std::string_view text, std::string_view file, std::string* error,
                                  const Constants& constants = {});
/// Parses "NAME=NUMBER,NAME=NUMBER…". Returns nullopt on failure, with one line in `*error` in the
/// format of CompileX.
std::optional<Constants> ReadConstants(std::string_view text, std::string_view name,
                                       std::string* error);

}  // namespace sluice::rpc
