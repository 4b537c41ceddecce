// SPDX-License-Identifier: BSD-3-Clause
//
// Formats gflags values, error lines and help lines, for all programs that use gflags. Used on the
// control path only.
#pragma once

#include <gflags/gflags.h>

#include <span>
#include <string>
#include <string_view>

namespace sluice::host {

/// Returns whether the flag is defined by lib/host, lib/runtime or an application rather than by a
/// library that they use.
bool IsOwnFlag(const gflags::CommandLineFlagInfo& flag);

/// For programs without EAL. Sets the flags in `arguments`. A flag has the form --name=value or
/// --name value, or --name for a bool. Returns false, with one line in `error`, if an argument is
/// not a flag of lib/runtime or the application.
bool SetFlags(std::span<char* const> arguments, std::string* error);

/// For programs without EAL. Returns the text that --help, -h or --version requests. The help text
/// is the usage of `program` ("name: summary") and its flags; the version text is the program's
/// name and `version`. Returns an empty string if none of these flags is present.
std::string Information(std::span<char* const> arguments, std::string_view program,
                        std::string_view version);

/// For programs without EAL. Prints the text for --help or --version, or sets the flags. A leading
/// "--" is allowed, as after EAL's arguments. Returns false if the program must end with
/// `exit_code`: 0, or 2 if an error line was printed to standard error.
bool ParseFlags(int argc, char** argv, std::string_view program, std::string_view version,
                int* exit_code);

/// Returns whether the flag `name` has its default value. The flag must exist.
inline bool IsDefault(const char* name) {
  return gflags::GetCommandLineFlagInfoOrDie(name).is_default;
}

/// Returns the shortest text for the flag value `value` of gflags type `type` ("double", "string",
/// …). gflags itself writes doubles with 17 digits.
std::string FlagText(std::string_view type, const std::string& value);

/// Returns `text` with control characters replaced by '?', so that user input cannot break a line
/// or control a terminal.
std::string OneLine(std::string text);

/// Returns "--name=value: fix", the error line for a flag whose current value is invalid.
std::string FlagComplaint(const std::string& name, std::string_view fix);

/// An application's description of a shared flag.
struct OwnHelp {
  std::string_view flag;
  std::string_view text;
};

/// Returns a help line for each flag of lib/runtime and the application: name, description (from
/// `own`, if present) and default.
std::string FlagHelp(std::span<const OwnHelp> own = {});

}  // namespace sluice::host
