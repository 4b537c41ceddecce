// SPDX-License-Identifier: BSD-3-Clause
//
// The file of --streams: JSON, comments allowed, its format in streams.schema.json and README.md.
// Every error names the place, as in `streams[1].ipv4.source`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pktgen/stream.h"

namespace sluice::pktgen {

/// Reads `text`. Nothing, with a line in `errors` for everything that is wrong, if it does not
/// describe streams, or two have one name. Captures are loaded.
std::optional<std::vector<engine::pktgen::StreamSpec>> ParseStreams(
    std::string_view text, std::vector<std::string>* errors);

/// The same of a file.
std::optional<std::vector<engine::pktgen::StreamSpec>> ReadStreams(
    const std::string& path, std::vector<std::string>* errors);

}  // namespace sluice::pktgen
