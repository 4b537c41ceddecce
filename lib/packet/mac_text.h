// SPDX-License-Identifier: BSD-3-Clause
//
// Parses MAC addresses in configurations.
#pragma once

#include <optional>
#include <string_view>

#include "packet/rewrite.h"

namespace sluice::packet {

/// Parses all of `text` as six hexadecimal numbers of one or two digits, separated by ':' or '-',
/// for example "02:00:00:00:00:01". Returns nullopt if `text` has another form.
std::optional<MacAddress> ParseMac(std::string_view text);

}  // namespace sluice::packet
