// SPDX-License-Identifier: BSD-3-Clause
#include "start_eal.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "runtime/runtime_folder.h"
#include "runtime/start_log.h"

namespace sluice::device_app {
namespace {

using runtime::StartLog;

// Returns the allowed CPUs of this process as a list for EAL.
std::string Cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::string list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    if (!list.empty()) list += ',';
    list += std::to_string(cpu);
  }
  return list;
}

}  // namespace

int StartEal(const Flags& flags, std::string* file_prefix) {
  const auto says = [&](std::initializer_list<std::string_view> options) {
    return std::any_of(flags.eal.begin(), flags.eal.end(), [&](std::string_view argument) {
      return std::any_of(options.begin(), options.end(),
                         [&](std::string_view option) { return argument.starts_with(option); });
    });
  };
  std::vector<std::string> arguments = {"sluice-device"};
  arguments.insert(arguments.end(), flags.eal.begin(), flags.eal.end());
  if (!says({"--file-prefix", "--in-memory"})) {
    *file_prefix = runtime::FilePrefix("device", getpid());
    arguments.push_back("--file-prefix=" + *file_prefix);
  }
  if (!says({"-a", "--allow", "-m", "--no-huge", "--in-memory", "--socket-mem", "--huge-dir"})) {
    arguments.insert(arguments.end(), {"--no-huge", "-m", "256"});
  }
  if (!says({"-a", "--allow", "--no-pci"})) arguments.push_back("--no-pci");
  if (!says({"-l", "-c", "--lcores"})) arguments.push_back("--lcores=0@(" + Cpus() + ")");
  if (!says({"--telemetry", "--no-telemetry"})) arguments.push_back("--no-telemetry");
  if (!says({"--log-level"})) arguments.push_back("--log-level=lib.eal:warning");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  StartLog log(flags.eal.empty() ? StartLog::Lines::kKept : StartLog::Lines::kShown);
  if (log.StartEal(static_cast<int>(arguments.size()), argv.data())) {
    log.Show();
    runtime::SweepDeadRuns(*file_prefix);
    return 0;
  }
  std::fprintf(stderr, "EAL failed to start: %s%s\n", log.WhyNotStarted().c_str(),
               log.ExitCode() == 2 ? ": arguments before -- must be EAL's" : "");
  return log.ExitCode();
}

}  // namespace sluice::device_app
