// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <string_view>

#include "engine/sched/policies/all.h"
#include "host/flag_text.h"
#include "load_wire.h"
#include "process_page.h"

DEFINE_string(services, "nothing,echo,add",
              "Services to run, comma-separated: names of built-in services, or OBJECT.so:FILE.x");
DEFINE_string(define, "",
              "Constants that .x files use but do not define, comma-separated: NAME=NUMBER");
DEFINE_string(iface, "coherent",
              "coherent; or run the variant that receives calls in frames and accepts EAL "
              "arguments: packetized, streaming or bilateral; --iface=packetized --help lists its "
              "flags");
DEFINE_uint32(cores, 1, "Number of cores that run services; the model of the NIC runs on one more");
DEFINE_uint32(service_cores, 1, "Maximum number of cores per service");
DEFINE_string(policy, "shinjuku", "Policy of sluice-sched that assigns cores to services");
DEFINE_double(slice_us, 0,
              "Time slice in microseconds, for policies with slices (0: the policy's default)");
DEFINE_double(preempt_ms, 100,
              "Milliseconds that a handler may continue after its core is requested; then its "
              "process is killed");
DEFINE_double(handler_ms, 1000,
              "Milliseconds that any handler may run; then its process is killed (0: unlimited)");
DEFINE_double(retire_ms, 0,
              "Idle milliseconds after which a service loses its core; if the core then stays idle "
              "for the same time, it is retired (0: never)");
DEFINE_uint32(nested, 32, "Maximum number of unanswered calls of one service to other services");
DEFINE_uint32(nested_depth, 8, "Maximum depth of nested calls between services");
DEFINE_double(nested_ms, 1000, "Milliseconds after which a call of one service to another fails");
DEFINE_uint32(queue, 32, "Maximum number of calls that wait for one service");
DEFINE_uint32(
    dma_bytes, 4096,
    "Maximum bytes of arguments that are passed in cache lines; longer arguments use a buffer");
DEFINE_string(wire, "clients",
              "Wire of the NIC: clients (simulated), or the name of a Linux network interface, "
              "which requires root");
DEFINE_string(ip, "", "With a network interface: addresses of the NIC, comma-separated");
DEFINE_uint32(port, 20049, "UDP port of all services except portmap");
DEFINE_uint32(outstanding, 1, "Maximum number of unanswered calls of the load generator");
DEFINE_uint32(run_calls, 100,
              "Number of consecutive calls that the load generator sends to a service before it "
              "calls the next");
DEFINE_uint32(echo_bytes, 64,
              "Bytes of the argument of each call to the service echo, and of each value that is "
              "sent to front");
DEFINE_uint32(store_mib, 64, "Memory for the items of the store service, in MiB");
DEFINE_double(timeout_ms, 1000,
              "Milliseconds after which an unanswered call of the load generator counts as lost");
DEFINE_uint32(trace, 0,
              "Number of calls for which the twelve steps are printed, each with the hardware or "
              "software that performs it");
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
    if (!good && complaint.empty()) complaint = host::FlagComplaint(flag, fix);
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
  require(!real || !FLAGS_ip.empty(), "ip", "give the addresses of the NIC on " + FLAGS_wire);
  require(real || FLAGS_ip.empty(), "ip", "requires a network interface: --wire=NAME");
  within(FLAGS_outstanding, 1, 4096, "outstanding", "give 1 to 4096");
  within(FLAGS_run_calls, 1, 1e9, "run_calls", "give 1 to 1000000000");
  within(FLAGS_echo_bytes, 0, LoadOptions::kMaxEchoBytes, "echo_bytes", "give 0 to 8192");
  within(FLAGS_slice_us, 0, 1e6, "slice_us", "give 0 to 1e6");
  within(FLAGS_preempt_ms, 0.001, 60'000, "preempt_ms", "give 0.001 to 60000");
  within(FLAGS_handler_ms, 0, 60'000, "handler_ms", "give 0 to 60000");
  within(FLAGS_retire_ms, 0, 60'000, "retire_ms", "give 0 to 60000");
  within(FLAGS_store_mib, 1, 1 << 20, "store_mib", "give 1 to 1048576");
  within(FLAGS_nested, 1, 1024, "nested", "give 1 to 1024");
  within(FLAGS_nested_depth, 0, 1024, "nested_depth", "give 0 to 1024");
  within(FLAGS_nested_ms, 0.001, 60'000, "nested_ms", "give 0.001 to 60000");
  within(FLAGS_timeout_ms, 0.1, 60'000, "timeout_ms", "give 0.1 to 60000");
  within(FLAGS_trace, 0, 10'000, "trace", "give 0 to 10000");
  if (complaint.empty()) complaint = host::RunFlagsComplaint();
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
  if (!host::ParseFlags(argc, argv,
                        "sluice-rpc: serves ONC-RPC programs on a NIC that delivers calls to "
                        "cores in cache lines",
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
  static_cast<host::RunSettings&>(settings) = host::ReadRunFlags();
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
