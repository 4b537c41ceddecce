// SPDX-License-Identifier: BSD-3-Clause
#include "bindings.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace sluice::rpc_app {
namespace {

/// The first address of each network; empty if there is none.
struct Addresses {
  std::string v4, v6;
};

Addresses AddressesOf(std::string_view list) {
  Addresses found;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, comma);
    std::string& kind = one.find(':') == std::string_view::npos ? found.v4 : found.v6;
    if (kind.empty()) kind = one;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  // Without addresses, the bindings contain the wildcard address, as they do for servers that
  // listen on all addresses.
  if (found.v4.empty() && found.v6.empty()) found.v4 = "0.0.0.0";
  return found;
}

}  // namespace

void PublishToPortMapper(const std::string& list, const std::vector<ServiceFiles>& services,
                         const std::vector<rpc::CompiledX>& compiled, Served served) {
  const Addresses addresses = AddressesOf(list);
  std::string text;
  for (size_t i = 0; i < compiled.size(); ++i) {
    const uint16_t port = services[i].port;
    // Program and version of the previous procedure. Procedures are sorted by program and version.
    uint64_t last = 0;
    for (const auto& procedure : compiled[i].table.procedures) {
      const uint64_t version = uint64_t{procedure.program} << 32 | procedure.version;
      if (std::exchange(last, version) == version) continue;
      const auto add = [&](const std::string& address, const char* network) {
        if (address.empty()) return;
        if (!text.empty()) text += ' ';
        text += std::to_string(procedure.program) + ':' + std::to_string(procedure.version) + ':' +
                network + ':' + address + '.' + std::to_string(port >> 8) + '.' +
                std::to_string(port & 0xff);
      };
      if (served != Served::kTcp) {
        add(addresses.v4, "udp");
        add(addresses.v6, "udp6");
      }
      if (served == Served::kTcp ||
          (served == Served::kUdpAndPortMapperTcp && IsPortMapper(services[i]))) {
        add(addresses.v4, "tcp");
        add(addresses.v6, "tcp6");
      }
    }
  }
  setenv("SLUICE_RPC_PROGRAMS", text.c_str(), 1);
}

}  // namespace sluice::rpc_app
