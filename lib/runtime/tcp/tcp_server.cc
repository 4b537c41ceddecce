// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tcp/tcp_server.h"

#include <gflags/gflags.h>
#include <rte_cycles.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/metric_values.h"
#include "transport/stack.h"

DEFINE_string(
    tcp_on, "host",
    "where TCP runs: host (in the workers) or nic (in the transport unit of a model NIC)");
DEFINE_uint32(
    tcp_connections, 0,
    "TCP: maximum number of connections of a worker or, with --tcp_on=nic, of the NIC; 0: "
    "16384 or, with --tcp_on=nic, as many as 128 MiB of rings serve");
DEFINE_uint32(tcp_ring, 0,
              "--tcp_on=nic: size in KiB of each of the two rings of a connection, a power of two "
              "from 4 to 256; 0: 64, or as many as the longest answer needs");
DEFINE_uint32(tcp_connections_per_peer, 0,
              "TCP: maximum number of connections of one client address; 0: no further limit");

namespace sluice::runtime {

using engine::kTcpCounters;
using engine::TcpCounter;
using engine::TcpCounts;
using transport::Stack;

namespace {

/// Default of the memory of the rings, which they occupy from the start.
constexpr uint32_t kRingsBytes = 128 << 20;
constexpr uint32_t kUsualRing = 64 << 10;

bool RunsInNic() { return FLAGS_tcp_on == "nic"; }

}  // namespace

bool CheckTcp(const CommandLine& line, std::string_view flag, Complaint complaint) {
  return complaint.Check(
             FLAGS_tcp_connections <= Stack::kMaxConnections, "tcp_connections",
             "give 1 to " + std::to_string(Stack::kMaxConnections) + ", or 0 for the default") &&
         complaint.Check(FLAGS_tcp_on == "host" || FLAGS_tcp_on == "nic", "tcp_on",
                         "give host or nic") &&
         complaint.Check(
             FLAGS_tcp_ring == 0 || (std::has_single_bit(FLAGS_tcp_ring) && FLAGS_tcp_ring >= 4 &&
                                     FLAGS_tcp_ring <= regs::transport::kMaxRing / 1024),
             "tcp_ring", "give 4, 8, 16, 32, 64, 128 or 256 (KiB), or 0") &&
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

void TcpServer::WatchUnit(AppHooks& hooks) {
  hooks.link_seen = [unit = unit_, inner = std::move(hooks.link_seen)](bool up) {
    unit->Watch();
    if (inner) inner(up);
  };
}

void TcpServer::PrepareFor(CommandLine& line, uint32_t answer_bytes) {
  if (!RunsInNic()) return;
  ring_bytes_ = FLAGS_tcp_ring != 0 ? FLAGS_tcp_ring * 1024
                                    : std::max(kUsualRing, std::bit_ceil(2 * answer_bytes));
  line.prepare = [this](uint16_t port, const packet::OwnAddresses& own, std::string* error) {
    return StartUnit(port, own, error);
  };
}

engine::TcpHostOptions TcpServer::Options(const packet::OwnAddresses& own) const {
  std::random_device random;
  const uint32_t usual = RunsInNic()
                             ? std::min(kRingsBytes / (2 * ring_bytes_), Stack::kMaxConnections)
                             : Stack::kMaxConnections;
  const uint32_t connections = FLAGS_tcp_connections != 0 ? FLAGS_tcp_connections : usual;
  const uint32_t per_peer = FLAGS_tcp_connections_per_peer;
  return {.stack = {.own = own,
                    .max_connections = connections,
                    .max_connections_per_peer = per_peer != 0 ? per_peer : connections,
                    .seed = uint64_t{random()} << 32 | random()},
          .ports = ports_,
          .cycles_per_second = rte_get_tsc_hz()};
}

std::shared_ptr<void> TcpServer::StartUnit(uint16_t port, const packet::OwnAddresses& own,
                                           std::string* error) {
  options_ = Options(own);
  regs::transport::Configuration configuration{};
  if (ports_.size() > configuration.ports.size()) {
    *error =
        "a transport unit serves at most " + std::to_string(configuration.ports.size()) + " ports";
    return nullptr;
  }
  configuration.seed = options_.stack.seed;
  configuration.connections = options_.stack.max_connections;
  configuration.connections_per_peer = options_.stack.max_connections_per_peer;
  configuration.ring_bytes = ring_bytes_;
  configuration.port_count = static_cast<uint16_t>(ports_.size());
  configuration.ipv4_count = static_cast<uint8_t>(own.ipv4().size());
  configuration.ipv6_count = static_cast<uint8_t>(own.ipv6().size());
  configuration.mac = own.mac();
  std::ranges::copy(ports_, configuration.ports.begin());
  std::ranges::copy(own.ipv4(), configuration.ipv4.begin());
  std::ranges::copy(own.ipv6(), configuration.ipv6.begin());
  std::shared_ptr<nic::TransportUnit> unit = nic::TransportUnit::Open(port, configuration, error);
  if (unit == nullptr) return nullptr;
  options_.rings = {unit->rings(), configuration.connections, configuration.ring_bytes,
                    &unit->unit_mac()};
  unit_ = unit.get();
  return unit;
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
