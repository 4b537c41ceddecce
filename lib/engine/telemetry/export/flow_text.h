// SPDX-License-Identifier: BSD-3-Clause
//
// Text representations of flows.
#pragma once

#include <cstdint>
#include <string>

#include "engine/telemetry/key_spec.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// Returns an address such as "10.0.0.1" or "fd00::1" (RFC 5952). `ip_version` is 4 or 6.
std::string AddressText(const packet::Ipv6Address& address, uint8_t ip_version);

/// Returns the address by which `spec` distinguishes flows, with a length if it is a prefix
/// ("10.0.0.0/24"). Empty if `spec` is for 5-tuples.
std::string PrefixText(const KeySpec& spec, const packet::FlowKey& key);

/// Returns e.g. "tcp 10.0.0.1:1024 > 10.0.0.2:80", "udp [fd00::1]:53 > [fd00::2]:53", "icmp
/// 10.0.0.1 > 10.0.0.2", or the result of PrefixText.
std::string FlowText(const KeySpec& spec, const packet::FlowKey& key);

}  // namespace sluice::engine::telemetry
