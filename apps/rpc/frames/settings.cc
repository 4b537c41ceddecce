// SPDX-License-Identifier: BSD-3-Clause
#include "frames/settings.h"

#include <gflags/gflags.h>

#include "bindings.h"
#include "load_library.h"
#include "runtime/tcp/tcp_server.h"

DECLARE_string(ip);
DEFINE_string(
    services, "nothing,echo,add",
    "Services to run, comma-separated: names of services of sluice-rpc, or OBJECT.so:FILE.x");
DEFINE_string(define, "",
              "Constants that .x files use but do not define, comma-separated: NAME=NUMBER");
DEFINE_string(transport, "udp", "udp, or tcp: protocol of the calls to --ip");
DEFINE_uint32(rpc_port, 20049, "Port of all services except portmap");
DEFINE_uint32(outstanding, 1,
              "Embedded NIC: maximum number of unanswered calls, over all its clients");
DEFINE_uint32(run_calls, 100,
              "Embedded NIC: number of consecutive calls that its clients send to a service before "
              "they call the next");
DEFINE_uint32(echo_bytes, 64, "Embedded NIC: argument bytes of each call to the service echo");
DEFINE_double(timeout_ms, 1000,
              "Embedded NIC: milliseconds after which an unanswered call counts as lost");

namespace sluice::rpc_app {
namespace {

/// Maximum data size of a call to echo, so that the call fits into a frame of 1514 bytes.
constexpr uint32_t kMaxEchoBytes = 1400;

/// Number of datagrams reassembled concurrently if the program has IP addresses.
constexpr uint32_t kDatagrams = 64;

bool CheckNumbers(const runtime::Complaint& complaint) {
  const auto in = [](double value, double least, double most) {
    return value >= least && value <= most;
  };
  return complaint.Check(in(FLAGS_rpc_port, 1, 65535), "rpc_port", "give 1 to 65535") &&
         complaint.Check(in(FLAGS_outstanding, 1, 4096), "outstanding", "give 1 to 4096") &&
         complaint.Check(in(FLAGS_run_calls, 1, 1e9), "run_calls", "give 1 to 1000000000") &&
         complaint.Check(FLAGS_echo_bytes <= kMaxEchoBytes, "echo_bytes", "give 0 to 1400") &&
         complaint.Check(in(FLAGS_timeout_ms, 0.1, 60'000), "timeout_ms", "give 0.1 to 60000");
}

}  // namespace

std::optional<FrameSettings> ReadFrameSettings(runtime::CommandLine* line, std::string* flag,
                                               std::string* fix) {
  const runtime::Complaint complaint{flag, fix};
  if (!CheckNumbers(complaint)) return std::nullopt;
  FrameSettings settings;
  settings.tcp = FLAGS_transport == "tcp";
  if (!complaint.Check(settings.tcp || FLAGS_transport == "udp", "transport", "give udp or tcp") ||
      (settings.tcp && !runtime::CheckTcp(*line, "transport", complaint))) {
    return std::nullopt;
  }
  if (!complaint.Check(rpc::ReadConstants(FLAGS_define, "", fix).has_value(), "define",
                       kDefineFix)) {
    return std::nullopt;
  }
  settings.services =
      ReadServices(FLAGS_services, static_cast<uint16_t>(FLAGS_rpc_port), FLAGS_define);
  if (!complaint.Accept(ServicesFault(settings.services), "services")) return std::nullopt;
  const auto compiled = CompileAll(settings.services, fix);
  if (!compiled) {
    *flag = "services";
    return std::nullopt;
  }
  PublishToPortMapper(FLAGS_ip, settings.services, *compiled,
                      settings.tcp ? Served::kTcp : Served::kUdp);
  settings.clients = !settings.tcp && !line->own_port && !line->options.frame_size.empty();
  if (settings.clients) {
    const std::string client =
        LoadOptionsText({.targets = TargetsOf(settings.services, *compiled),
                         .outstanding = FLAGS_outstanding,
                         .run_calls = FLAGS_run_calls,
                         .echo_bytes = FLAGS_echo_bytes,
                         .timeout_ns = static_cast<uint64_t>(FLAGS_timeout_ms * 1e6)});
    // The library is linked into this process, so its name without a path is sufficient.
    line->options.wire = "library:libsluice_rpc_wire.so+" + client;
    line->options.traffic = "clients";
  }
  // Enables reassembly unless the user has set --reassemble, because a call can be longer than a
  // frame.
  if (!settings.tcp && !FLAGS_ip.empty() &&
      google::GetCommandLineFlagInfoOrDie("reassemble").is_default) {
    line->options.reassemble = kDatagrams;
  }
  line->options.answers = false;
  return settings;
}

}  // namespace sluice::rpc_app
