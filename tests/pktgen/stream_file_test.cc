// SPDX-License-Identifier: BSD-3-Clause
//
// Tests stream files: the parsed contents, and errors with their location.
#include "stream_file.h"

#include <gtest/gtest.h>

#include "packet/ethernet.h"
#include "settings.h"

namespace sluice::pktgen {
namespace {

using engine::pktgen::kNever;
using engine::pktgen::kPsPerSecond;
using engine::pktgen::Phase;
using engine::pktgen::Rate;
using engine::pktgen::StreamSpec;
using Value = engine::pktgen::Field::Value;

StreamSpec Only(const std::string& members) {
  std::vector<std::string> errors;
  const auto streams = ParseStreams(R"({"streams": [{)" + members + "}]}", &errors);
  EXPECT_TRUE(errors.empty()) << errors[0];
  return streams && streams->size() == 1 ? (*streams)[0] : StreamSpec();
}

std::string WrongWith(const std::string& text) {
  std::vector<std::string> errors;
  EXPECT_FALSE(ParseStreams(text, &errors));
  return errors.empty() ? "nothing" : errors[0];
}

TEST(PktgenStreamFile, AnEmptyStreamIsTheDefault) {
  const StreamSpec stream = Only("");
  EXPECT_EQ(stream.name, "stream0");
  EXPECT_EQ(stream.phases, (std::vector<Phase>{{0, kNever, {Rate::Unit::kPackets, 1e6}}}));
  EXPECT_EQ(stream.sizes.At(0), Value{64});
}

TEST(PktgenStreamFile, SaysEverythingOfAStream) {
  const StreamSpec stream = Only(R"(
      "name": "web",  // A comment.
      "rate": "80%", "arrivals": "poisson", "frames": 1000, "seed": 9, "frame_size": [128, 1518],
      "ethernet": {"source": "02:00:00:00:00:09",
                   "destination": {"from": "02:00:00:00:00:0a", "to": "02:00:00:00:00:0d"}},
      "vlans": [{"id": 7, "service": true}, {"id": {"from": 10, "to": 20, "step": 5}, "priority": 6}],
      "ipv6": {"source": ["2001:db8::1", "2001:db8::2"], "destination": "2001:db8::ffff:0",
               "hops": 3, "service": 8},
      "tcp": {"source_port": {"from": 1000, "to": 2000, "random": true, "seed": 4},
              "destination_port": 443, "flags": 2})");
  EXPECT_EQ(stream.name, "web");
  EXPECT_EQ(stream.phases, (std::vector<Phase>{{0, kNever, {Rate::Unit::kPercent, 80}}}));
  EXPECT_EQ(stream.arrivals, engine::workload::Arrivals::kPoisson);
  EXPECT_EQ(stream.frames, 1000u);
  EXPECT_EQ(stream.seed, 9u);
  EXPECT_EQ(stream.sizes.At(1), Value{1518});
  const auto& headers = stream.headers;
  EXPECT_EQ(headers.source_mac.At(5), Value{0x0200'0000'0009});
  EXPECT_EQ(headers.destination_mac.At(5), Value{0x0200'0000'000b});
  ASSERT_EQ(headers.tags.size(), 2u);
  EXPECT_EQ(headers.tags[0].ethertype, packet::kEtherTypeQinQ);
  EXPECT_EQ(headers.tags[1].id.At(2), Value{20});
  EXPECT_EQ(headers.tags[1].priority, 6);
  EXPECT_EQ(headers.ip_version, 6);
  EXPECT_EQ(headers.source.At(1), Value{0x2001'0db8'0000'0000} << 64 | 2);
  EXPECT_EQ(headers.destination.At(0), Value{0x2001'0db8'0000'0000} << 64 | 0xffff'0000);
  EXPECT_EQ(headers.hops, 3);
  EXPECT_EQ(headers.service.At(0), Value{8});
  EXPECT_EQ(headers.protocol, packet::kProtocolTcp);
  EXPECT_TRUE(headers.source_port.is_random());
  EXPECT_EQ(headers.destination_port.At(0), Value{443});
  EXPECT_EQ(headers.tcp_flags, 2);
}

TEST(PktgenStreamFile, ReadsSchedulesOfBothForms) {
  const std::vector<Phase> expected{
      {0, 10 * kPsPerSecond, {Rate::Unit::kPackets, 1e7}},
      {10 * kPsPerSecond, 20 * kPsPerSecond, {Rate::Unit::kPackets, 2e7}}};
  EXPECT_EQ(Only(R"("schedule": "10Mpps:10s,20Mpps:10s")").phases, expected);
  EXPECT_EQ(Only(R"("schedule": [{"start_s": 10, "duration_s": 10, "rate": "20Mpps"},
                                 {"duration_s": 10, "rate": "10Mpps"}])")
                .phases,
            expected);
}

TEST(PktgenStreamFile, ReadsTunnels) {
  const StreamSpec stream = Only(R"("vxlan": {"network": 42, "ipv4": {"source": "192.0.2.1"}},
                                    "ipv4": {"destination": "10.9.8.7"}, "icmp": {"identifier": 5})");
  ASSERT_TRUE(stream.vxlan);
  EXPECT_EQ(stream.vxlan->network.At(0), Value{42});
  EXPECT_EQ(stream.vxlan->outer.source.At(0), Value{0xc000'0201});
  EXPECT_EQ(stream.vxlan->outer.destination_port.At(0), Value{4789});
  EXPECT_EQ(stream.headers.destination.At(0), Value{0x0a09'0807});
  EXPECT_EQ(stream.headers.protocol, packet::kProtocolIcmp);
  // 14 + 20 + 8 + 8 bytes, then 14 + 20 + 8, one byte, the tag and the FCS.
  EXPECT_EQ(stream.least_size(), 113u);
  EXPECT_EQ(stream.sizes.At(0), Value{113});
}

TEST(PktgenStreamFile, NamesThePlaceOfWhatIsWrong) {
  const auto wrong = [](const std::string& members) {
    return WrongWith(R"({"streams": [{}, {)" + members + "}]}");
  };
  const std::pair<std::string, std::string> cases[] = {
      {wrong(R"("rate": "0pps")"), "streams[1].rate: \"0pps\": give a rate above 0, such as "},
      {wrong(R"("rate": "1k", "schedule": "1k:1s")"), "streams[1].schedule: "},
      {wrong(R"("schedule": "1k")"), "streams[1].schedule: "},
      {wrong(R"("schedule": [])"), "streams[1].schedule: "},
      {wrong(R"("schedule": [{"duration_s": 2, "rate": "1k"},
                             {"start_s": 1, "duration_s": 2, "rate": "1k"}])"),
       "streams[1].schedule: the phase that begins at 1.0"},
      {wrong(R"("arrivals": "late")"), "streams[1].arrivals: "},
      {wrong(R"("frame_size": 1519)"), "streams[1].frame_size: "},
      {wrong(R"("frame_size": "big")"), "streams[1].frame_size: "},
      {wrong(R"("ipv4": {"source": "10.0.0.256"})"), "streams[1].ipv4.source: "},
      {wrong(R"("ipv4": {"source": {"from": "10.0.0.2", "to": "10.0.0.1"}})"),
       "streams[1].ipv4.source: "},
      {wrong(R"("ipv4": {"source": []})"), "streams[1].ipv4.source: "},
      {wrong(R"("ipv4": {}, "ipv6": {"source": "::1", "destination": "::2"})"),
       "streams[1].ipv6: "},
      {wrong(R"("ipv6": {"source": "::1"})"), "streams[1].ipv6.destination: is missing"},
      {wrong(R"("ipv4": {"source": "10.0.0.1\u0000.9"})"), "streams[1].ipv4.source: "},
      {wrong(R"("ethernet": {"source": "02:00:00:00:00:01\u0000"})"),
       "streams[1].ethernet.source: "},
      {wrong(R"("ipv4": {"source": {"from": "10.0.0.1", "to": "10.0.0.9", "random": true,
                                    "step": 2}})"),
       "streams[1].ipv4.source: "},
      {wrong(R"("ipv4": {"source": {"from": "10.0.0.1", "to": "10.0.0.9", "seed": 2}})"),
       "streams[1].ipv4.source: "},
      {wrong(R"("ipv4": {"service": 256})"), "streams[1].ipv4.service: give 0 ... 255"},
      {wrong(R"("ipv6": {"source": "::1", "destination": "::2", "service": [0, 300]})"),
       "streams[1].ipv6.service: give 0 ... 255"},
      {wrong(R"("rate": "1\nk\u001b[2J")"), "streams[1].rate: \"1?k?[2J\": "},
      {wrong(R"("udp": {}, "tcp": {})"), "streams[1].tcp: "},
      {wrong(R"("udp": {"source_port": 65536})"), "streams[1].udp: "},
      {wrong(R"("udp": {"flags": 1})"), "streams[1].udp.flags: unknown"},
      {wrong(R"("vlans": [{"id": 4096}])"), "streams[1].vlans[0].id: "},
      {wrong(R"("vlans": [{}, {}, {}])"), "streams[1].vlans: "},
      {wrong(R"("vxlan": {"network": 16777216})"), "streams[1].vxlan.network: "},
      {wrong(R"("vxlan": {"tcp": {}})"), "streams[1].vxlan: "},
      {wrong(R"("pcap": "/nonexistent")"), "streams[1].pcap: "},
      {wrong(R"("pcap": "x", "gaps": "some")"), "streams[1].gaps: "},
      {wrong(R"("loops": 2)"), "streams[1].loops: unknown"},
      {wrong(R"("name": "a b")"), "streams[1].name: "},
      {wrong(R"("name": "stream0")"), "streams[1].name: "},
      {WrongWith(R"({"streams": []})"), "streams: "},
      {WrongWith("{}"), "streams: is missing"},
      {WrongWith("[]"), "the file: "}};
  for (const auto& [found, expected] : cases) {
    EXPECT_TRUE(found.starts_with(expected)) << found << " | " << expected;
  }
}

TEST(PktgenFlags, ReadGapsAndSizes) {
  EXPECT_EQ(ParseGaps("original"), 1.0);
  EXPECT_EQ(ParseGaps("original:0.5"), 0.5);
  for (const char* bad : {"", "none", "original:", "original:0", "original:x", "original:-1",
                          "originally", "original:1e9"}) {
    EXPECT_FALSE(ParseGaps(bad)) << bad;
  }
  EXPECT_EQ(ParseSizes("64,1518", 64, 1)->At(1), Value{1518});
  EXPECT_EQ(ParseSizes("imix", 64, 1)->cycle(), 12u);
  EXPECT_TRUE(ParseSizes("random", 64, 1)->is_random());
  for (const char* bad : {"", "63", "1519", "64,", ",64", "64;65", "big"}) {
    EXPECT_FALSE(ParseSizes(bad, 64, 1)) << bad;
  }
}

}  // namespace
}  // namespace sluice::pktgen
