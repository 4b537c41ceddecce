// SPDX-License-Identifier: BSD-3-Clause
//
// Starts child processes. A child inherits the standard streams and the given descriptors, and no
// other descriptor: the memory and the sockets of DPDK stay with the parent (CWE-403). Works
// without EAL. Control path.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::runtime {

/// A program to start, with its arguments, environment and descriptors.
struct ChildProgram {
  /// A path, or a name without '/' that is searched for in PATH.
  std::string program;
  /// The arguments after the program's name.
  std::vector<std::string> arguments = {};
  /// Variables, as NAME=VALUE, that are added to this process's environment or replace variables of
  /// the same name.
  std::vector<std::string> environment = {};
  /// Open descriptors, which the caller owns. The i-th is ChildDescriptor(i) in the child.
  std::vector<int> descriptors = {};
  /// Whether the child leads a new process group, which the terminal's SIGINT does not reach.
  bool own_group = false;
};

/// Number of the i-th given descriptor in the child.
constexpr int ChildDescriptor(size_t i) { return static_cast<int>(3 + i); }

/// Starts a program with all signals unblocked. Returns 0 and stores the child's id in `pid`, or
/// returns an errno and does not change `pid`. The caller waits for the child.
int Spawn(const ChildProgram& child, pid_t* pid);

/// Returns text that a child printed, made safe for a terminal or a log: every byte that is not
/// printable ASCII becomes '?'.
std::string PrintableText(std::string_view text);

}  // namespace sluice::runtime
