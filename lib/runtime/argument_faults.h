// SPDX-License-Identifier: BSD-3-Clause
//
// What is wrong with a file, a program or a CPU that a flag names: looked up before a run begins,
// so that it does not fail at its end. Each function returns the second half of the one line that
// names the flag, what is wrong and the fix, or an empty text if nothing is: also for an empty
// name, which is how flags say "none". Nothing is created, changed or read. What holds now may be
// otherwise later: whoever opens a file still checks. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::runtime {

/// Of the seconds between statistics lines: 0 for none, or 0.001 at least, and finite.
std::string PeriodFault(double seconds);

/// Whether these are two names of one regular file, so that writing one would empty the other.
bool IsSameFile(const std::string& one, const std::string& other);

/// Of a file that is to be written: it can be created in its folder or, if it is there, written,
/// and is no folder.
std::string OutputFileFault(const std::string& path);

/// Of a file that is to be replaced by a new one of this name: the same, and no pipe or device,
/// whose place the new one would take.
std::string ReplacedFileFault(const std::string& path);

/// The same where "-" is standard output.
std::string OutputFault(const std::string& path);

/// Of a file that is to be read. It may be a pipe.
std::string InputFileFault(const std::string& path);

/// Of a program that is to be run as posix_spawnp does it: a path, or a name to be found in PATH.
std::string ProgramFault(const std::string& program);

/// Of the number of a CPU: one that this process may run on.
std::string CpuFault(int64_t cpu);

}  // namespace sluice::runtime
