// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tcp/tcp_server.h"

#include <gflags/gflags.h>
#include <rte_cycles.h>

#include <nlohmann/json.hpp>
#include <random>

#include "runtime/metric_values.h"
#include "transport/stack.h"

DEFINE_uint32(tcp_connections, sluice::transport::Stack::kMaxConnections,
              "TCP: maximum number of connections of a worker");
DEFINE_uint32(tcp_connections_per_peer, 0,
              "TCP: maximum number of connections of one client address; 0: no further limit");

namespace sluice::runtime {

using engine::kTcpCounters;
using engine::TcpCounter;
using engine::TcpCounts;
using transport::Stack;

bool CheckTcp(const CommandLine& line, std::string_view flag, Complaint complaint) {
  return complaint.Check(
             FLAGS_tcp_connections >= 1 && FLAGS_tcp_connections <= Stack::kMaxConnections,
             "tcp_connections", "give 1 to " + std::to_string(Stack::kMaxConnections)) &&
         complaint.Check(!line.options.own.empty(), "ip",
                         "give an address: TCP clients connect to it") &&
         complaint.Check(
             Stack::Available(), flag,
             "this build has no TCP: run scripts/setup, which downloads lwIP, and build "
             "again");
}

bool CheckTcpPort(uint32_t port, std::string_view flag, Complaint complaint) {
  return complaint.Check(port >= 1 && port <= 65535, flag, "give 1 to 65535");
}

engine::TcpHostOptions TcpOptions(std::vector<uint16_t> ports, const packet::OwnAddresses& own) {
  std::random_device random;
  const uint32_t per_peer = FLAGS_tcp_connections_per_peer;
  return {.stack = {.own = own,
                    .max_connections = FLAGS_tcp_connections,
                    .max_connections_per_peer = per_peer != 0 ? per_peer : FLAGS_tcp_connections,
                    .seed = uint64_t{random()} << 32 | random()},
          .ports = std::move(ports),
          .cycles_per_second = rte_get_tsc_hz()};
}

void AddTcpCounts(std::span<const TcpCounts> counts, AppHooks& hooks) {
  const auto sum = [counts](const TcpCounter& row) {
    uint64_t total = 0;
    for (const TcpCounts& of_worker : counts) total += engine::Load(of_worker, row.member);
    return total;
  };
  hooks.line = [sum, inner = std::move(hooks.line)] {
    std::string text = inner ? inner() : std::string();
    if (!text.empty()) text += '\n';
    text += "tcp:";
    for (const TcpCounter& row : kTcpCounters) {
      const uint64_t value = sum(row);
      if (value != 0) text.append(" ").append(row.name).append(" ").append(std::to_string(value));
    }
    return text;
  };
  hooks.report = [sum, inner = std::move(hooks.report)](nlohmann::ordered_json& report) {
    if (inner) inner(report);
    nlohmann::ordered_json& tcp = report["tcp"];
    for (const TcpCounter& row : kTcpCounters) tcp[row.name] = sum(row);
  };
  hooks.metrics = [sum, inner = std::move(hooks.metrics)](MetricFamilies& families) {
    if (inner) inner(families);
    for (const TcpCounter& row : kTcpCounters) {
      const std::string name = std::string("sluice_tcp_") + row.name;
      if (row.member == &TcpCounts::open) {
        AddGauge(families, name, row.help, Number(sum(row)));
      } else {
        AddCounter(families, name + "_total", row.help, Number(sum(row)));
      }
    }
  };
}

}  // namespace sluice::runtime
