// SPDX-License-Identifier: BSD-3-Clause
//
// Flows as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "engine/telemetry/key_spec.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// "10.0.0.1", "fd00::1" (RFC 5952). `ip_version` 4 or 6.
std::string AddressText(const packet::Ipv6Address& address, uint8_t ip_version);

/// The address that `spec` tells flows apart by, "10.0.0.0/24" if it is a prefix of one. Empty if
/// `spec` is of 5-tuples.
std::string PrefixText(const KeySpec& spec, const packet::FlowKey& key);

/// "tcp 10.0.0.1:1024 > 10.0.0.2:80", "udp [fd00::1]:53 > [fd00::2]:53", "icmp 10.0.0.1 >
/// 10.0.0.2", or what PrefixText says.
std::string FlowText(const KeySpec& spec, const packet::FlowKey& key);

}  // namespace sluice::engine::telemetry
