// SPDX-License-Identifier: BSD-3-Clause
//
// Checks of the file, program or CPU that a flag names, made before a run begins so that the run
// does not fail at its end. The functions named …Fault return the second half of an error line (the
// fault and the fix), or an empty string if they find no fault. An empty name is not a fault,
// because flags use it for "none". The functions do not create, change or read files. The result
// may be outdated later: code that opens a file still checks for errors. The functions are
// thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::host {

/// Checks the seconds between statistics lines: 0 (no lines), or finite and at least 0.001.
std::string PeriodFault(double seconds);

/// Returns whether both names refer to one regular file, so that writing one would overwrite the
/// other.
bool IsSameFile(const std::string& one, const std::string& other);

/// Checks a file that is to be written. It must be writable, or absent in a folder where it can be
/// created, and must not be a folder.
std::string OutputFileFault(const std::string& path);

/// Like OutputFileFault, for a file that is to be replaced. It must not be a pipe or device either,
/// because the new file would replace it.
std::string ReplacedFileFault(const std::string& path);

/// Like OutputFileFault, except that "-" is standard output.
std::string OutputFault(const std::string& path);

/// Checks a file that is to be read. It may be a pipe.
std::string InputFileFault(const std::string& path);

/// Checks a program that posix_spawnp is to start: a path, or a name that is searched for in PATH.
std::string ProgramFault(const std::string& program);

/// Checks the number of a CPU: this process must be allowed to run on it.
std::string CpuFault(int64_t cpu);

}  // namespace sluice::host
