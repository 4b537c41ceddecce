// SPDX-License-Identifier: BSD-3-Clause
//
// Hand-made reports for exporter tests.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/telemetry/epoch_report.h"

namespace sluice::test {

inline packet::FlowKey Ipv4Flow(uint8_t last, uint16_t port, uint8_t protocol) {
  packet::FlowKey key;
  key.source = {10, 0, 0, last};
  key.destination = {192, 0, 2, 80};
  key.source_port = port;
  key.destination_port = 443;
  key.protocol = protocol;
  key.ip_version = 4;
  return key;
}

inline packet::FlowKey Ipv6Flow(uint8_t last) {
  packet::FlowKey key;
  key.source = {0x20, 0x01, 0x0d, 0xb8};
  key.source[15] = last;
  key.destination = {0x20, 0x01, 0x0d, 0xb8, 0xff};
  key.source_port = 53;
  key.destination_port = 5353;
  key.protocol = 17;
  key.ip_version = 6;
  return key;
}

/// The reports' clock started at 2023-11-14 22:13:20 UTC.
inline constexpr uint64_t kClockUnixNs = 1'700'000'000'000'000'000;

/// Returns a report for epoch 7, from second 7 to 8. It contains 5-tuples (an estimate, a count
/// above 32 bits, and an exact count), sources, and destination prefixes.
inline engine::telemetry::EpochReport SmallReport() {
  using namespace engine::telemetry;
  EpochReport report;
  report.number = 7;
  report.start_ns = 7'000'000'000;
  report.end_ns = 8'000'000'000;
  report.workers = 2;
  report.total = {.pkts = 10'000'000'000, .bytes = 640'000'000'000};
  report.other_pkts = {12, 3};
  report.least_probability = 0.01;
  report.last_probability = 0.5;
  report.keys.resize(3);
  report.keys[0].heavy_hitters = {
      {Ipv4Flow(1, 1024, 6),
       {6e9, 1000},
       {4e11, 70'000},
       Traffic{5'999'999'500, 399'999'999'000},
       CountedBy::kBoth},
      {Ipv6Flow(2), {2500.4, 100}, {160'000, 6000}, {}},
      {Ipv4Flow(3, 1025, 17), {40, 0}, {4000, 0}, {}, CountedBy::kTable}};
  report.keys[0].changes = {{Ipv4Flow(3, 1025, 17), 1000, 40, {-960, 5.5}}};
  report.keys[0].distinct_flows = Range{1000, 900, 1200};
  report.keys[0].entropy = Range{3.25, 3, 3.5};
  report.keys[1].spec = {KeyKind::kSource, 32, 128};
  report.keys[1].heavy_hitters = {
      {report.keys[1].spec.Of(Ipv4Flow(1, 1024, 6)), {100, 1}, {6000, 60}, {}}};
  report.keys[2].spec = {KeyKind::kDestination, 24, 64};
  report.keys[2].heavy_hitters = {
      {report.keys[2].spec.Of(Ipv4Flow(1, 1024, 6)), {100, 1}, {6000, 60}, {}},
      {report.keys[2].spec.Of(Ipv6Flow(2)), {70, 1}, {5000, 60}, {}}};
  return report;
}

/// Returns a report with only 5-tuples, which need several messages.
inline engine::telemetry::EpochReport LargeReport(uint32_t flows) {
  engine::telemetry::EpochReport report = SmallReport();
  report.keys.resize(1);
  report.keys[0].heavy_hitters.clear();
  for (uint32_t i = 0; i < flows; ++i) {
    const auto port = static_cast<uint16_t>(1024 + i);
    report.keys[0].heavy_hitters.push_back(
        {Ipv4Flow(static_cast<uint8_t>(i), port, 17), {1000.0 + i, 10}, {64'000.0 + i, 640}, {}});
  }
  return report;
}

}  // namespace sluice::test
