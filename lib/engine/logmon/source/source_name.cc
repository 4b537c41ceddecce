// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/source/source_name.h"

#include <arpa/inet.h>

#include <string_view>

namespace sluice::engine::logmon {

AddressChars AddressText(const packet::FlowKey& flow) {
  AddressChars text{};
  inet_ntop(flow.ip_version == 6 ? AF_INET6 : AF_INET, flow.source.data(), text.data(),
            text.size());
  return text;
}

std::string SourceName(const Source& source) {
  const packet::FlowKey& flow = source.flow;
  const std::string address = AddressText(flow).data();
  if (source.transport == Transport::kSyslog) return "syslog " + address;
  const std::string_view kind = source.transport == Transport::kTcp ? "tcp " : "lines ";
  const bool ipv6 = flow.ip_version == 6;
  return std::string(kind) + (ipv6 ? "[" + address + "]" : address) + ":" +
         std::to_string(flow.source_port);
}

}  // namespace sluice::engine::logmon
