// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <string_view>

#include "engine/sched/policies/all.h"
#include "load_wire.h"
#include "process_page.h"
#include "runtime/flag_text.h"

DEFINE_string(services, "nothing,echo,add",
              "Services to run, by commas: names of those that come with sluice-rpc, or "
              "OBJECT.so:FILE.x");
DEFINE_string(define, "", "Constants that .x files use and do not define: NAME=NUMBER, by commas");
DEFINE_string(iface, "coherent",
              "coherent, or packetized, streaming or bilateral by another program with EAL "
              "arguments and its flags: see --iface=packetized --help");
DEFINE_uint32(cores, 1, "Cores that run services; the NIC has one more for itself");
DEFINE_uint32(service_cores, 1, "Cores that one service may have at a time");
DEFINE_string(policy, "shinjuku", "Which service gets which core: a policy of sluice-sched");
DEFINE_double(slice_us, 0, "Time slice of the policy, if it uses one (0: its default)");
DEFINE_double(preempt_ms, 100, "Time limit of a handler whose core is requested");
DEFINE_double(handler_ms, 1000, "Time limit of any handler (0: unlimited)");
DEFINE_double(retire_ms, 0,
              "Idle time after which a service's core is reclaimed, and after which it is retired "
              "(0: never)");
DEFINE_uint32(nested, 32, "Calls that one service may have under way to others");
DEFINE_uint32(nested_depth, 8, "Calls in calls: how deep");
DEFINE_double(nested_ms, 1000, "Time limit of a call of one service to another");
DEFINE_uint32(queue, 32, "Calls that may wait for one service");
DEFINE_uint32(dma_bytes, 4096, "Longer arguments go through a buffer instead of lines");
DEFINE_string(wire, "clients",
              "Wire of the NIC: clients, or a Linux network interface, which needs root");
DEFINE_string(ip, "", "With a network interface: the NIC's addresses, by commas");
DEFINE_uint32(port, 20049, "UDP port of all services but portmap's");
DEFINE_uint32(outstanding, 1, "Calls that the load generator has under way");
DEFINE_uint32(run_calls, 100, "Calls that the load generator makes to one service before the next");
DEFINE_uint32(echo_bytes, 64, "Bytes of each call to echo, and of each value to front");
DEFINE_uint32(store_mib, 64, "Memory of the service store for items, in MiB");
DEFINE_double(timeout_ms, 1000, "A call without an answer after this time is lost");
DEFINE_uint32(trace, 0, "Print the executor of each of the twelve steps of this many calls");
DEFINE_uint64(seed, 1, "Seed of the calls");
DEFINE_double(duration_s, 10, "Seconds to run (0: until SIGINT or SIGTERM)");
DEFINE_double(stats_period_s, 1, "Seconds between statistics lines (0: none)");
DEFINE_string(json, "", "Write the final report to this file; - for standard output");

namespace sluice::rpc_app {
namespace {

uint64_t Ns(double value, double unit) { return static_cast<uint64_t>(value * unit); }

// Returns the first error, or an empty string.
std::string Check(Settings* settings) {
  std::string complaint;
  const auto require = [&](bool good, const char* flag, const std::string& fix) {
    if (!good && complaint.empty()) complaint = runtime::FlagComplaint(flag, fix);
  };
  std::string policies;
  for (const std::string_view name : engine::sched::kPolicyNames) {
    policies += (policies.empty() ? "" : ", ") + std::string(name);
  }
  require(std::ranges::find(engine::sched::kPolicyNames, FLAGS_policy) !=
              engine::sched::kPolicyNames.end(),
          "policy", "give one of " + policies);
  const auto within = [&](double value, double least, double most, const char* flag,
                          const std::string& fix) {
    require(value >= least && value <= most, flag, fix);
  };
  within(FLAGS_cores, 1, device::rpc::kMaxCores, "cores", "give 1 to 32");
  within(FLAGS_service_cores, 1, FLAGS_cores, "service_cores", "give 1 to the number of --cores");
  within(FLAGS_queue, 1, 1024, "queue", "give 1 to 1024");
  within(FLAGS_dma_bytes, 0, kUserGeometry.LineCapacity(), "dma_bytes",
         "give 0 to " + std::to_string(kUserGeometry.LineCapacity()));
  within(FLAGS_port, 1, 65535, "port", "give 1 to 65535");
  const bool real = FLAGS_wire != "clients";
  require(!real || !FLAGS_ip.empty(), "ip", "give the NIC's addresses on " + FLAGS_wire);
  require(real || FLAGS_ip.empty(), "ip", "requires a network interface: --wire=NAME");
  within(FLAGS_outstanding, 1, 4096, "outstanding", "give 1 to 4096");
  within(FLAGS_run_calls, 1, 1e9, "run_calls", "give 1 to 1000000000");
  within(FLAGS_echo_bytes, 0, LoadOptions::kMaxEchoBytes, "echo_bytes", "give 0 to 8192");
  within(FLAGS_slice_us, 0, 1e6, "slice_us", "give microseconds up to 1e6, or 0");
  within(FLAGS_preempt_ms, 0.001, 60'000, "preempt_ms", "give milliseconds up to 60000");
  within(FLAGS_handler_ms, 0, 60'000, "handler_ms", "give milliseconds up to 60000, or 0");
  within(FLAGS_retire_ms, 0, 60'000, "retire_ms", "give milliseconds up to 60000, or 0");
  within(FLAGS_store_mib, 1, 1 << 20, "store_mib", "give 1 to 1048576");
  within(FLAGS_nested, 1, 1024, "nested", "give 1 to 1024");
  within(FLAGS_nested_depth, 0, 1024, "nested_depth", "give 0 to 1024");
  within(FLAGS_nested_ms, 0.001, 60'000, "nested_ms", "give milliseconds up to 60000");
  within(FLAGS_timeout_ms, 0.1, 60'000, "timeout_ms", "give milliseconds up to 60000");
  within(FLAGS_trace, 0, 10'000, "trace", "give up to 10000 calls");
  if (complaint.empty()) complaint = runtime::RunFlagsComplaint();
  std::string fix;
  require(rpc::ReadConstants(FLAGS_define, "", &fix).has_value(), "define", kDefineFix);
  settings->services =
      ReadServices(FLAGS_services, static_cast<uint16_t>(FLAGS_port), FLAGS_define);
  const std::string fault = ServicesFault(settings->services);
  require(fault.empty(), "services", fault);
  return complaint;
}

}  // namespace

std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code) {
  if (!runtime::ParseFlags(
          argc, argv,
          "sluice-rpc: serves ONC-RPC programs on a NIC that hands calls to cores in cache lines",
          SLUICE_VERSION, exit_code)) {
    return std::nullopt;
  }
  Settings settings;
  const std::string error = Check(&settings);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    *exit_code = 2;
    return std::nullopt;
  }
  static_cast<runtime::RunSettings&>(settings) = runtime::ReadRunFlags();
  settings.service_program = Beside("sluice-rpc-service");
  settings.policy = FLAGS_policy;
  settings.interface = FLAGS_wire == "clients" ? "" : FLAGS_wire;
  settings.addresses = FLAGS_ip;
  settings.cores = FLAGS_cores;
  settings.service_cores = FLAGS_service_cores;
  settings.queue = FLAGS_queue;
  settings.outstanding = FLAGS_outstanding;
  settings.run_calls = FLAGS_run_calls;
  settings.echo_bytes = FLAGS_echo_bytes;
  settings.dma_bytes = FLAGS_dma_bytes;
  settings.slice_ns = Ns(FLAGS_slice_us, 1e3);
  settings.preempt_ns = Ns(FLAGS_preempt_ms, 1e6);
  settings.handler_ns = Ns(FLAGS_handler_ms, 1e6);
  settings.retire_ns = Ns(FLAGS_retire_ms, 1e6);
  settings.store_mib = FLAGS_store_mib;
  settings.nested = FLAGS_nested;
  settings.nested_depth = FLAGS_nested_depth;
  settings.nested_ns = Ns(FLAGS_nested_ms, 1e6);
  settings.timeout_ns = Ns(FLAGS_timeout_ms, 1e6);
  settings.seed = FLAGS_seed;
  settings.traces = FLAGS_trace;
  return settings;
}

}  // namespace sluice::rpc_app
