// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "check.h"
#include "choices.h"
#include "engine/telemetry/export/ipfix_encoder.h"
#include "targets.h"
#include "telemetry/ipfix_decoder.h"

namespace sluice::fuzz {
namespace {

using namespace engine::telemetry;
using test::IpfixDecoder;

/// Returns arbitrary bits as a double, including infinities and NaNs.
double Double(Choices& choices) { return std::bit_cast<double>(choices.Word64()); }

EpochReport AnyReport(Choices& choices, const KeySpec& spec) {
  EpochReport report;
  report.start_ns = choices.Word64();
  report.end_ns = choices.Word64();
  report.total = {choices.Word64(), choices.Word64()};
  KeyReport& key = report.keys.emplace_back();
  key.spec = spec;
  const uint32_t flows = choices.Byte();
  for (uint32_t i = 0; i < flows && !choices.empty(); ++i) {
    packet::FlowKey tuple;
    tuple.ip_version = (choices.Byte() & 1) != 0 ? 6 : 4;
    tuple.source[0] = choices.Byte();
    tuple.destination[tuple.ip_version == 6 ? 15 : 3] = choices.Byte();
    tuple.source_port = static_cast<uint16_t>(i);
    tuple.protocol = choices.Byte();
    key.heavy_hitters.push_back({.key = spec.Of(tuple),
                                 .packets = {Double(choices), Double(choices)},
                                 .bytes = {Double(choices), Double(choices)},
                                 .exact = {}});
  }
  return report;
}

bool IsNearestCount(uint64_t count, double value) {
  if (std::isnan(value) || value <= 0) return count == 0;
  if (value >= 0x1p64) return count == UINT64_MAX;
  return std::abs(static_cast<double>(count) - value) <= std::max(0.5, value * 0x1p-52);
}

/// Checks that `records` contain the flows and limits of `key` in the encoder's order: IPv4 before
/// IPv6.
void CheckRecords(const KeyReport& key, std::span<const IpfixDecoder::Record> records) {
  std::vector<const FlowRecord*> flows;
  size_t bounded = 0;
  for (const uint8_t ip_version : {uint8_t{4}, uint8_t{6}}) {
    for (const FlowRecord& flow : key.heavy_hitters) {
      if (flow.key.ip_version != ip_version) continue;
      flows.push_back(&flow);
      bounded += (flow.packets.bound > 0) + (flow.bytes.bound > 0);
    }
  }
  FUZZ_CHECK(records.size() == 1 + flows.size() + bounded);
  FUZZ_CHECK(records.front().set == 259);
  std::set<uint64_t> ids;
  for (size_t i = 0; i < flows.size(); ++i) {
    const IpfixDecoder::Record& record = records[1 + i];
    FUZZ_CHECK(record.set == (flows[i]->key.ip_version == 4 ? 256 : 257));
    FUZZ_CHECK(IsNearestCount(record.Number(2), flows[i]->packets.value));
    FUZZ_CHECK(IsNearestCount(record.Number(352), flows[i]->bytes.value));
    FUZZ_CHECK(ids.insert(record.Number(148)).second);
  }
  for (const IpfixDecoder::Record& record : records.subspan(1 + flows.size())) {
    FUZZ_CHECK(record.set == 258 && ids.contains(record.Number(148)));
    FUZZ_CHECK(record.Number(303) == 2 || record.Number(303) == 352);
    FUZZ_CHECK(!(record.Float(337) < 0));
  }
}

}  // namespace

void TelemetryIpfix(const uint8_t* data, size_t size) {
  Choices choices(data, size);
  KeySpec spec;
  spec.kind = static_cast<KeyKind>(choices.Byte() % 3);
  if (spec.kind != KeyKind::kFiveTuple) {
    spec.ipv4_bits = choices.Byte() % 33;
    spec.ipv6_bits = choices.Byte() % 129;
  }
  std::vector<uint8_t> room(choices.Byte() * 16u);
  IpfixEncoder encoder({.domain = static_cast<uint32_t>(choices.Word64()),
                        .template_refresh_s = choices.Byte(),
                        .clock_unix_ns = choices.Word64()});
  IpfixDecoder decoder;
  for (int round = 0; round < 3; ++round) {
    const EpochReport report = AnyReport(choices, spec);
    encoder.Begin(report, 0, static_cast<uint32_t>(choices.Word64()));
    std::vector<IpfixDecoder::Record> records;
    for (auto message = encoder.Next(room); !message.empty(); message = encoder.Next(room)) {
      FUZZ_CHECK(message.size() <= room.size());
      // A copy of the exact size, so that sanitizers detect reads beyond the end.
      const std::vector<uint8_t> exact(message.begin(), message.end());
      FUZZ_CHECK(decoder.Read(exact, &records).empty());
    }
    if (room.size() < IpfixEncoder::kLeastRoomBytes) {
      FUZZ_CHECK(records.empty());
    } else {
      CheckRecords(report.keys[0], records);
    }
  }
}

}  // namespace sluice::fuzz
