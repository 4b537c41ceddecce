// SPDX-License-Identifier: BSD-3-Clause
#include "source_name.h"

#include <arpa/inet.h>

#include <array>
#include <string_view>

namespace sluice::logmon {

using engine::logmon::Transport;

std::string SourceName(const engine::logmon::Source& source) {
  const packet::FlowKey& flow = source.flow;
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(flow.ip_version == 6 ? AF_INET6 : AF_INET, flow.source.data(), text.data(),
            text.size());
  const std::string address = text.data();
  if (source.transport == Transport::kSyslog) return "syslog " + address;
  const std::string_view kind = source.transport == Transport::kTcp ? "tcp " : "lines ";
  const bool ipv6 = flow.ip_version == 6;
  return std::string(kind) + (ipv6 ? "[" + address + "]" : address) + ":" +
         std::to_string(flow.source_port);
}

}  // namespace sluice::logmon
