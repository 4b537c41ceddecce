// SPDX-License-Identifier: BSD-3-Clause
//
// Exit codes of programs that cannot start (docs/command-line.md, "Exit codes").
#pragma once

#include <cerrno>
#include <cstdio>
#include <string>

namespace sluice::host {

/// Returns the exit code for a start that failed with the errno `error`. The code is 1 if a later
/// start may succeed (too little memory, no free descriptor, an address in use, an absent device),
/// and 2 if the arguments must be changed.
constexpr int StartFailureCode(int error) {
  switch (error) {
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EADDRINUSE:
    case ENODEV:
    case ENXIO:
      return 1;
    default:
      return 2;
  }
}

/// Prints `line`, which names the fault. Returns StartFailureCode(errno); errno must still describe
/// the fault.
inline int FailStart(const std::string& line) {
  const int exit_code = StartFailureCode(errno);
  std::fprintf(stderr, "%s\n", line.c_str());
  return exit_code;
}

}  // namespace sluice::host
