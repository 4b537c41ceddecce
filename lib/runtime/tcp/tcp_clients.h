// SPDX-License-Identifier: BSD-3-Clause
//
// TCP clients as the traffic of the embedded NIC.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/command_line.h"
#include "runtime/hooks.h"
#include "runtime/port_stats.h"
#include "runtime/session.h"
#include "runtime/wire_clients.h"
#include "transport/clients/stream_clients.h"

namespace sluice::runtime {

/// Returns whether TCP clients are the traffic, because the port is the embedded NIC's and no flag
/// selects other traffic. Then adds the address that they need to `line`, if it contains none.
inline bool HasTcpClients(CommandLine& line) {
  if (line.own_port || line.options.frame_size.empty()) return false;
  std::string error;
  if (line.options.own.empty()) line.options.own.Add("10.0.0.2", &error);
  return true;
}

/// Makes TCP clients the traffic: the wire in `library`, with the options `clients`, which are the
/// value of --clients. They connect to `port` of the first IPv4 address of --ip; see Complaint.
inline bool AddTcpClients(CommandLine& line, std::string_view library, const std::string& clients,
                          uint32_t port, const Complaint& complaint) {
  Options& options = line.options;
  const auto server = ServerOfClients(options.own, transport::kClientAddress, complaint);
  if (!server) return false;
  options.wire = "library:" + std::string(library) + '+' + clients +
                 "+port=" + std::to_string(port) + "+ip=" + *server;
  options.wire_flag = "clients";
  options.traffic = "clients";
  return true;
}

/// Adds the results of the clients to the findings and the report. `session` must outlive the run.
inline void AddClientResults(const Session& session, AppHooks& hooks) {
  hooks.findings = [&session] { return FindingsOf(ReadClients(PortStats::Read(session.port()))); };
  hooks.report = [&session, inner = std::move(hooks.report)](nlohmann::ordered_json& report) {
    if (inner) inner(report);
    const PortStats port = PortStats::Read(session.port());
    report["clients"]["answered"] = ReadClients(port).answered;
    report["clients"]["latency_us"] = ClientLatency(port);
  };
}

}  // namespace sluice::runtime
