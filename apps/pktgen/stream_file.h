// SPDX-License-Identifier: BSD-3-Clause
//
// The file of --streams: JSON, comments allowed; streams.schema.json and README.md define its
// format. Every error names the location, such as `streams[1].ipv4.source`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pktgen/stream.h"

namespace sluice::pktgen {

/// Parses `text`, and loads captures. Returns nullopt, with one line per error in `errors`, if it
/// does not describe streams, or two streams have the same name.
std::optional<std::vector<engine::pktgen::StreamSpec>> ParseStreams(
    std::string_view text, std::vector<std::string>* errors);

/// Reads the file at `path`, and parses it like ParseStreams.
std::optional<std::vector<engine::pktgen::StreamSpec>> ReadStreams(
    const std::string& path, std::vector<std::string>* errors);

}  // namespace sluice::pktgen
