// SPDX-License-Identifier: BSD-3-Clause
//
// The log monitor of one worker: finds log text in frames, puts it in the order of its source,
// matches its lines. A FrameEngine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/logmon/scan/line_scanner.h"
#include "engine/logmon/source/source.h"
#include "packet/frame.h"

namespace sluice::engine::logmon {

struct MonitorOptions {
  std::vector<uint16_t> syslog_ports{514};  ///< UDP destination ports.
  std::vector<uint16_t> line_ports;         ///< UDP destination ports.
  std::vector<uint16_t> tcp_ports;  ///< Destination ports of the observed direction.
  bool pass_on = false;       ///< True: a bump in the wire, every frame is forwarded. False: log
                              ///< text to us is consumed, everything else passed (kPass).
  uint32_t max_sources = 100000;
  uint64_t out_of_order_bytes = 16 << 20;  ///< TCP segments that wait for those before them.
  uint32_t out_of_order_window = 65536;    ///< Bytes ahead of a stream that are kept.
  uint64_t idle_cycles = 0;  ///< A source is forgotten after that; 0: only when room is needed.
  ScanLimits scan;
};

/// `Sink` has  void OnMatch(const Source&, const SyslogHeader*, const MatchedLine&, uint64_t now).
/// The header is null unless the text came as syslog.
template <typename Sink>
class Monitor;

}  // namespace sluice::engine::logmon
