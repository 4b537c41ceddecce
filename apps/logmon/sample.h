// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic for the embedded NIC: log text on its way to us, as a capture that the NIC's wire
// replays, over and over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/logmon/source/source.h"

namespace sluice::logmon {

struct SampleOptions {
  engine::logmon::Transport transport = engine::logmon::Transport::kSyslog;
  uint16_t port = 514;    ///< To which it is sent.
  uint32_t sources = 16;  ///< Lines go to them in turn; at least 1.
  /// Most bytes of a frame with FCS, 96 to 1518. Syslog sends a line each; the other transports
  /// cut the text of a source where a frame is full.
  uint32_t frame_bytes = 1518;
  /// False: made to be replayed over and over. TCP's streams are there twice, with other sequence
  /// numbers: the same ones again would be bytes sent again.
  bool once = false;
  uint64_t seed = 1;  ///< Of SampleText.
};

/// The text of configs/logmon-sample.json, as it was when this program was built: what is matched
/// without --filters.
extern const std::string_view kSampleFilters;

/// About `bytes` of log lines: accesses in JSON, logins, kernel messages, errors. Invented.
std::string SampleText(uint64_t bytes, uint64_t seed);

/// Writes `text`, lines that LF ends, to `path` as a capture. False, with one line in `error`, if
/// it cannot.
bool WriteSample(const std::string& text, const SampleOptions& options, const std::string& path,
                 std::string* error);

}  // namespace sluice::logmon
