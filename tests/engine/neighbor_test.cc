// SPDX-License-Identifier: BSD-3-Clause
#include "engine/neighbor/neighbor.h"

#include <gtest/gtest.h>

#include "engine/echo/echo.h"
#include "nic/frame_queue.h"
#include "packet/fixtures.h"
#include "packet/memory_burst.h"
#include "packet/oracle.h"
#include "packet/own_addresses.h"
#include "packet/parse.h"

namespace sluice::engine {
namespace {

using packet::Frame;
using packet::Verdict;
using test::Bytes;
using test::ExactBuffer;

static_assert(packet::FrameEngine<WithNeighbor<ReflectEcho>>);
static_assert(packet::FrameEngine<WithNeighbor<IncrementEcho>>);

constexpr packet::MacAddress kMac{0x02, 0, 0, 0, 0, 0x02};

/// Returns the neighbor engine of the fixtures' destination host.
Neighbor Host() {
  packet::OwnAddresses own(kMac);
  std::string error;
  EXPECT_TRUE(own.Add("192.0.2.1,10.0.0.2,2001:db8::1,fd00::2", &error)) << error;
  return Neighbor(own);
}

struct Answer {
  std::optional<Verdict> verdict;
  Bytes frame;
};

Answer Ask(const Bytes& request, uint32_t tailroom = 8) {
  const ExactBuffer buffer(request, tailroom);
  Frame frame{buffer.data(), buffer.size(), 0, tailroom};
  const Neighbor host = Host();
  const std::optional<Verdict> verdict = host.Process(frame, 0);
  EXPECT_EQ(frame.length + frame.tailroom, buffer.size() + tailroom);
  if (verdict != packet::kForward) {
    EXPECT_EQ(buffer.bytes(), request);  // Unchanged.
  }
  return {verdict, buffer.bytes(frame.length)};
}

/// Returns `frame` with the bytes from `offset` replaced by `hex`.
Bytes With(Bytes frame, size_t offset, std::string_view hex) {
  const Bytes bytes = test::FromHex(hex);
  std::copy(bytes.begin(), bytes.end(), frame.begin() + offset);
  return frame;
}

/// Returns `frame` with a correct ICMP or ICMPv6 checksum.
Bytes Repaired(Bytes frame) {
  const packet::Headers headers = packet::Parse(frame.data(), static_cast<uint32_t>(frame.size()));
  const uint32_t field = headers.L4ChecksumOffset();
  frame[field] = frame[field + 1] = 0;
  const auto checksum = static_cast<uint16_t>(~test::NaiveUpperSum(frame.data(), headers));
  packet::StoreBe16(frame.data() + field, checksum);
  return frame;
}

void ExpectNotMine(const Bytes& request) { EXPECT_EQ(Ask(request).verdict, std::nullopt); }

void ExpectDrop(const Bytes& request, Neighbor::Reason reason) {
  EXPECT_EQ(Ask(request).verdict, packet::Drop(reason)) << Neighbor::kDropReasons[reason];
}

TEST(NeighborArp, AnswersARequest) {
  const Answer answer = Ask(test::kArpRequest);
  EXPECT_EQ(answer.verdict, packet::kForward);
  Bytes expected = test::FromHex(
      "0200000000010200000000020806"
      "0001080006040002"
      "0200000000020a000002"
      "0200000000010a000001");
  expected.resize(60);  // Padding is preserved.
  EXPECT_EQ(answer.frame, expected);
}

TEST(NeighborArp, AnswersAUnicastRequestAndOneBehindATag) {
  EXPECT_EQ(Ask(With(test::kArpRequest, 0, "020000000002")).verdict, packet::kForward);
  const Answer answer = Ask(test::kVlanArp);
  EXPECT_EQ(answer.verdict, packet::kForward);
  EXPECT_EQ(Bytes(answer.frame.begin(), answer.frame.begin() + 26),
            test::FromHex("020000000001020000000002"
                          "81000064"
                          "0806"
                          "0001080006040002"));
}

TEST(NeighborArp, AnswersAProbe) {  // RFC 5227: the sender is 0.0.0.0.
  const Answer answer = Ask(With(test::kArpRequest, 28, "00000000"));
  EXPECT_EQ(answer.verdict, packet::kForward);
  EXPECT_EQ(Bytes(answer.frame.begin() + 38, answer.frame.begin() + 42), Bytes(4, 0));
}

TEST(NeighborArp, LeavesWhatIsNoRequestForUs) {
  ExpectNotMine(With(test::kArpRequest, 38, "0a000003"));     // Another target.
  ExpectNotMine(With(test::kArpRequest, 0, "020000000009"));  // Another MAC address.
  ExpectNotMine(With(test::kArpRequest, 0, "333300000001"));
  ExpectNotMine(With(test::kArpRequest, 20, "0002"));  // A reply.
  ExpectNotMine(With(test::kArpRequest, 14, "0006"));  // IEEE 802 hardware.
  ExpectNotMine(With(test::kArpRequest, 16, "86dd"));  // Not IPv4.
  ExpectNotMine(With(test::kArpRequest, 18, "0804"));  // Wrong lengths.
  ExpectNotMine(With(test::kArpRequest, 18, "0610"));
}

TEST(NeighborArp, RefusesBadSources) {
  ExpectDrop(With(test::kArpRequest, 6, "030000000001"), Neighbor::kBadSource);
  ExpectDrop(With(test::kArpRequest, 22, "ffffffffffff"), Neighbor::kBadSource);
  ExpectDrop(With(test::kArpRequest, 28, "e0000001"), Neighbor::kBadSource);
  ExpectDrop(With(test::kArpRequest, 28, "ffffffff"), Neighbor::kBadSource);
  ExpectDrop(With(test::kArpRequest, 28, "7f000001"), Neighbor::kBadSource);
  ExpectDrop(With(test::kArpRequest, 28, "0a000002"), Neighbor::kBadSource);  // The host's address.
}

TEST(NeighborEcho, AnswersPing) {
  const Answer answer = Ask(test::kPing4);
  EXPECT_EQ(answer.verdict, packet::kForward);
  // TTL 7 → 64 subtracts 0x3900 from the header checksum; type 8 → 0 adds 0x0800.
  EXPECT_EQ(answer.frame, test::FromHex("0200000000010200000000020800"
                                        "4500002e00010000400166cc0a0000020a000001"
                                        "000005fa00010002"
                                        "303132333435363738393a3b3c3d3e3f4041"));
}

TEST(NeighborEcho, AnswersAPingOfZeros) {
  const Answer answer = Ask(test::kPing4Zero);
  EXPECT_EQ(answer.verdict, packet::kForward);
  // The checksum of all-zero data is 0xffff, not 0 (RFC 1624 section 3).
  EXPECT_EQ(Bytes(answer.frame.begin() + 34, answer.frame.begin() + 42),
            test::FromHex("0000ffff00000000"));
}

TEST(NeighborEcho, AnswersPingOverIpv6) {
  const Answer answer = Ask(test::kPing6);
  EXPECT_EQ(answer.verdict, packet::kForward);
  EXPECT_EQ(answer.frame,
            test::FromHex("02000000000102000000000286dd"
                          "60000000001a3a40"
                          "fd000000000000000000000000000002fd000000000000000000000000000001"
                          "81008aa000010002"  // Type 128 → 129 subtracts 0x0100 from 0x8ba0.
                          "303132333435363738393a3b3c3d3e3f4041"));
}

TEST(NeighborEcho, LeavesWhatIsNoRequestForUs) {
  ExpectNotMine(With(test::kPing4, 0, "020000000009"));
  ExpectNotMine(With(test::kPing4, 0, "ffffffffffff"));
  ExpectNotMine(With(test::kPing4, 30, "0a000003"));
  ExpectNotMine(With(test::kPing4, 34, "00"));    // A reply.
  ExpectNotMine(With(test::kPing4, 20, "2000"));  // A fragment.
  ExpectNotMine(With(test::kPing6, 53, "03"));
  ExpectNotMine(With(test::kPing6, 54, "81"));
  for (const Bytes* other : {&test::kUdp4, &test::kTcp4Options, &test::kUdp4IpOptions, &test::kUdp6,
                             &test::kGre4, &test::kLldp, &test::kSpanningTree}) {
    ExpectNotMine(*other);
  }
}

TEST(NeighborEcho, RefusesBadRequests) {
  ExpectDrop(With(test::kPing4, 35, "01"), Neighbor::kMalformed);  // A code other than 0.
  ExpectDrop(With(test::kPing4, 36, "fdf8"), Neighbor::kBadChecksum);
  ExpectDrop(With(test::kPing4, 24, "9fcb"), Neighbor::kBadChecksum);  // IPv4 header checksum.
  ExpectDrop(With(test::kPing4, 26, "e0000001"), Neighbor::kBadSource);
  ExpectDrop(With(test::kPing4, 26, "00000000"), Neighbor::kBadSource);
  ExpectDrop(With(test::kPing4, 26, "0a000002"), Neighbor::kBadSource);
  ExpectDrop(With(test::kPing4, 6, "01"), Neighbor::kBadSource);
  ExpectDrop(With(test::kPing6, 55, "01"), Neighbor::kMalformed);
  ExpectDrop(With(test::kPing6, 56, "8ba1"), Neighbor::kBadChecksum);
  ExpectDrop(With(test::kPing6, 22, "ff020000000000000000000000000001"), Neighbor::kBadSource);
  ExpectDrop(With(test::kPing6, 22, "00000000000000000000000000000000"), Neighbor::kBadSource);
  ExpectDrop(With(test::kPing6, 22, "00000000000000000000000000000001"), Neighbor::kBadSource);
  ExpectDrop(With(test::kPing6, 6, "333300000001"), Neighbor::kBadSource);
}

// Echo requests from a group, loopback or unspecified address must not be answered, because the
// answer would go to a third party. Requests to a group must not make all hosts on a link answer at
// once (RFC 1122, section 3.2.2.6; RFC 6890).
TEST(NeighborEcho, AnswersNeitherGroupsNorMartians) {
  for (const char* to :
       {"ffffffff", "e0000001", "efffffff", "0a0000ff", "00000000", "7f000001", "f0000001"}) {
    ExpectNotMine(With(test::kPing4, 30, to));
  }
  for (const char* to : {"ffffffffffff", "01005e000001", "020000000099"}) {
    ExpectNotMine(With(test::kPing4, 0, to));
    ExpectNotMine(With(test::kPing6, 0, to));
  }
  for (const char* to : {"ff020000000000000000000000000001", "00000000000000000000000000000001",
                         "00000000000000000000000000000000"}) {
    ExpectNotMine(With(test::kPing6, 38, to));
  }
  for (const char* from :
       {"00000001", "7f000001", "7fffffff", "e0000001", "efffffff", "f0000001", "ffffffff"}) {
    ExpectDrop(With(test::kPing4, 26, from), Neighbor::kBadSource);
  }
  for (const char* from : {"ff0e0000000000000000000000000001",
                           "00000000000000000000ffff0a000001"}) {  // An IPv4-mapped address.
    ExpectDrop(With(test::kPing6, 22, from), Neighbor::kBadSource);
  }
}

/// scapy's solicited advertisement of fd00::2 by 02:00:00:00:00:02 to fd00::1.
const char kAdvertisement[] =
    "02000000000102000000000286dd"
    "6000000000203aff"
    "fd000000000000000000000000000002fd000000000000000000000000000001"
    "88001c9a60000000fd000000000000000000000000000002"
    "0201020000000002";

TEST(NeighborDiscovery, AnswersASolicitationToTheGroup) {
  const Answer answer = Ask(test::kSolicitation);
  EXPECT_EQ(answer.verdict, packet::kForward);
  EXPECT_EQ(answer.frame, test::FromHex(kAdvertisement));
}

TEST(NeighborDiscovery, AnswersASolicitationToItsAddressInTheTailroom) {
  const Answer answer = Ask(test::kSolicitationUnicast, 8);
  EXPECT_EQ(answer.verdict, packet::kForward);
  EXPECT_EQ(answer.frame, test::FromHex(kAdvertisement));
  EXPECT_EQ(Ask(test::kSolicitationUnicast, 7).verdict, packet::Drop(Neighbor::kNoRoom));
}

TEST(NeighborDiscovery, AnswersDuplicateDetectionToAllNodes) {
  const Answer answer = Ask(test::kDuplicateDetection);
  EXPECT_EQ(answer.verdict, packet::kForward);
  EXPECT_EQ(answer.frame,
            test::FromHex("33330000000102000000000286dd"
                          "6000000000203aff"
                          "fd000000000000000000000000000002ff020000000000000000000000000001"
                          "88005a9820000000fd000000000000000000000000000002"
                          "0201020000000002"));
}

TEST(NeighborDiscovery, ShortensASolicitationWithMoreOptions) {
  Bytes request = test::kSolicitation;
  const Bytes nonce =
      test::FromHex("0e02000000000000000000000000");  // Nonce option of 16 bytes (RFC 3971).
  request.insert(request.end(), nonce.begin(), nonce.end());
  request.resize(86 + 16);
  request[19] = 48;
  const Answer answer = Ask(Repaired(request));
  EXPECT_EQ(answer.verdict, packet::kForward);
  EXPECT_EQ(answer.frame, test::FromHex(kAdvertisement));
}

TEST(NeighborDiscovery, LeavesWhatIsNoSolicitationForUs) {
  ExpectNotMine(With(test::kSolicitation, 62 + 15, "03"));  // Another target.
  ExpectNotMine(With(test::kSolicitation, 5, "03"));        // MAC address of another group.
  ExpectNotMine(With(test::kSolicitation, 0, "020000000009"));
  ExpectNotMine(With(test::kSolicitation, 54, "88"));  // An advertisement.
}

TEST(NeighborDiscovery, RefusesWhatRfc4861Refuses) {
  ExpectDrop(With(test::kSolicitation, 21, "fe"), Neighbor::kHopLimit);
  ExpectDrop(With(test::kSolicitation, 56, "7d98"), Neighbor::kBadChecksum);
  // A code other than 0.
  ExpectDrop(Repaired(With(test::kSolicitation, 55, "01")), Neighbor::kMalformed);
  ExpectDrop(Repaired(With(test::kSolicitation, 79, "00")),
             Neighbor::kMalformed);  // Option length 0.
  ExpectDrop(Repaired(With(test::kSolicitation, 79, "02")),
             Neighbor::kMalformed);  // The option exceeds the frame.
  // Duplicate address detection must not contain a link-layer address option or go to a unicast
  // address.
  const std::string_view kUnspecified = "00000000000000000000000000000000";
  ExpectDrop(Repaired(With(test::kSolicitation, 22, kUnspecified)), Neighbor::kMalformed);
  ExpectDrop(Repaired(With(test::kSolicitationUnicast, 22, kUnspecified)), Neighbor::kMalformed);
}

TEST(NeighborDiscovery, RefusesBadSources) {
  const auto from = [](std::string_view source) {
    return Repaired(With(test::kSolicitation, 22, source));
  };
  ExpectDrop(from("ff020000000000000000000000000001"), Neighbor::kBadSource);
  ExpectDrop(from("00000000000000000000000000000001"), Neighbor::kBadSource);
  ExpectDrop(from("fd000000000000000000000000000002"),
             Neighbor::kBadSource);  // The host's address.
  ExpectDrop(With(test::kSolicitation, 6, "333300000001"), Neighbor::kBadSource);
}

TEST(Neighbor, EveryTruncationOfEveryFixture) {
  for (const test::Fixture& fixture : test::kFixtures) {
    for (size_t size = 0; size < fixture.bytes->size(); ++size) {
      const Bytes cut(fixture.bytes->begin(), fixture.bytes->begin() + size);
      const Answer answer = Ask(cut, 0);
      if (answer.verdict != packet::kForward) continue;
      // If a truncated request is answered, it may lack only padding.
      const auto network = packet::Parse(cut.data(), static_cast<uint32_t>(size)).network;
      ASSERT_TRUE(network == packet::Network::kArp) << fixture.name << " " << size;
    }
  }
}

TEST(WithNeighbor, AnswersFirstAndLeavesTheRestToTheEngine) {
  WithNeighbor<ReflectEcho> engine(Host().own(), ReflectEcho());
  const auto run = [&](const Bytes& request) {
    const ExactBuffer buffer(request);
    Frame frame{buffer.data(), buffer.size(), 0, 0};
    return engine.Process(frame, 0);
  };
  EXPECT_EQ(run(test::kArpRequest), packet::kForward);
  EXPECT_EQ(run(With(test::kArpRequest, 38, "0a000003")),
            packet::Drop(ReflectEcho::kGroupDestination));
  EXPECT_EQ(run(test::kUdp4), packet::kForward);
}

/// Drops all frames of a burst.
struct DropsBursts final : packet::Engine {
  static constexpr std::array<std::string_view, 1> kDropReasons{"all"};
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t) {
    for (uint32_t i = 0; i < burst.size(); ++i) burst.Answer(i, burst.At(i), packet::Drop(0));
  }
};
static_assert(packet::BurstEngine<DropsBursts> && packet::FrameEngine<WithNeighbor<DropsBursts>>);

TEST(WithNeighbor, GivesAnEngineThatSeesBurstsOneFrameAtATime) {
  WithNeighbor<DropsBursts> engine(Host().own(), DropsBursts());
  const auto run = [&](const Bytes& request) {
    const ExactBuffer buffer(request);
    Frame frame{buffer.data(), buffer.size(), 0, 0};
    return engine.Process(frame, 0);
  };
  EXPECT_EQ(run(test::kArpRequest), packet::kForward);
  EXPECT_EQ(run(test::kUdp4), packet::Drop(0));
}

/// Records the size of each burst and drops its frames.
struct NotesBursts final : packet::EngineLayer<DropsBursts> {
  NotesBursts() : EngineLayer([] { return DropsBursts(); }) {}

  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) {
    sizes.push_back(burst.size());
    bytes.push_back(burst.totals().bytes);
    EngineLayer::ProcessBurst(burst, now);
  }
  std::vector<uint32_t> sizes;
  std::vector<uint64_t> bytes;
};
static_assert(packet::BurstEngine<WithNeighbor<NotesBursts>>);
static_assert(!packet::BurstEngine<WithNeighbor<ReflectEcho>>);

TEST(WithNeighbor, GivesAnEngineThatSeesBurstsTheRunsBetweenItsAnswers) {
  const packet::Verdict answered = packet::kForward, dropped = packet::Drop(0);
  const packet::Verdict refused =
      packet::Drop(DropsBursts::kDropReasons.size() + Neighbor::kHopLimit);
  const Bytes hopped = With(test::kSolicitation, 21, "40");
  const Bytes& udp = test::kUdp4;
  const Bytes& udp6 = test::kUdp6;  // Parsed but not answered.
  struct Case {
    std::vector<Bytes> frames;
    std::vector<packet::Verdict> verdicts;
    std::vector<uint32_t> sizes;
  };
  for (const Case& one :
       {Case{{}, {}, {}}, Case{{udp}, {dropped}, {1}}, Case{{test::kArpRequest}, {answered}, {}},
        Case{{udp, udp6, udp}, {dropped, dropped, dropped}, {3}},
        Case{{test::kPing4, udp, udp6}, {answered, dropped, dropped}, {2}},
        Case{{udp, udp, test::kPing6}, {dropped, dropped, answered}, {2}},
        Case{{udp, test::kArpRequest, hopped, udp, udp6, test::kPing4, udp},
             {dropped, answered, refused, dropped, dropped, answered, dropped},
             {1, 2, 1}}}) {
    WithNeighbor<NotesBursts> engine(Host().own(), NotesBursts());
    test::MemoryBurst burst(one.frames);
    engine.ProcessBurst(burst, 0);
    EXPECT_EQ(burst.verdicts(), one.verdicts);
    EXPECT_EQ(engine.engine().sizes, one.sizes);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < burst.size(); ++i) {
      if (one.verdicts[i] == dropped) bytes += one.frames[i].size();
      // The answer must equal the answer to a single frame.
      if (one.verdicts[i] == answered) {
        EXPECT_EQ(burst.bytes(i), Ask(one.frames[i], 0).frame);
      }
    }
    uint64_t seen = 0;
    for (const uint64_t of_a_run : engine.engine().bytes) seen += of_a_run;
    EXPECT_EQ(seen, bytes);
  }
}

TEST(WithNeighbor, NamesItsReasonsAfterTheEngines) {
  using Engine = WithNeighbor<ReflectEcho>;
  Engine engine(Host().own(), ReflectEcho());
  const Bytes forwarded = With(test::kSolicitation, 21, "40");
  const ExactBuffer buffer(forwarded);
  Frame frame{buffer.data(), buffer.size(), 0, 0};
  const Verdict verdict = engine.Process(frame, 0);
  EXPECT_EQ(verdict.action, packet::Action::kDrop);
  EXPECT_EQ(Engine::kDropReasons.at(verdict.reason), "neighbor_hop_limit");
  EXPECT_EQ(Engine::kDropReasons.at(ReflectEcho::kMalformed), "malformed");
  EXPECT_LE(Engine::kDropReasons.size(), nic::QueueCounters::kMaxReasons);
}

}  // namespace
}  // namespace sluice::engine
