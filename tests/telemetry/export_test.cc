// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the exporters with hand-made reports: IPFIX as read by a strict collector, and CSV.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/telemetry/export/csv.h"
#include "engine/telemetry/export/flow_text.h"
#include "engine/telemetry/export/ipfix_encoder.h"
#include "export_reports.h"
#include "ipfix_decoder.h"

namespace sluice::engine::telemetry {
namespace {

using test::IpfixDecoder;
using Message = std::vector<uint8_t>;
using Records = std::vector<IpfixDecoder::Record>;

constexpr IpfixEncoder::Options kOptions{.domain = 40, .clock_unix_ns = test::kClockUnixNs};

std::vector<Message> Encode(IpfixEncoder& encoder, const EpochReport& report, size_t key = 0,
                            size_t room_bytes = 1452, uint32_t now_s = 1'700'000'009) {
  std::vector<uint8_t> room(room_bytes);
  std::vector<Message> messages;
  encoder.Begin(report, key, now_s);
  for (;;) {
    const std::span<const uint8_t> message = encoder.Next(room);
    if (message.empty()) return messages;
    messages.emplace_back(message.begin(), message.end());
  }
}

Records Decode(IpfixDecoder& decoder, const std::vector<Message>& messages) {
  Records records;
  for (const Message& message : messages) EXPECT_EQ(decoder.Read(message, &records), "");
  return records;
}

Records Decoded(const EpochReport& report, size_t key = 0) {
  IpfixEncoder encoder(kOptions);
  IpfixDecoder decoder;
  return Decode(decoder, Encode(encoder, report, key));
}

Records Of(const Records& records, uint16_t set) {
  Records chosen;
  std::copy_if(records.begin(), records.end(), std::back_inserter(chosen),
               [set](const auto& record) { return record.set == set; });
  return chosen;
}

TEST(Ipfix, AFlowRecordHasKeyCountsAndTheTimeOfItsEpoch) {
  const Records flows = Of(Decoded(test::SmallReport()), 256);
  ASSERT_EQ(flows.size(), 2u);
  const auto& flow = flows[0];
  EXPECT_EQ(flow.scope_fields, 0);
  EXPECT_EQ(flow.Number(8), 0x0a000001u);                             // sourceIPv4Address
  EXPECT_EQ(flow.Number(12), 0xc0000250u);                            // destinationIPv4Address
  EXPECT_EQ(flow.Number(7), 1024u);                                   // sourceTransportPort
  EXPECT_EQ(flow.Number(11), 443u);                                   // destinationTransportPort
  EXPECT_EQ(flow.Number(4), 6u);                                      // protocolIdentifier
  EXPECT_EQ(flow.Number(2), 6'000'000'000u);                          // packetDeltaCount
  EXPECT_EQ(flow.Number(352), 400'000'000'000u);                      // layer2OctetDeltaCount
  EXPECT_EQ(flow.Number(1), 400'000'000'000u - 14 * 6'000'000'000u);  // octetDeltaCount
  EXPECT_EQ(flow.Number(152), 1'700'000'007'000u);                    // flowStartMilliseconds
  EXPECT_EQ(flow.Number(153), 1'700'000'008'000u);                    // flowEndMilliseconds
}

TEST(Ipfix, Ipv6FlowsHaveATemplateOfTheirOwn) {
  const Records flows = Of(Decoded(test::SmallReport()), 257);
  ASSERT_EQ(flows.size(), 1u);
  const packet::FlowKey key = test::Ipv6Flow(2);
  EXPECT_EQ(flows[0].values.at(27), std::vector(key.source.begin(), key.source.end()));
  EXPECT_EQ(flows[0].values.at(28), std::vector(key.destination.begin(), key.destination.end()));
  EXPECT_EQ(flows[0].Number(2), 2500u);  // Rounded to the nearest integer.
}

TEST(Ipfix, BoundsAreConfidenceLimitsScopedToAFlowAndAnElement) {
  const EpochReport report = test::SmallReport();
  const Records records = Decoded(report);
  const Records limits = Of(records, 258);
  ASSERT_EQ(limits.size(), 4u);  // The limits of two flows; the third flow is exact.
  const IpfixDecoder::Record flow = Of(records, 256).at(0);
  const auto& packets = limits[0];
  EXPECT_EQ(packets.scope_fields, 2);
  EXPECT_EQ(packets.Number(148), flow.Number(148));  // flowId
  EXPECT_EQ(packets.Number(303), 2u);                // informationElementId: packetDeltaCount
  EXPECT_EQ(packets.Float(337), 6e9 - 1000);         // lowerCILimit
  EXPECT_EQ(packets.Float(336), 6e9 + 1000);         // upperCILimit
  EXPECT_EQ(packets.Float(338), 0.95);               // confidenceLevel
  EXPECT_EQ(limits[1].Number(303), 352u);
  EXPECT_EQ(limits[1].Float(336), 4e11 + 70'000);
}

TEST(Ipfix, FlowIdsAreNeverUsedTwice) {
  const EpochReport report = test::SmallReport();
  IpfixEncoder encoder(kOptions);
  IpfixDecoder decoder;
  std::vector<uint64_t> ids;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& record : Decode(decoder, Encode(encoder, report))) {
      if (record.set == 256 || record.set == 257) ids.push_back(record.Number(148));
    }
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids.size(), 9u);
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

TEST(Ipfix, EveryEpochHasATotalScopedToTheObservationDomain) {
  const Records totals = Of(Decoded(test::SmallReport()), 259);
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].scope_fields, 1);
  EXPECT_EQ(totals[0].Number(149), 40u);  // observationDomainId
  EXPECT_EQ(totals[0].Number(2), 10'000'000'000u);
  EXPECT_EQ(totals[0].Number(352), 640'000'000'000u);
}

TEST(Ipfix, WholeAddressesAreAddresses) {
  const Records flows = Of(Decoded(test::SmallReport(), 1), 256);
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].Number(8), 0x0a000001u);
  EXPECT_FALSE(flows[0].values.contains(12));
  EXPECT_FALSE(flows[0].values.contains(7));
}

TEST(Ipfix, PartsOfAddressesArePrefixesWithALength) {
  const Records records = Decoded(test::SmallReport(), 2);
  const auto flow4 = Of(records, 256).at(0);
  EXPECT_EQ(flow4.Number(45), 0xc0000200u);  // destinationIPv4Prefix
  EXPECT_EQ(flow4.Number(13), 24u);          // destinationIPv4PrefixLength
  EXPECT_FALSE(flow4.values.contains(12));
  const auto flow6 = Of(records, 257).at(0);
  EXPECT_EQ(flow6.values.at(169),  // destinationIPv6Prefix
            (std::vector<uint8_t>{0x20, 1, 0x0d, 0xb8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(flow6.Number(30), 64u);  // destinationIPv6PrefixLength
}

TEST(Ipfix, NoMessageIsLongerThanItsRoomAndNoRecordIsLost) {
  const EpochReport report = test::LargeReport(1000);
  for (const size_t room : {IpfixEncoder::kLeastRoomBytes, size_t{512 - 28}, size_t{1452},
                            size_t{65535}, size_t{200'000}}) {
    IpfixEncoder encoder(kOptions);
    IpfixDecoder decoder;
    const std::vector<Message> messages = Encode(encoder, report, 0, room);
    for (const Message& message : messages) {
      EXPECT_LE(message.size(), std::min<size_t>(room, 65535));
    }
    const Records records = Decode(decoder, messages);
    EXPECT_EQ(Of(records, 256).size(), 1000u);
    EXPECT_EQ(Of(records, 258).size(), 2000u);
    uint64_t packets = 0;
    for (const auto& flow : Of(records, 256)) packets += flow.Number(2);
    EXPECT_EQ(packets, 1000u * 1000 + 999 * 1000 / 2);
  }
}

TEST(Ipfix, RoomForLessThanARecordGivesNothing) {
  const EpochReport report = test::SmallReport();
  IpfixEncoder encoder(kOptions);
  EXPECT_TRUE(Encode(encoder, report, 0, IpfixEncoder::kLeastRoomBytes - 1).empty());
  EXPECT_TRUE(Encode(encoder, report, 0, 0).empty());
}

TEST(Ipfix, TemplatesAreRepeatedWhenTheirTimeIsOver) {
  const EpochReport report = test::SmallReport();
  IpfixEncoder encoder(kOptions);
  const auto has_templates = [&](uint32_t now_s) {
    return Encode(encoder, report, 0, 1452, now_s).front()[17] == 2;  // The id of the first set.
  };
  EXPECT_TRUE(has_templates(1000));
  EXPECT_FALSE(has_templates(1009));
  EXPECT_TRUE(has_templates(1010));
  EXPECT_FALSE(has_templates(1011));
  EXPECT_TRUE(has_templates(500));  // The clock was set back.
}

TEST(Ipfix, SequenceNumbersCountDataRecordsAcrossReports) {
  const EpochReport report = test::LargeReport(100);
  IpfixEncoder encoder(kOptions);
  IpfixDecoder decoder;  // This decoder rejects messages that are out of sequence.
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    Decode(decoder, Encode(encoder, report, 0, 500, 1000 + epoch));
    EXPECT_EQ(decoder.export_time_s, 1000 + epoch);
    EXPECT_EQ(decoder.domain(), 40u);
  }
}

TEST(Ipfix, AnEstimateThatIsNoCountIsTheNearestOne) {
  EpochReport report = test::LargeReport(4);
  auto& flows = report.keys[0].heavy_hitters;
  flows[0].packets = {-5, 10};
  flows[1].packets = {std::nan(""), 0};
  flows[2].packets = {1e30, std::numeric_limits<double>::infinity()};
  flows[3].bytes = {3, 1};  // This is less than the headers of 1003 packets.
  const Records records = Decoded(report);
  const Records counts = Of(records, 256);
  EXPECT_EQ(counts[0].Number(2), 0u);
  EXPECT_EQ(counts[1].Number(2), 0u);
  EXPECT_EQ(counts[2].Number(2), UINT64_MAX);
  EXPECT_EQ(counts[3].Number(1), 0u);
  EXPECT_EQ(Of(records, 258)[0].Float(337), 0);  // The lower limit is at least zero.
}

TEST(Ipfix, AReportWithoutFlowsStillHasItsTotal) {
  EpochReport report = test::SmallReport();
  report.keys[0] = {};
  const Records records = Decoded(report);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].set, 259);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\r\n", at);
    EXPECT_NE(end, std::string::npos) << "RFC 4180: lines end with CRLF";
    if (end == std::string::npos) break;
    lines.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return lines;
}

bool Has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST(Csv, OneNumberARow) {
  const auto lines = Lines(CsvRows(test::SmallReport(), test::kClockUnixNs));
  const std::string head = "7,1700000007000000000,1700000008000000000,";
  EXPECT_TRUE(Has(lines, head + ",packets,,,,,,10000000000,10000000000,10000000000,10000000000,"));
  EXPECT_TRUE(Has(lines, head + ",other_packets,,,,,,12,9,15,,"));
  EXPECT_TRUE(Has(lines, head + ",probability,,,,,,0.5,0.01,0.5,,"));
  EXPECT_TRUE(Has(lines, head + "5-tuple,packets,10.0.0.1,192.0.2.80,6,1024,443,6000000000,"
                                "5999999000,6000001000,5999999500,both"));
  EXPECT_TRUE(Has(lines, head + "5-tuple,packets,2001:db8::2,2001:db8:ff00::,17,53,5353,2500.4,"
                                "2400.4,2600.4,,sketch"));
  EXPECT_TRUE(Has(lines, head + "5-tuple,packets,10.0.0.3,192.0.2.80,17,1025,443,40,40,40,,table"));
  EXPECT_TRUE(Has(lines, head + "5-tuple,packets_change,10.0.0.3,192.0.2.80,17,1025,443,-960,"
                                "-965.5,-954.5,,"));
  EXPECT_TRUE(Has(lines, head + "5-tuple,distinct_flows,,,,,,1000,900,1200,,"));
  EXPECT_TRUE(Has(lines, head + "5-tuple,entropy_bits,,,,,,3.25,3,3.5,,"));
  EXPECT_TRUE(Has(lines, head + "source,bytes,10.0.0.1,,,,,6000,5940,6060,,sketch"));
}

TEST(Csv, AFieldWithACommaIsQuoted) {
  const auto lines = Lines(CsvRows(test::SmallReport(), test::kClockUnixNs));
  EXPECT_TRUE(Has(lines,
                  "7,1700000007000000000,1700000008000000000,\"destination/24,64\","
                  "packets,,192.0.2.0/24,,,,100,99,101,,sketch"));
  EXPECT_EQ(CsvField("plain"), "plain");
  EXPECT_EQ(CsvField("say \"a\",\r\nb"), "\"say \"\"a\"\",\r\nb\"");
}

TEST(Csv, EveryRowHasTheColumnsOfTheHeader) {
  const auto columns = [](const std::string& line) {
    bool quoted = false;
    return std::count_if(line.begin(), line.end(), [&quoted](char c) {
      quoted ^= c == '"';
      return c == ',' && !quoted;
    });
  };
  const auto header = columns(Lines(CsvHeader()).at(0));
  EXPECT_EQ(header, 14);
  for (const std::string& line : Lines(CsvRows(test::SmallReport(), 0))) {
    EXPECT_EQ(columns(line), header) << line;
  }
}

TEST(Csv, WhatIsNoNumberIsEmpty) {
  EpochReport report = test::LargeReport(1);
  report.keys[0].heavy_hitters[0].packets = {std::nan(""), 0};
  EXPECT_NE(CsvRows(report, 0).find("17,1024,443,,,,,sketch\r\n"), std::string::npos);
}

TEST(FlowText, NamesFlowsAsPeopleDo) {
  const KeySpec tuple;
  EXPECT_EQ(FlowText(tuple, test::Ipv4Flow(1, 1024, 6)), "tcp 10.0.0.1:1024 > 192.0.2.80:443");
  EXPECT_EQ(FlowText(tuple, test::Ipv6Flow(2)), "udp [2001:db8::2]:53 > [2001:db8:ff00::]:5353");
  packet::FlowKey echo = test::Ipv4Flow(1, 0, 1);
  echo.destination_port = 0;
  EXPECT_EQ(FlowText(tuple, echo), "icmp 10.0.0.1 > 192.0.2.80");
  echo.protocol = 47;
  EXPECT_EQ(FlowText(tuple, echo), "protocol-47 10.0.0.1 > 192.0.2.80");
  const KeySpec prefix{KeyKind::kDestination, 24, 64};
  EXPECT_EQ(FlowText(prefix, prefix.Of(test::Ipv4Flow(1, 1, 6))), "192.0.2.0/24");
  EXPECT_EQ(FlowText(prefix, prefix.Of(test::Ipv6Flow(2))), "2001:db8:ff00::/64");
  const KeySpec source{KeyKind::kSource, 32, 128};
  EXPECT_EQ(FlowText(source, source.Of(test::Ipv4Flow(1, 1, 6))), "10.0.0.1");
}

}  // namespace
}  // namespace sluice::engine::telemetry
