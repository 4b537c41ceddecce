// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/eal_plan.h"

#include <absl/strings/str_format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string_view>

#include "runtime/runtime_folder.h"

namespace sluice::runtime {

namespace {

constexpr uint32_t kPlainMemoryMb = 512;

bool Says(const CommandLine& line, std::initializer_list<std::string_view> options) {
  return std::ranges::any_of(line.eal, [&](std::string_view argument) {
    return std::ranges::any_of(options, [&](std::string_view option) {
      if (!argument.starts_with(option)) return false;
      // The value of a short option may be in the same argument: "-l0-3".
      const bool is_short = option.size() == 2;
      return is_short ? !argument.starts_with("--")
                      : argument.size() == option.size() || argument[option.size()] == '=';
    });
  });
}

// Maps lcore i to the i-th CPU. If there are too few CPUs, assigns workers to them round-robin.
std::string LcoreMap(const HostResources& host, uint32_t workers) {
  std::string map = absl::StrFormat("0@%d", host.cpus[0]);
  const size_t spare = host.cpus.size() - 1;
  for (uint32_t i = 1; i <= workers; ++i) {
    const uint32_t cpu = spare == 0 ? host.cpus[0] : host.cpus[1 + (i - 1) % spare];
    absl::StrAppendFormat(&map, ",%d@%d", i, cpu);
  }
  return map;
}

void PlanCpus(const CommandLine& line, const HostResources& host, EalPlan* plan) {
  if (Says(line, {"-l", "-c", "--lcores", "--coremask"})) return;
  const uint32_t workers = line.options.workers;
  plan->arguments.push_back("--lcores=" + LcoreMap(host, workers));
  if (workers >= host.cpus.size()) {
    plan->warning = absl::StrFormat("%d worker(s) share %d CPU(s): rates are unreliable", workers,
                                    host.cpus.size());
  }
}

void PlanMemory(const CommandLine& line, const HostResources& host, EalPlan* plan) {
  if (Says(line, {"-m", "--memory-size", "--no-huge", "--in-memory", "--socket-mem", "--numa-mem",
                  "--huge-dir", "--legacy-mem", "--huge-unlink", "--single-file-segments"})) {
    return;
  }
  if (host.root && host.hugetlbfs && host.free_hugepage_bytes >= kWantedHugepageBytes) {
    plan->memory = "hugepages";
    plan->arguments.push_back("--huge-unlink");  // Leaves no files in hugetlbfs.
    return;
  }
  const char* const reason = !host.root        ? "not root"
                             : !host.hugetlbfs ? "hugetlbfs is not mounted"
                                               : "too few are free";
  plan->memory = absl::StrFormat(
      "no hugepages (%s), so this run is slower: do not use it for measurements", reason);
  plan->arguments.push_back("--no-huge");
  plan->arguments.push_back("-m");
  plan->arguments.push_back(std::to_string(kPlainMemoryMb));
}

void PlanDevice(const CommandLine& line, const HostResources& host, EalPlan* plan) {
  if (line.own_port) return;
  const Options& options = line.options;
  plan->embedded = options.iface->model;
  const size_t taken = options.workers + 1;  // Number of CPUs for the main thread and the workers.
  const uint32_t device_cpu = taken < host.cpus.size() ? host.cpus[taken] : host.cpus[0];
  std::string device = absl::StrFormat("--vdev=%s,wire=%s", plan->embedded, options.wire);
  if (options.on.empty() || options.on == "cpu") {
    absl::StrAppendFormat(&device, ",device_cpu=%d", device_cpu);
  } else {
    device += ",on=" + options.on;
  }
  if (options.iface->model_arguments != nullptr) {
    const bool waits = options.wire.find("rate=") == std::string::npos;
    device += options.iface->model_arguments(options.interface, waits);
  }
  if (!options.answers) device += ",verify=off";
  if (options.seed) device += ",seed=" + std::to_string(*options.seed);
  plan->arguments.push_back(device);
  if (!Says(line, {"--no-pci"})) plan->arguments.push_back("--no-pci");
  if (!Says(line, {"--log-level"})) plan->arguments.push_back("--log-level=lib.eal:warning");
}

}  // namespace

HostResources HostResources::Read() {
  HostResources host;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) host.cpus.push_back(cpu);
    }
  }
  if (host.cpus.empty()) host.cpus.push_back(0);
  host.root = geteuid() == 0;
  host.hugetlbfs = !HugepageFolders().empty();
  std::error_code ignored;
  for (const auto& size :
       std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", ignored)) {
    const std::string name = size.path().filename();  // For example "hugepages-2048kB".
    uint64_t pages = 0;
    std::ifstream(size.path() / "free_hugepages") >> pages;
    host.free_hugepage_bytes += pages * std::strtoull(name.c_str() + 10, nullptr, 10) * 1024;
  }
  return host;
}

EalPlan PlanEal(const CommandLine& line, const HostResources& host, int pid) {
  EalPlan plan;
  plan.arguments = line.eal;
  if (!Says(line, {"--file-prefix", "--in-memory"})) {
    plan.file_prefix = FilePrefix(line.app, pid);
    plan.arguments.push_back("--file-prefix=" + plan.file_prefix);
  }
  PlanDevice(line, host, &plan);
  if (!line.own_port) PlanCpus(line, host, &plan);
  if (!Says(line, {"-a", "--allow"})) PlanMemory(line, host, &plan);
  return plan;
}

}  // namespace sluice::runtime
