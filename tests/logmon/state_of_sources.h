// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the memory that a monitor uses for sources with unfinished lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>

#include "engine/logmon/monitor.h"
#include "logmon/frames.h"
#include "packet/burst.h"

namespace sluice::test {

/// Memory of a monitor after each source has sent one datagram that ends within a line of `text`.
struct StateOfSources {
  uint32_t sources;
  uint64_t table_bytes;       ///< Memory for the sources and for the pool of pending TCP segments.
  uint64_t unfinished_bytes;  ///< Memory for the unfinished lines.
  uint64_t given_up_lines;    ///< Number of lines that were dropped because of a lack of memory.
  uint64_t bytes() const { return table_bytes + unfinished_bytes; }
};

inline StateOfSources MeasureState(const engine::logmon::RuleSet& rules, std::string_view text,
                                   uint32_t sources) {
  using engine::logmon::MatchedLine, engine::logmon::Source, engine::logmon::SyslogHeader;
  constexpr uint16_t kPort = 5140;
  constexpr size_t kDatagram = 1472;
  struct NoSink {
    void OnMatch(const Source&, const SyslogHeader*, const MatchedLine&, uint64_t) {}
  };
  engine::logmon::MonitorOptions options;
  options.line_ports = {kPort};
  options.max_sources = sources;
  engine::logmon::Monitor<NoSink> monitor(rules, options, {}, 1);
  std::mt19937_64 random(1);
  for (uint32_t sender = 0; sender < sources; ++sender) {
    Bytes bytes = MakeFrame({.text = text.substr(random() % (text.size() - kDatagram), kDatagram),
                             .sender = sender,
                             .destination_port = kPort});
    packet::Frame frame{bytes.data(), static_cast<uint32_t>(bytes.size()), 0, 0};
    packet::ProcessFrame(monitor, frame, 0);
  }
  return {monitor.sources(), monitor.memory_bytes(), monitor.scanner().unfinished_bytes(),
          monitor.scan_counters().no_memory_lines};
}

}  // namespace sluice::test
