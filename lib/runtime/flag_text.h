// SPDX-License-Identifier: BSD-3-Clause
//
// gflags' flags in words: values as people write them, the line of a complaint, the lines of a
// help. Every program with gflags has them from here. Control path.
#pragma once

#include <gflags/gflags.h>

#include <span>
#include <string>
#include <string_view>

namespace sluice::runtime {

/// Whether it is defined by lib/runtime or an application, not by a library that they use.
bool IsOwnFlag(const gflags::CommandLineFlagInfo& flag);

/// For programs without EAL: sets the flags that `arguments` name, each as --name=value or
/// --name value, a bool as --name, too. False, with one line in `error`, if an argument is none of
/// our own.
bool SetFlags(std::span<char* const> arguments, std::string* error);

/// For programs without EAL: what `arguments` ask for instead of a run. With --help or -h: the use
/// of `program` ("name: summary") and its flags; with --version: its name and `version`; else
/// empty.
std::string Information(std::span<char* const> arguments, std::string_view program,
                        std::string_view version);

/// For programs without EAL: prints what --help or --version ask for, else sets the flags. "--" may
/// stand in front of them, as where EAL's arguments do. False: the program ends with `exit_code`,
/// 0, or 2 after a line on standard error.
bool TakeFlags(int argc, char** argv, std::string_view program, std::string_view version,
               int* exit_code);

/// Whether the flag `name`, which exists, has its default.
inline bool IsDefault(const char* name) {
  return gflags::GetCommandLineFlagInfoOrDie(name).is_default;
}

/// `value` of a flag of gflags' type `type` ("double", "string", …). gflags writes doubles with 17
/// digits; this gives them as few as tell the number.
std::string FlagText(std::string_view type, const std::string& value);

/// `text` with '?' for control characters: what people gave cannot break a line, or reach a
/// terminal as anything but text.
std::string OneLine(std::string text);

/// "--name=value: fix", in one line: what is said of a flag whose current value is wrong.
std::string FlagComplaint(const std::string& name, std::string_view fix);

/// What a flag that several applications share means in one of them.
struct OwnHelp {
  std::string_view flag;
  std::string_view text;
};

/// A line for each flag of our own: name, description, or that of the application, and default.
std::string FlagHelp(std::span<const OwnHelp> own = {});

}  // namespace sluice::runtime
