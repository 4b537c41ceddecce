// SPDX-License-Identifier: BSD-3-Clause
#include "explain.h"

#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>

#include <charconv>
#include <vector>

#include "control.h"

namespace sluice::maglev {

namespace {

using engine::maglev::IpAddress;
using engine::maglev::kNobody;
using engine::maglev::Tables;
using engine::maglev::Vip;
using Json = nlohmann::ordered_json;

struct Endpoint {
  IpAddress address;
  uint16_t port = 0;
};

std::optional<Endpoint> ParseEndpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  Endpoint endpoint;
  const auto [end, error] = std::from_chars(port.begin(), port.end(), endpoint.port);
  const auto address = IpAddress::Parse(host);
  if (error != std::errc() || end != port.end() || !address || address->ipv6 != bracketed) {
    return std::nullopt;
  }
  endpoint.address = *address;
  return endpoint;
}

// Describes the cases in which a VIP chooses a backend without the ring.
std::string Caveats(const Vip& vip) {
  std::string text;
  if (vip.connections) text += "; a flow in the connection table stays at its backend";
  if (vip.quic) text += "; a QUIC connection id that names a server takes precedence";
  return text;
}

}  // namespace

std::optional<packet::FlowKey> ParseFlow(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ' ', absl::SkipEmpty());
  if (parts.size() != 3 || (parts[0] != "tcp" && parts[0] != "udp")) return std::nullopt;
  const auto source = ParseEndpoint(parts[1]);
  const auto destination = ParseEndpoint(parts[2]);
  if (!source || !destination || source->address.ipv6 != destination->address.ipv6) {
    return std::nullopt;
  }
  packet::FlowKey flow;
  flow.source = source->address.bytes;
  flow.destination = destination->address.bytes;
  flow.source_port = source->port;
  flow.destination_port = destination->port;
  flow.protocol = parts[0] == "tcp" ? 6 : 17;
  flow.ip_version = source->address.ipv6 ? 6 : 4;
  return flow;
}

Json Explain(const Tables& tables, const packet::FlowKey& flow) {
  const bool ipv6 = flow.ip_version == 6;
  Json answer = {{"epoch", tables.epoch()}};
  const auto end = [&](std::string_view verdict, const std::string& why) {
    answer["verdict"] = verdict;
    answer["why"] = why;
    return answer;
  };
  const IpAddress destination{flow.destination, ipv6};
  const Vip* const vip =
      tables.index().Find(destination, __builtin_bswap16(flow.destination_port), flow.protocol);
  if (vip == nullptr) {
    return tables.index().Covers(destination)
               ? end("drop",
                     "unknown_protocol: a VIP has this address, but not this protocol and port")
               : end("pass", "no VIP has this destination: passed to the exception port");
  }
  answer["vip"] = tables.VipName(vip->index);
  answer["profile"] = ProfileName(vip->rule.profile);
  uint32_t slot = 0;
  const uint16_t by_source = tables.BackendBySource(*vip, flow);
  const uint16_t index = by_source != kNobody ? by_source : tables.BackendOf(*vip, flow, &slot);
  if (index == kNobody) {
    return end("drop", "no_backend: every backend of the VIP is down, drained or has weight 0");
  }
  const engine::maglev::Backend& backend = tables.backends()[index];
  if (by_source == kNobody) {
    answer["slot"] = slot;
    answer["slots"] = vip->ring.size();
  }
  answer["backend"] = tables.BackendName(index);
  answer["address"] = backend.address.ToString();
  answer["state"] = StateName(backend.state);
  answer["encapsulation"] = EncapsulationName(vip->encapsulation);
  if (by_source != kNobody) {
    return end("forward",
               "sources: the VIP assigns a prefix of this source to this backend" + Caveats(*vip));
  }
  return end("forward", absl::StrFormat("the ring: slot %d of %d belongs to this backend%s", slot,
                                        vip->ring.size(), Caveats(*vip)));
}

std::string AsLines(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    absl::StrAppendFormat(&text, "%-14s %s\n", name,
                          value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

}  // namespace sluice::maglev
