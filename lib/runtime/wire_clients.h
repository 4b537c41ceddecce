// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the results of clients that act as a model NIC's wire from the statistics of the NIC's
// port.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/client_counts.h"
#include "host/measures.h"
#include "packet/own_addresses.h"
#include "runtime/command_line.h"
#include "runtime/hooks.h"
#include "runtime/port_stats.h"

namespace sluice::runtime {

/// Returns the text of the address to which clients send: the first IPv4 address of `own`. Returns
/// nullopt, with --ip in `complaint`, if there is none, or if `client`, the address of the clients,
/// is in `own`, too.
inline std::optional<std::string> ServerOfClients(const packet::OwnAddresses& own,
                                                  const packet::Ipv4Address& client,
                                                  const Complaint& complaint) {
  const bool right = !own.ipv4().empty() && !own.Owns(client);
  if (!complaint.Check(right, "ip",
                       "give an IPv4 address other than " + packet::AddressText(client) +
                           ", which clients on the embedded NIC's wire use")) {
    return std::nullopt;
  }
  return packet::AddressText(own.ipv4().front());
}

/// Returns the requests of the wire's clients; zeroes if the wire has no clients.
inline emulator::ClientCounts ReadClients(const PortStats& port) {
  emulator::ClientCounts counts;
  for (const auto& [name, member] : emulator::kClientCounts)
    counts.*member = port.Get("wire_" + std::string(name));
  return counts;
}

/// Returns the clients' findings, in requests.
inline Findings FindingsOf(const emulator::ClientCounts& counts) {
  return {.lost = counts.lost + counts.missing(),
          .corrupted = counts.wrong,
          .duplicated = counts.duplicated};
}

/// Returns the latency statistics of correct answers in microseconds, computed from the wire's
/// statistics wire_client_mean_ns, wire_client_p50_ns, …
inline nlohmann::ordered_json ClientLatency(const PortStats& port) {
  const auto us = [&](const char* name) { return host::Us(port.Get(name)); };
  return {{"count", port.Get("wire_client_answered")}, {"mean", us("wire_client_mean_ns")},
          {"p50", us("wire_client_p50_ns")},           {"p99", us("wire_client_p99_ns")},
          {"p99.9", us("wire_client_p999_ns")},        {"max", us("wire_client_max_ns")}};
}

}  // namespace sluice::runtime
