// SPDX-License-Identifier: BSD-3-Clause
#include "engine/chain/graph.h"

#include <charconv>

namespace sluice::engine::chain {
namespace {

constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

}  // namespace

const Chain* ChainOf(const Graph& graph, FlowMatch flow) {
  for (const Chain& chain : graph.chains) {
    for (const FlowMatch& match : chain.flows) {
      if ((match.protocol == 0 || match.protocol == flow.protocol) &&
          (match.port == 0 || match.port == flow.port)) {
        return &chain;
      }
    }
  }
  return nullptr;
}

std::optional<FlowMatch> ParseFlow(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const std::string_view protocol = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  FlowMatch flow;
  if (protocol == "tcp") {
    flow.protocol = kTcp;
  } else if (protocol == "udp") {
    flow.protocol = kUdp;
  } else if (protocol != "any") {
    return std::nullopt;
  }
  if (port == "*") return flow;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), flow.port);
  if (error != std::errc() || end != port.data() + port.size() || flow.port == 0)
    return std::nullopt;
  return flow;
}

std::string NameOf(FlowMatch flow) {
  const char* const protocol = flow.protocol == kTcp   ? "tcp:"
                               : flow.protocol == kUdp ? "udp:"
                                                       : "any:";
  return protocol + (flow.port == 0 ? "*" : std::to_string(flow.port));
}

}  // namespace sluice::engine::chain
