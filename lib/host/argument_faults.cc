// SPDX-License-Identifier: BSD-3-Clause
#include "host/argument_faults.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace sluice::host {

namespace {

bool May(const std::string& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

std::string Why() { return std::strerror(errno); }

// Returns the CPUs as a list of ranges, for example "0-3,6".
std::string Ranges(const cpu_set_t& cpus) {
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpu);
    if (last > cpu) text.append(1, '-').append(std::to_string(last));
    cpu = last;
  }
  return text;
}

// Directories have execute permission, too, so test for a regular file.
bool IsProgram(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && May(path, X_OK);
}

}  // namespace

std::string PeriodFault(double seconds) {
  constexpr double kLeastS = 0.001;
  if (seconds == 0 || (seconds >= kLeastS && std::isfinite(seconds))) return "";
  return "give 0.001 seconds or more, or 0 for no lines";
}

bool IsSameFile(const std::string& one, const std::string& other) {
  std::error_code none;
  return std::filesystem::is_regular_file(one, none) &&
         std::filesystem::equivalent(one, other, none);
}

std::string OutputFileFault(const std::string& path) {
  if (path.empty()) return "";
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return "is a folder: give a file in it";
    if (May(path, W_OK)) return "";
    return "cannot be written: " + Why() + ": give another file";
  }
  const std::string parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent;
  if (stat(folder.c_str(), &status) != 0) {
    return folder + ": " + Why() + ": create that folder, or give a file in another folder";
  }
  if (!S_ISDIR(status.st_mode)) return folder + " is not a folder: give a file in another folder";
  if (May(folder, W_OK | X_OK)) return "";
  return "cannot be created in " + folder + ": " + Why() + ": give a file in another folder";
}

std::string ReplacedFileFault(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return "is not a regular file: give a file that may be replaced, or a new one";
  }
  return OutputFileFault(path);
}

std::string OutputFault(const std::string& path) {
  return path == "-" ? "" : OutputFileFault(path);
}

std::string InputFileFault(const std::string& path) {
  if (path.empty()) return "";
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return Why() + ": give an existing file";
  if (S_ISDIR(status.st_mode)) return "is a folder: give a file";
  if (May(path, R_OK)) return "";
  return Why() + ": give a readable file";
}

std::string ProgramFault(const std::string& program) {
  if (program.empty()) return "";
  if (program.find('/') != std::string::npos) {
    return IsProgram(program) ? "" : "is not an executable program: give an executable file";
  }
  const char* const path = std::getenv("PATH");
  // The folders that execvp searches if PATH is unset.
  std::string_view folders = path != nullptr ? path : "/bin:/usr/bin";
  for (;;) {
    const size_t end = folders.find(':');
    const std::string_view folder = folders.substr(0, end);
    const std::string found = std::string(folder.empty() ? "." : folder) + "/" + program;
    if (IsProgram(found)) return "";
    if (end == std::string_view::npos) break;
    folders.remove_prefix(end + 1);
  }
  return "is not found in PATH: give its full path";
}

std::string CpuFault(int64_t cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
    return "";  // The machine has too many CPUs for cpu_set_t.
  if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(cpu), &cpus)) return "";
  return "this process cannot run on that CPU: give one of the CPUs " + Ranges(cpus);
}

}  // namespace sluice::host
