// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "config/json_reader.h"
#include "host/argument_faults.h"
#include "runtime/tcp/tcp_server.h"
#include "sample.h"

DEFINE_string(filters, "",
              "JSON file of filters, described in the README; empty: built-in sample filters");
DEFINE_string(
    filter, "",
    "One filter in CloudWatch syntax, instead of --filters; the lines that match are printed");
DEFINE_string(transport, "frames",
              "frames: observe the frames of other hosts' logs; tcp: serve syslog over TCP on --ip "
              "(RFC 6587)");
DEFINE_uint32(tcp_port, 514, "TCP: port that accepts connections");
DEFINE_string(syslog_ports, "514",
              "UDP ports of syslog, comma-separated; each datagram is one message");
DEFINE_string(
    line_ports, "5140",
    "UDP ports of plain lines, comma-separated; a line may continue in the next datagram");
DEFINE_string(
    tcp_ports, "",
    "TCP ports of plain lines, comma-separated; the program observes streams to these ports");
DEFINE_string(
    syslog_tcp_ports, "",
    "TCP ports of syslog (RFC 6587), comma-separated; the program observes streams to these ports");
DEFINE_bool(
    pass_on, false,
    "Forward every frame, so that the program can be inserted into a link (a bump in the wire)");
DEFINE_uint32(
    sources, 100'000,
    "Maximum number of sources; if it is exceeded, the source that was idle longest is evicted");
DEFINE_uint32(line_bytes, 65'536,
              "Maximum bytes of a line that are matched; the rest of a longer line is ignored");
DEFINE_double(idle_s, 300, "Seconds of silence after which a source is forgotten; 0: never");
DEFINE_string(lines, "",
              "Write the lines that filters with \"show\" match to this file, as JSON; - for "
              "standard output");
DEFINE_string(
    minutes, "",
    "Write per-minute figures of every filter to this file, as JSON; - for standard output");
DEFINE_string(alerts, "", "Also write alerts to this file, as JSON");
DEFINE_string(alert_exec, "", "Program to run for each alert");
DEFINE_string(log, "", "Embedded NIC: send the lines of this file; empty: generated ones");
DEFINE_string(log_as, "syslog",
              "Embedded NIC: protocol of the lines that it sends: syslog, lines or tcp");
DEFINE_uint32(log_sources, 16, "Embedded NIC: number of senders");
DEFINE_bool(log_once, false, "Embedded NIC: send the lines once instead of repeating them");

namespace sluice::logmon {

namespace {

using engine::logmon::Transport;
using runtime::CommandLine;

constexpr uint64_t kSampleBytes = 1 << 20;
constexpr size_t kMaxLogBytes = size_t{4} << 30;
constexpr uint32_t kMaxSampleSources = 65'536;
constexpr uint32_t kSampleTcpPort = 601;  // RFC 3195.

// Parses a list such as "514,601". Returns false if an element is not a port.
bool ParsePorts(std::string_view text, std::vector<uint16_t>* ports) {
  ports->clear();
  while (!text.empty()) {
    uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || port == 0) return false;
    ports->push_back(port);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return true;
}

bool Share(const std::vector<uint16_t>& one, const std::vector<uint16_t>& other) {
  for (const uint16_t port : one) {
    if (std::ranges::find(other, port) != other.end()) return true;
  }
  return false;
}

std::optional<Config> ReadFilters(std::string* flag, std::string* fix) {
  std::vector<std::string> errors;
  std::optional<Config> config;
  *flag = FLAGS_filter.empty() ? "filters" : "filter";
  if (!FLAGS_filter.empty() && !FLAGS_filters.empty()) {
    errors.emplace_back("give either --filter or --filters");
  } else if (!FLAGS_filter.empty()) {
    config = SingleFilter(FLAGS_filter, &errors);
  } else if (FLAGS_filters.empty()) {
    config = ParseConfig(kSampleFilters, "", &errors);
  } else if (const auto text = config::ReadFile(FLAGS_filters, &errors, kMaxConfigBytes)) {
    config = ParseConfig(*text, std::filesystem::path(FLAGS_filters).parent_path(), &errors);
  }
  if (config) return config;
  *fix = errors.front();
  if (errors.size() > 1) *fix += " (and " + std::to_string(errors.size() - 1) + " more)";
  return std::nullopt;
}

std::optional<Transport> TransportOf(std::string_view name) {
  if (name == "syslog") return Transport::kSyslog;
  if (name == "lines") return Transport::kLines;
  if (name == "tcp") return Transport::kTcp;
  return std::nullopt;
}

// Checks the flags of the syslog server; see Complaint.
bool CheckTransport(const CommandLine& line, runtime::Complaint complaint) {
  if (FLAGS_transport == "frames") return true;
  return complaint.Check(FLAGS_transport == "tcp", "transport", "give frames or tcp") &&
         runtime::CheckTcpPort(FLAGS_tcp_port, "tcp_port", complaint) &&
         complaint.Check(!FLAGS_pass_on, "pass_on",
                         "a server does not forward frames: omit --pass_on or --transport=tcp") &&
         runtime::CheckTcp(line, "transport", complaint);
}

}  // namespace

std::optional<Settings> ReadSettings(const CommandLine& line, std::string* flag, std::string* fix) {
  const runtime::Complaint complaint{flag, fix};
  Settings settings;
  engine::logmon::MonitorOptions& monitor = settings.monitor;
  const char* const ports = "give ports, 1 to 65535, separated by commas";
  const bool right =
      complaint.Check(ParsePorts(FLAGS_syslog_ports, &monitor.syslog_ports), "syslog_ports",
                      ports) &&
      complaint.Check(ParsePorts(FLAGS_line_ports, &monitor.line_ports), "line_ports", ports) &&
      complaint.Check(!Share(monitor.syslog_ports, monitor.line_ports), "line_ports",
                      "a port is also in --syslog_ports: give other ports") &&
      complaint.Check(ParsePorts(FLAGS_tcp_ports, &monitor.tcp_ports), "tcp_ports", ports) &&
      complaint.Check(ParsePorts(FLAGS_syslog_tcp_ports, &monitor.syslog_tcp_ports),
                      "syslog_tcp_ports", ports) &&
      complaint.Check(!Share(monitor.syslog_tcp_ports, monitor.tcp_ports), "tcp_ports",
                      "a port is also in --syslog_tcp_ports: give other ports") &&
      complaint.Check(FLAGS_sources >= 1 && FLAGS_sources <= 16'777'216, "sources",
                      "give 1 to 16777216") &&
      complaint.Check(FLAGS_line_bytes >= 256 && FLAGS_line_bytes <= 262'144, "line_bytes",
                      "give 256 to 262144") &&
      complaint.Check(FLAGS_idle_s >= 0 && FLAGS_idle_s <= 1e6, "idle_s", "give 0 to 1000000") &&
      complaint.Check(TransportOf(FLAGS_log_as).has_value(), "log_as",
                      "give syslog, lines or tcp") &&
      complaint.Check(FLAGS_log_sources >= 1 && FLAGS_log_sources <= kMaxSampleSources,
                      "log_sources", "give 1 to 65536") &&
      complaint.Accept(host::OutputFault(FLAGS_lines), "lines") &&
      complaint.Accept(host::OutputFault(FLAGS_minutes), "minutes") &&
      complaint.Accept(host::OutputFault(FLAGS_alerts), "alerts") &&
      complaint.Accept(host::ProgramFault(FLAGS_alert_exec), "alert_exec") &&
      complaint.Check(
          FLAGS_log.empty() || !line.own_port, "log",
          "applies only to the embedded NIC, but the EAL arguments name a device: omit --log") &&
      CheckTransport(line, complaint);
  if (!right) return std::nullopt;
  auto config = ReadFilters(flag, fix);
  if (!config) return std::nullopt;
  settings.config = *std::move(config);
  // Without --lines nobody reads shown lines, so they are neither stored nor counted as lost.
  for (FilterConfig& about : settings.config.about) about.show &= !FLAGS_lines.empty();
  monitor.pass_on = FLAGS_pass_on;
  monitor.max_sources = FLAGS_sources;
  settings.idle_s = FLAGS_idle_s;
  monitor.scan.line_bytes = FLAGS_line_bytes;
  settings.lines = FLAGS_lines;
  settings.minutes = FLAGS_minutes;
  settings.alerts = FLAGS_alerts;
  settings.alert_exec = FLAGS_alert_exec;
  if (FLAGS_transport == "tcp") {
    settings.server_port = static_cast<uint16_t>(FLAGS_tcp_port);
    return settings;
  }
  if (line.own_port || line.options.frame_size.empty()) return settings;
  // A listener must be configured for the sample's destination port.
  std::vector<uint16_t>* const used = FLAGS_log_as == "tcp"     ? &monitor.tcp_ports
                                      : FLAGS_log_as == "lines" ? &monitor.line_ports
                                                                : &monitor.syslog_ports;
  if (used->empty()) {
    if (!complaint.Check(
            FLAGS_log_as == "tcp", "log_as",
            "no ports are set for these lines: set --" +
                std::string(FLAGS_log_as == "lines" ? "line_ports" : "syslog_ports"))) {
      return std::nullopt;
    }
    used->push_back(kSampleTcpPort);
  }
  return settings;
}

bool MakeSample(const Settings& settings, CommandLine* line,
                std::optional<runtime::SampleCapture>* capture, std::string* flag,
                std::string* fix) {
  runtime::Options& options = line->options;
  if (!runtime::WantsSample(*line) || settings.server_port != 0) return true;
  SampleOptions sample{.transport = *TransportOf(FLAGS_log_as),
                       .sources = FLAGS_log_sources,
                       .once = FLAGS_log_once,
                       .seed = options.seed.value_or(1)};
  sample.port = sample.transport == Transport::kTcp     ? settings.monitor.tcp_ports.front()
                : sample.transport == Transport::kLines ? settings.monitor.line_ports.front()
                                                        : settings.monitor.syslog_ports.front();
  if (!gflags::GetCommandLineFlagInfoOrDie("frame_size").is_default) {
    const std::string& size = options.frame_size;
    const auto [end, error] =
        std::from_chars(size.data(), size.data() + size.size(), sample.frame_bytes);
    if (error != std::errc() || sample.frame_bytes < 96) {
      *flag = "frame_size";
      *fix = "must be 96 to 1518 bytes: smaller frames cannot hold a log line";
      return false;
    }
  }
  std::string text;
  if (FLAGS_log.empty()) {
    text = SampleText(kSampleBytes, sample.seed);
  } else {
    std::vector<std::string> errors;
    auto read = config::ReadFile(FLAGS_log, &errors, kMaxLogBytes);
    if (!read || read->empty()) {
      *flag = "log";
      *fix = errors.empty() ? "is empty" : errors.front();
      return false;
    }
    text = *std::move(read);
    // The text may be repeated, so its last line must be terminated.
    if (text.back() != '\n') text += '\n';
  }
  const auto write = [&](const std::string& path, std::string* why) {
    return WriteSample(text, sample, path, why);
  };
  const std::string about = FLAGS_log_as + ":" + (FLAGS_log.empty() ? "generated" : FLAGS_log) +
                            ":sources=" + std::to_string(FLAGS_log_sources);
  auto made =
      runtime::SampleCapture::Make(options, write, about, FLAGS_log_once ? "+loop=1" : "", fix);
  if (!made) {
    *flag = "log";
    return false;
  }
  options.frame_size.clear();
  *capture = std::move(made);
  return true;
}

}  // namespace sluice::logmon
