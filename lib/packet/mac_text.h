// SPDX-License-Identifier: BSD-3-Clause
//
// MAC addresses as people write them in configurations.
#pragma once

#include <optional>
#include <string_view>

#include "packet/rewrite.h"

namespace sluice::packet {

/// Reads all of `text` as "02:00:00:00:00:01": six numbers of one or two hexadecimal digits, with
/// ':' or '-' between them. Nothing if it is none.
std::optional<MacAddress> ParseMac(std::string_view text);

}  // namespace sluice::packet
