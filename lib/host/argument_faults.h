// SPDX-License-Identifier: BSD-3-Clause
//
// Checks the file, program or CPU that a flag names before a run begins, so that the run does not
// fail at its end. The functions named …Fault return the second half of an error line (the fault
// and the fix), or an empty string if they find no fault. An empty name is not a fault, because
// flags use it for "none". The functions do not create, change or read files. The result may become
// outdated, so code that opens a file must still check for errors. The functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::host {

/// Checks the seconds between statistics lines: must be 0 (no lines), or finite and at least 0.001.
std::string PeriodFault(double seconds);

/// Returns whether both names refer to the same regular file, so that writing one would overwrite
/// the other.
bool IsSameFile(const std::string& one, const std::string& other);

/// Checks a file that is to be written. The file must be writable, or absent from a folder in which
/// it can be created. It must not be a folder.
std::string OutputFileFault(const std::string& path);

/// Like OutputFileFault, for a file that is to be replaced. A pipe or a device is also a fault,
/// because the new file would replace it.
std::string ReplacedFileFault(const std::string& path);

/// Like OutputFileFault, except that "-" is standard output.
std::string OutputFault(const std::string& path);

/// Checks a file that is to be read. It may be a pipe.
std::string InputFileFault(const std::string& path);

/// Checks a program that posix_spawnp is to start: a path, or a name that is searched for in PATH.
std::string ProgramFault(const std::string& program);

/// Checks a CPU number: this process must be allowed to run on that CPU.
std::string CpuFault(int64_t cpu);

}  // namespace sluice::host
