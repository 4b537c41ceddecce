// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "engine/sched/policies/all.h"
#include "load_wire.h"
#include "process_page.h"
#include "runtime/argument_faults.h"
#include "runtime/flag_text.h"

DEFINE_string(services, "nothing,echo,add",
              "Services to run, by commas: names of those that come with sluice-rpc, or "
              "OBJECT.so:FILE.x");
DEFINE_uint32(cores, 1, "Cores that run services; the NIC has one more for itself");
DEFINE_uint32(service_cores, 1, "Cores that one service may have at a time");
DEFINE_string(policy, "shinjuku", "Which service gets which core: a policy of sluice-sched");
DEFINE_double(slice_us, 0, "Slice of the policy, where it has one (0: the policy's own)");
DEFINE_double(preempt_ms, 100, "How long a handler may go on once its core is wanted");
DEFINE_double(handler_ms, 1000, "How long any handler may take (0: for ever)");
DEFINE_double(retire_ms, 0, "Idle time after which a core is given back (0: never)");
DEFINE_uint32(queue, 32, "Calls that may wait for one service");
DEFINE_uint32(dma_bytes, 4096, "Longer arguments go through a buffer instead of lines");
DEFINE_string(wire, "clients",
              "What is behind the NIC: clients, or a network interface of Linux, which needs root");
DEFINE_string(ip, "", "With a network interface: the NIC's addresses, by commas");
DEFINE_uint32(port, 20049, "UDP port of all services but portmap's");
DEFINE_uint32(outstanding, 1, "Calls that the load generator has under way");
DEFINE_uint32(run_calls, 100, "Calls that the load generator makes to one service before the next");
DEFINE_uint32(echo_bytes, 64, "Bytes of each call to echo");
DEFINE_double(timeout_ms, 1000, "A call without an answer after this time is lost");
DEFINE_uint32(trace, 0, "Print who did each of the twelve steps of this many calls");
DEFINE_uint64(seed, 1, "Seed of the calls");
DEFINE_double(duration_s, 10, "Seconds to run (0: until SIGINT or SIGTERM)");
DEFINE_double(stats_period_s, 1, "Seconds between statistics lines (0: none)");
DEFINE_string(json, "", "Write the final report to this file; - for standard output");

namespace sluice::rpc_app {
namespace {

// Where the programs and services are that belong to this one: beside it, or where an
// installation puts them.
std::filesystem::path Beside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / name;
  if (std::filesystem::exists(beside, error)) return beside;
  return std::filesystem::path(SLUICE_RPC_LIBDIR) / name;
}

/// Where clients look for the port mapper (RFC 1833 section 3).
constexpr uint16_t kPortmapPort = 111;

ServiceFiles FilesOf(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return {text, Beside("services/libsluice_rpc_" + text + ".so"),
            Beside("services/" + text + ".x"),
            text == "portmap" ? kPortmapPort : static_cast<uint16_t>(FLAGS_port)};
  }
  const std::string object = text.substr(0, colon);
  return {std::filesystem::path(object).stem(), object, text.substr(colon + 1),
          static_cast<uint16_t>(FLAGS_port)};
}

std::vector<ServiceFiles> ReadServices(const std::string& text) {
  std::vector<ServiceFiles> services;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    services.push_back(FilesOf(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return services;
}

uint64_t Ns(double value, double unit) { return static_cast<uint64_t>(value * unit); }

// The first complaint, or nothing.
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
  require(real || FLAGS_ip.empty(), "ip", "give a network interface, too: --wire=NAME");
  within(FLAGS_outstanding, 1, 4096, "outstanding", "give 1 to 4096");
  within(FLAGS_run_calls, 1, 1e9, "run_calls", "give 1 to 1000000000");
  within(FLAGS_echo_bytes, 0, LoadOptions::kMaxEchoBytes, "echo_bytes", "give 0 to 8192");
  within(FLAGS_slice_us, 0, 1e6, "slice_us", "give microseconds up to 1e6, or 0");
  within(FLAGS_preempt_ms, 0.001, 60'000, "preempt_ms", "give milliseconds up to 60000");
  within(FLAGS_handler_ms, 0, 60'000, "handler_ms", "give milliseconds up to 60000, or 0");
  within(FLAGS_retire_ms, 0, 60'000, "retire_ms", "give milliseconds up to 60000, or 0");
  within(FLAGS_timeout_ms, 0.1, 60'000, "timeout_ms", "give milliseconds up to 60000");
  within(FLAGS_trace, 0, 10'000, "trace", "give up to 10000 calls");
  within(FLAGS_duration_s, 0, 1e7, "duration_s", "give seconds, or 0 for no end");
  within(FLAGS_stats_period_s, 0, 1e7, "stats_period_s", "give seconds, or 0 for none");
  const std::string fault = runtime::OutputFault(FLAGS_json);
  require(fault.empty(), "json", fault);
  settings->services = ReadServices(FLAGS_services);
  require(settings->services.size() <= device::rpc::kMaxProcesses, "services",
          "give at most 64");
  for (const ServiceFiles& files : settings->services) {
    for (const std::string& path : {files.object, files.x}) {
      std::error_code error;
      require(std::filesystem::is_regular_file(path, error), "services",
              path + " is no file: give nothing, echo, add, portmap or OBJECT.so:FILE.x");
    }
  }
  return complaint;
}

}  // namespace

std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    *exit_code = 0;
    if (argument == "--help" || argument == "-h") {
      std::printf("sluice-rpc: serves ONC-RPC programs on a NIC that hands calls to cores in cache "
                  "lines\n\nUsage: sluice-rpc [flags]\n%s",
                  runtime::FlagHelp().c_str());
      return std::nullopt;
    }
    if (argument == "--version") {
      std::printf("sluice-rpc %s\n", SLUICE_VERSION);
      return std::nullopt;
    }
  }
  *exit_code = 2;
  Settings settings;
  std::string error;
  // EAL arguments do not exist here, so that "--" may stand in front of the flags.
  const int first = argc > 1 && std::string_view(argv[1]) == "--" ? 2 : 1;
  if (runtime::SetFlags({argv + first, argv + argc}, &error)) error = Check(&settings);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return std::nullopt;
  }
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
  settings.timeout_ns = Ns(FLAGS_timeout_ms, 1e6);
  settings.seed = FLAGS_seed;
  settings.traces = FLAGS_trace;
  settings.duration_s = FLAGS_duration_s;
  settings.stats_period_s = FLAGS_stats_period_s;
  settings.json = FLAGS_json;
  return settings;
}

}  // namespace sluice::rpc_app
