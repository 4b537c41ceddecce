// SPDX-License-Identifier: BSD-3-Clause
//
// The --streams file: JSON with comments, in the format that streams.schema.json and README.md
// define. Every error names the location, such as `streams[1].ipv4.source`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pktgen/stream.h"

namespace sluice::pktgen {

/// Parses `text`, and loads captures. If `text` does not describe streams, or two streams have the
/// same name, returns nullopt and adds one line per error to `errors`.
std::optional<std::vector<engine::pktgen::StreamSpec>> ParseStreams(
    std::string_view text, std::vector<std::string>* errors);

/// Reads the file at `path`, and parses it like ParseStreams.
std::optional<std::vector<engine::pktgen::StreamSpec>> ReadStreams(
    const std::string& path, std::vector<std::string>* errors);

}  // namespace sluice::pktgen
