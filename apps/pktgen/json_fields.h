// SPDX-License-Identifier: BSD-3-Clause
//
// Header fields in JSON: a value, a list [values] used in turn, {"from", "to", "step"}, or {"from",
// "to", "random": true, "seed"}. Numbers are JSON numbers; addresses are strings.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/json_reader.h"
#include "engine/pktgen/field.h"

namespace sluice::pktgen {

enum class FieldKind : uint8_t { kNumber, kMac, kIpv4, kIpv6 };

/// Reads a header field. Does not change `field` if the member is absent or wrong.
void ReadField(config::ObjectReader& reader, std::string_view key, FieldKind kind,
               engine::pktgen::Field* field);

/// Reads sizes: a field of numbers, or "imix", "random" or a list such as "64,1518"; from `least`
/// to 1518.
void ReadSizes(config::ObjectReader& reader, std::string_view key, uint32_t least, uint64_t seed,
               engine::pktgen::Field* sizes);

}  // namespace sluice::pktgen
