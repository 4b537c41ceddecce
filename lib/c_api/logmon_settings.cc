// SPDX-License-Identifier: BSD-3-Clause
#include "c_api/logmon_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "c_api/host.h"

namespace sluice::c_api {
namespace {

using engine::logmon::MonitorOptions;
using nlohmann::json;
using Ports = std::vector<uint16_t>;

// Maximum wait for missing bytes of a TCP stream: several retransmissions.
constexpr uint64_t kGapSeconds = 3;
// Maximum time between two lines of one log-in session, like fail2ban's mlfidCache.
constexpr uint64_t kSessionSeconds = 300;

void ReadPorts(config::ObjectReader& reader, std::string_view key, config::Errors* errors,
               Ports* ports) {
  constexpr size_t kMostPorts = 1024;
  Ports read;
  const bool given = reader.Array(key, kMostPorts, [&](const json& item, const std::string& path) {
    const uint64_t port = item.is_number_unsigned() ? item.get<uint64_t>() : 0;
    if (port == 0 || port > UINT16_MAX) {
      config::AddError(errors, path + ": give a port, 1 ... 65535");
    } else {
      read.push_back(static_cast<uint16_t>(port));
    }
  });
  if (given) *ports = std::move(read);
}

bool Share(const Ports& one, const Ports& other) {
  return std::ranges::find_first_of(one, other) != one.end();
}

}  // namespace

engine::logmon::FilterSet LogmonSettings::Shown() const {
  engine::logmon::FilterSet shown;
  for (size_t i = 0; i < filters.about.size(); ++i) shown[i] = filters.about[i].show;
  return shown;
}

std::optional<LogmonSettings> ReadLogmonSettings(std::string_view text, const std::string& folder,
                                                 uint64_t ticks_per_second,
                                                 config::Errors* errors) {
  const auto root = config::ParseJson(text, errors, engine::logmon::kMaxConfigBytes);
  if (!root) return std::nullopt;
  const size_t before = errors->size();
  config::ObjectReader reader(*root, "", errors);
  LogmonSettings settings;
  MonitorOptions& monitor = settings.monitor;
  monitor.line_ports = {5140};
  ReadPorts(reader, "syslog_ports", errors, &monitor.syslog_ports);
  ReadPorts(reader, "line_ports", errors, &monitor.line_ports);
  ReadPorts(reader, "tcp_ports", errors, &monitor.tcp_ports);
  ReadPorts(reader, "syslog_tcp_ports", errors, &monitor.syslog_tcp_ports);
  if (Share(monitor.syslog_ports, monitor.line_ports)) {
    reader.Complain("line_ports", "a port is also in syslog_ports: give other ports");
  }
  if (Share(monitor.syslog_tcp_ports, monitor.tcp_ports)) {
    reader.Complain("tcp_ports", "a port is also in syslog_tcp_ports: give other ports");
  }
  reader.Flag("pass_on", &monitor.pass_on);
  reader.Whole("sources", 1, 16'777'216, &monitor.max_sources);
  reader.Whole("line_bytes", 256, 262'144, &monitor.scan.line_bytes);
  double idle_s = 300;
  reader.Real("idle_s", 0, 1e6, &idle_s);
  monitor.idle_cycles = static_cast<uint64_t>(idle_s * static_cast<double>(ticks_per_second));
  monitor.gap_cycles = kGapSeconds * ticks_per_second;
  monitor.session_cycles = kSessionSeconds * ticks_per_second;
  settings.host = ReadHost(reader);
  settings.filters = engine::logmon::ReadFilters(reader, folder, errors);
  reader.Finish();
  if (errors->size() != before) return std::nullopt;
  return settings;
}

}  // namespace sluice::c_api
