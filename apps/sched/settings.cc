// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>
#include <gflags/gflags.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "client_wire.h"
#include "host/argument_faults.h"
#include "host/flag_text.h"
#include "packet/quantity.h"

DECLARE_string(rate);

namespace {

// Returns the policies' names, separated by commas.
std::string Policies() {
  return absl::StrJoin(sluice::sched::PolicyNames(), ", ",
                       [](std::string* out, std::string_view name) { out->append(name); });
}

// The variable is static because gflags stores the pointer.
const char* PolicyHelp() {
  static const std::string help =
      "Scheduling policy: one of " + Policies() +
      "; empty: shinjuku if --mode is given, otherwise all policies in turn";
  return help.c_str();
}

}  // namespace

DEFINE_string(policy, "", PolicyHelp());
DEFINE_string(host, "coroutines",
              "What is scheduled: coroutines (requests, in this process) or sched_ext (threads of "
              "this machine's kernel, which --process, --cgroup and --thread_name choose)");
DEFINE_uint32(process, 0, "--host=sched_ext: process whose threads are scheduled; 0: none");
DEFINE_string(cgroup, "",
              "--host=sched_ext: folder of a cgroup v2 whose threads are scheduled; empty: none");
DEFINE_string(thread_name, "",
              "--host=sched_ext: name (comm) of threads that are scheduled; empty: none");
DEFINE_bool(dry_run, false,
            "--host=sched_ext: print decisions and do not enforce them; the threads are scheduled "
            "first come, first served");
DEFINE_string(mode, "",
              "Channel of the agent's decisions: wave, wave-prestage, swap, swap-standing, or "
              "local (no agent); empty: wave-prestage if --policy is given, otherwise all modes in "
              "turn");
DEFINE_uint32(replays, 1,
              "Maximum number of reruns of a policy and mode if other processes used the CPUs");
DEFINE_double(cell_s, 1, "Seconds per policy and mode if several are run");
DEFINE_string(requests, "",
              "Source of requests: network (they arrive at the port) or self (workers generate "
              "them; the port is idle); empty: self if several policies or modes are run without "
              "--iface, --wire, --pcap and a device of EAL");
DEFINE_double(short_us, 5, "Generated requests: service time of short requests, in microseconds");
DEFINE_double(long_us, 500, "Generated requests: service time of long requests, in microseconds");
DEFINE_double(long_share, 0.005, "Generated requests: share of long requests, 0 to 1");
DEFINE_double(runaway_share, 0,
              "Generated requests: share of long requests that have no safe points, 0 to 1");
DEFINE_uint32(request_port, 1025, "UDP port of requests");
DEFINE_double(slice_us, 0, "Time slice or quantum in microseconds; 0: the policy's default");
DEFINE_double(poll_us, 10, "Maximum microseconds between two polls of a worker's queue");
DEFINE_double(runaway_us, 1000,
              "Microseconds after --poll_us when a signal interrupts a task that has reached no "
              "safe point; 0: never");
DEFINE_uint32(max_tasks, 1024,
              "Maximum number of requests in service; further requests are dropped");
DEFINE_uint32(stack_kb, 64, "Stack size of each task in KiB");
DEFINE_double(
    watchdog_ms, 20,
    "Milliseconds without a valid decision after which the agent counts as dead; 0: never");
DEFINE_int32(agent_cpu, -1, "CPU of the agent; -1: a CPU without a worker, if possible");
DEFINE_string(agent_fault, "",
              "Fault to inject into the agent: kill@SECONDS, freeze@SECONDS or replace@SECONDS");
DEFINE_double(agent_down_ms, 200,
              "Milliseconds that a killed agent is absent or a frozen agent is stopped");

namespace sluice::sched {
namespace {

using runtime::CommandLine;
using runtime::Complaint;

constexpr char kDefaultPolicy[] = "shinjuku";
constexpr char kDefaultMode[] = "wave-prestage";
constexpr double kDefaultRate = 50'000;

bool IsAmong(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// Returns every policy in every mode with an agent, and the "local" mode.
std::vector<Cell> AllCells() {
  std::vector<Cell> cells = {{"", "local"}};
  for (const std::string_view policy : PolicyNames()) {
    for (const std::string_view mode : kModes) {
      if (mode != "local") cells.push_back({std::string(policy), std::string(mode)});
    }
  }
  return cells;
}

std::vector<int> OwnCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// Selects the agent's CPU. The main thread sleeps on the first CPU, the workers use the next ones,
// and the model NIC uses the one after them. The agent gets another CPU if there is one, otherwise
// the first.
void ChooseAgentCpu(const CommandLine& line, bool model, AgentThreadOptions* agent) {
  const std::vector<int> cpus = OwnCpus();
  const size_t taken = 1 + line.options.workers + (model ? 1 : 0);
  agent->cpu = FLAGS_agent_cpu;
  if (agent->cpu < 0 && !cpus.empty()) agent->cpu = taken < cpus.size() ? cpus[taken] : cpus[0];
  // The agent may share its CPU with the model NIC or with workers.
  agent->yields = !line.eal.empty() || cpus.size() < taken + (model ? 0 : 1);
}

bool CheckNames(const Complaint& complaint) {
  return complaint.Check(FLAGS_host == "coroutines" || FLAGS_host == "sched_ext", "host",
                         "give coroutines or sched_ext") &&
         complaint.Check(FLAGS_policy.empty() || IsAmong(FLAGS_policy, PolicyNames()), "policy",
                         "give one of " + Policies()) &&
         complaint.Check(FLAGS_mode.empty() || IsAmong(FLAGS_mode, kModes), "mode",
                         "give wave, wave-prestage, swap, swap-standing or local") &&
         complaint.Check(
             FLAGS_requests.empty() || FLAGS_requests == "self" || FLAGS_requests == "network",
             "requests", "give self or network");
}

bool CheckNumbers(const Complaint& complaint) {
  const auto in = [](double value, double least, double most) {
    return value >= least && value <= most;
  };
  return complaint.Check(in(FLAGS_cell_s, 0.01, 3600), "cell_s", "give 0.01 ... 3600") &&
         complaint.Check(FLAGS_replays <= 100, "replays", "give 0 ... 100") &&
         complaint.Check(in(FLAGS_short_us, 0, 1e6), "short_us", "give 0 ... 1000000") &&
         complaint.Check(in(FLAGS_long_us, 0, 1e6), "long_us", "give 0 ... 1000000") &&
         complaint.Check(in(FLAGS_long_share, 0, 1), "long_share", "give 0 ... 1") &&
         complaint.Check(in(FLAGS_runaway_share, 0, 1), "runaway_share", "give 0 ... 1") &&
         complaint.Check(in(FLAGS_request_port, 1, 65535), "request_port", "give 1 ... 65535") &&
         complaint.Check(in(FLAGS_slice_us, 0, 1e6), "slice_us", "give 0 ... 1000000") &&
         complaint.Check(in(FLAGS_poll_us, 1, 1e5), "poll_us", "give 1 ... 100000") &&
         complaint.Check(FLAGS_runaway_us == 0 || in(FLAGS_runaway_us, 50, 1e6), "runaway_us",
                         "give 50 ... 1000000, or 0 for never") &&
         // Each task needs two mappings, and the kernel allows 65530 per process.
         complaint.Check(in(FLAGS_max_tasks, 1, 16384), "max_tasks", "give 1 ... 16384") &&
         // A signal frame alone needs 11 KiB on some processors.
         complaint.Check(in(FLAGS_stack_kb, 32, 8192), "stack_kb", "give 32 ... 8192") &&
         complaint.Check(FLAGS_watchdog_ms == 0 || in(FLAGS_watchdog_ms, 1, 60'000), "watchdog_ms",
                         "give 1 ... 60000, or 0 for never") &&
         complaint.Accept(FLAGS_agent_cpu == -1 ? "" : host::CpuFault(FLAGS_agent_cpu),
                          "agent_cpu") &&
         complaint.Check(in(FLAGS_agent_down_ms, 0, 60'000), "agent_down_ms", "give 0 ... 60000") &&
         complaint.Check(FLAGS_agent_fault.empty() || ReadAgentFault(FLAGS_agent_fault),
                         "agent_fault", "give kill@SECONDS, freeze@SECONDS or replace@SECONDS");
}

Nanoseconds Ns(double us) { return static_cast<Nanoseconds>(us * 1e3); }

// Attaches clients to the embedded NIC instead of its generator. Returns false if the clients
// reject the options.
bool BringClients(const WorkloadOptions& workload, CommandLine* line, std::string* fix) {
  // The numbers must not contain exponents, because '+' separates options.
  const std::string client = absl::StrFormat(
      "rate=%.3f+short_us=%.3f+long_us=%.3f+long_share=%.9f+runaway_share=%.9f+port=%d",
      workload.rate, workload.short_us, workload.long_us, workload.long_share,
      workload.runaway_share, FLAGS_request_port);
  if (!ReadClientWireOptions(client, 1, fix)) return false;
  // The library is linked into this process, so its name without a path is sufficient.
  line->options.wire = "library:libsluice_sched_wire.so+" + client;
  line->options.traffic = "client:" + client;
  return true;
}

// Uses a port that has neither traffic nor a thread, so that a machine with two CPUs has one for
// the worker and one for the agent.
void UseIdlePort(CommandLine* line) {
  line->eal.insert(line->eal.end(),
                   {"--no-pci", "--vdev=net_null0,no-rx=1", "--log-level=lib.eal:warning"});
  line->own_port = true;
}

}  // namespace

namespace {

// Reads the flags of --host=sched_ext.
std::optional<ThreadRunOptions> ReadThreadRun(const CommandLine& line, const Complaint& complaint) {
  ThreadRunOptions run;
  run.choice = {.process = FLAGS_process, .cgroup = FLAGS_cgroup, .name = FLAGS_thread_name};
  const long cpus = sysconf(_SC_NPROCESSORS_CONF);
  if (!complaint.Check(FLAGS_mode.empty() || FLAGS_mode == "wave", "mode",
                       "--host=sched_ext decides over Wave's queues: give wave") ||
      !complaint.Check(line.options.json.empty(), "json", "--host=sched_ext writes no report") ||
      !complaint.Check(FLAGS_watchdog_ms >= 1, "watchdog_ms",
                       "--host=sched_ext: give 1 ... 60000") ||
      !complaint.Check(cpus <= engine::sched::kMaxCpus, "host",
                       "sched_ext: machines with more than 64 CPUs are not supported") ||
      !complaint.Accept(sched_ext::ProcessFault(run.choice.process), "process") ||
      !complaint.Accept(sched_ext::CgroupFault(run.choice.cgroup), "cgroup") ||
      !complaint.Accept(sched_ext::NameFault(run.choice.name), "thread_name") ||
      !complaint.Check(
          run.choice.process != 0 || !run.choice.cgroup.empty() || !run.choice.name.empty(), "host",
          "choose threads: give --process, --cgroup or --thread_name")) {
    return std::nullopt;
  }
  run.kernel = {.cpus = static_cast<CpuId>(cpus),
                .max_threads = host::IsDefault("max_tasks") ? 8192 : FLAGS_max_tasks,
                .fallback = Ns(FLAGS_watchdog_ms * 1e3),
                .dry_run = FLAGS_dry_run};
  run.agent = {.policy = FLAGS_policy.empty() ? kDefaultPolicy : FLAGS_policy,
               .policy_options = {.cpus = run.kernel.cpus, .slice = Ns(FLAGS_slice_us)},
               .agent = {.cpus = run.kernel.cpus, .max_tasks = run.kernel.max_threads},
               .fault = ReadAgentFault(FLAGS_agent_fault),
               .down = Ns(FLAGS_agent_down_ms * 1e3)};
  return run;
}

}  // namespace

std::optional<Settings> ReadSettings(CommandLine* line, std::string* flag, std::string* fix) {
  const Complaint complaint{flag, fix};
  double rate = kDefaultRate;
  const bool rate_read = FLAGS_rate.empty() || packet::ReadPacketRate(FLAGS_rate, &rate);
  if (!CheckNames(complaint) || !CheckNumbers(complaint) ||
      !complaint.Check(rate_read && rate <= 1e8, "rate", "give requests/s such as 50000 or 50k")) {
    return std::nullopt;
  }
  if (FLAGS_host == "sched_ext") {
    Settings settings;
    settings.threads = ReadThreadRun(*line, complaint);
    if (!settings.threads) return std::nullopt;
    return settings;
  }
  const bool all = FLAGS_policy.empty() && FLAGS_mode.empty();
  const bool says_port = line->own_port || !host::IsDefault("iface") || !host::IsDefault("wire") ||
                         !host::IsDefault("pcap");
  const bool self = FLAGS_requests.empty() ? all && !says_port : FLAGS_requests == "self";
  if (!complaint.Check(!all || line->options.workers == 1, "workers",
                       "the comparison of all policies and modes uses one worker: give 1, or "
                       "--policy or --mode") ||
      !complaint.Check(line->options.workers <= engine::sched::kMaxCpus, "workers",
                       "give 1 ... 64") ||
      !complaint.Check(
          !self || !says_port || line->own_port, "requests",
          "--iface, --wire and --pcap set the port, which self does not use: give network")) {
    return std::nullopt;
  }

  Settings settings;
  settings.worker = {.port = static_cast<uint16_t>(FLAGS_request_port),
                     .poll_ns = Ns(FLAGS_poll_us),
                     .runaway_ns = Ns(FLAGS_runaway_us),
                     .own = {},
                     .text = line->options.Text()};
  const WorkloadOptions workload{.rate = rate,
                                 .short_us = FLAGS_short_us,
                                 .long_us = FLAGS_long_us,
                                 .long_share = FLAGS_long_share,
                                 .runaway_share = FLAGS_runaway_share,
                                 .seed = line->options.seed.value_or(1)};
  PlayOptions& play = settings.play;
  play.agent.fault = ReadAgentFault(FLAGS_agent_fault);
  play.agent.down = Ns(FLAGS_agent_down_ms * 1e3);
  ChooseAgentCpu(*line, !self && !line->own_port, &play.agent);
  if (self) {
    settings.worker.own = workload;
    settings.worker.own->rate /= line->options.workers;
    if (!line->own_port) UseIdlePort(line);
    line->options.traffic = "self";
  } else if (!line->own_port && !line->options.frame_size.empty()) {
    if (!BringClients(workload, line, fix)) {
      *flag = "rate";
      return std::nullopt;
    }
  }
  line->options.answers = false;
  if (all) {
    play.cells = AllCells();
    if (line->options.stats_period_s == 0) settings.worker.text = nullptr;
    if (self) line->options.stats_period_s = 0;  // The rows contain all results.
  } else {
    play.cells = {{FLAGS_policy.empty() ? kDefaultPolicy : FLAGS_policy,
                   FLAGS_mode.empty() ? kDefaultMode : FLAGS_mode}};
  }
  play.cell_s = FLAGS_cell_s;
  play.replays = FLAGS_replays;
  play.workers = line->options.workers;
  play.stack_bytes = FLAGS_stack_kb << 10;
  play.scheduler.max_tasks = FLAGS_max_tasks;
  play.scheduler.slice = Ns(FLAGS_slice_us);
  play.scheduler.watchdog = Ns(FLAGS_watchdog_ms * 1e3);
  return settings;
}

}  // namespace sluice::sched
