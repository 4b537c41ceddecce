// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic for the embedded NIC: log text in a capture, which the NIC's wire replays repeatedly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/logmon/source/source.h"

namespace sluice::logmon {

struct SampleOptions {
  engine::logmon::Transport transport = engine::logmon::Transport::kSyslog;
  uint16_t port = 514;    ///< Destination port.
  uint32_t sources = 16;  ///< Number of senders, at least 1; they send lines in turn.
  /// Maximum frame size with FCS, 96 to 1518 bytes. Syslog sends one line per frame and truncates
  /// longer lines; the other transports split a source's text wherever a frame is full.
  uint32_t frame_bytes = 1518;
  /// If false, the capture is for repeated replay: it contains each TCP stream twice, with
  /// different sequence numbers, because a second round with the same numbers would be treated as
  /// retransmissions.
  bool once = false;
  uint64_t seed = 1;  ///< Seed for SampleText.
};

/// The text of configs/logmon-sample.json at build time, used without --filters.
extern const std::string_view kSampleFilters;

/// Returns about `bytes` bytes of synthetic log lines: accesses in JSON, logins, kernel messages
/// and errors.
std::string SampleText(uint64_t bytes, uint64_t seed);

/// Writes `text`, lines that end with LF, to `path` as a capture. Returns false and sets `error` on
/// failure.
bool WriteSample(const std::string& text, const SampleOptions& options, const std::string& path,
                 std::string* error);

}  // namespace sluice::logmon
