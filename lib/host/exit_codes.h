// SPDX-License-Identifier: BSD-3-Clause
//
// Exit codes of a program that cannot start (docs/command-line.md, "Exit codes").
#pragma once

#include <cerrno>

namespace sluice::host {

/// Returns the exit code for a start that failed with `error`, an errno. The code is 1 if a later
/// start may succeed (too little memory, no free descriptor, an address in use, an absent device),
/// and 2 if only other arguments help.
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

}  // namespace sluice::host
