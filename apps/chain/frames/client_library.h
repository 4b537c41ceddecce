// SPDX-License-Identifier: BSD-3-Clause
//
// A wire of chain clients, for wire=library:libsluice_chain_wire.so+OPTIONS. The clients' counters
// are part of the wire's statistics.
//
//   traffic=KIND        as in --traffic
//   options=OPTIONS     options of the traffic, with ';' in place of ','
//   outstanding=N  messages=N (per flow; 0: unlimited)  timeout_ns=N
//   flow=PORT:LONGEST   once per flow, in order: UDP port, and maximum bytes of a message
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::chain_app {

struct ClientOptions {
  struct Flow {
    uint16_t port = 0;
    uint32_t longest = 0;
  };
  std::string traffic;
  std::string traffic_options;
  uint32_t outstanding = 64;
  uint64_t messages = 0;
  uint64_t timeout_ns = 2'000'000'000;
  std::vector<Flow> flows;
};

/// Formats the options as described above. Returns nullopt if the traffic's options contain a
/// character that is not allowed in wire options.
[[gnu::visibility("default")]] std::optional<std::string> ClientOptionsText(
    const ClientOptions& options);
/// Parses the options described above. Returns nullopt and sets `error` if an option is invalid.
[[gnu::visibility("default")]] std::optional<ClientOptions> ReadClientOptions(std::string_view text,
                                                                              std::string* error);

/// Stops the clients in this process from sending new messages. May be called by any thread.
[[gnu::visibility("default")]] void StopClients();
bool ClientsStopped();

}  // namespace sluice::chain_app
