// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how the device classifies frames: RSS (with the vectors from Microsoft's RSS
// specification), packet class, checksums and flow rules.
#include <gtest/gtest.h>

#include <algorithm>

#include "host.h"
#include "packet/bytes.h"
#include "udp_lengths.h"

namespace sluice::device::ipu::test {
namespace {

/// Key from "Verifying the RSS Hash Calculation" in the Windows driver documentation.
constexpr uint8_t kKey[kRssKeyBytes] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                        0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                        0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                        0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

struct Vector {
  Tuple tuple;
  uint32_t with_ports;
  uint32_t addresses_only;
};
constexpr Vector kVectors[] = {
    {{{66, 9, 149, 187}, {161, 142, 100, 80}, 2794, 1766, 6}, 0x51ccc178, 0x323e8fc2},
    {{{199, 92, 111, 2}, {65, 69, 140, 83}, 14230, 4739, 6}, 0xc626b0ea, 0xd718262a},
    {{{24, 19, 198, 95}, {12, 22, 207, 184}, 12898, 38024, 6}, 0x5c2b394a, 0xd2d0a5de},
    {{{38, 27, 205, 30}, {209, 142, 163, 6}, 48228, 2217, 6}, 0xafc7327f, 0x82989176},
    {{{153, 39, 163, 191}, {202, 188, 127, 2}, 44251, 1303, 6}, 0x10e828a2, 0x5d1809c5},
};

class Classified : public ::testing::Test {
 protected:
  Classified() {
    host.StartRx(64, 2048, 64);
    for (uint32_t i = 0; i < kRssKeyBytes; i += 4) {
      uint32_t word;
      std::memcpy(&word, kKey + i, 4);
      host.nic.WriteRegister(kRssKey + i, 4, word);
    }
  }
  /// Returns the write-back of a frame. Each call uses the next descriptor.
  Descriptor Receive(const std::string& frame) {
    host.Receive(frame);
    return host.Rx(next_++);
  }
  static uint16_t Flags(const Descriptor& d) {
    return static_cast<uint16_t>(d.high >> kRxFlagsShift);
  }
  static uint16_t Class(const Descriptor& d) {
    return static_cast<uint16_t>(d.high >> kRxClassShift);
  }

  Host host;
  uint32_t next_ = 0;
};

TEST_F(Classified, HashesAddressesAndPortsAsTheSpecificationSays) {
  host.nic.WriteRegister(kRssFields, 4, kRssIpv4 | kRssIpv4Tcp);
  for (const Vector& vector : kVectors) {
    const Descriptor d = Receive(Ipv4Frame(vector.tuple));
    EXPECT_EQ(static_cast<uint32_t>(d.low), vector.with_ports);
    EXPECT_TRUE(Flags(d) & kRxHashValid);
  }
}

TEST_F(Classified, HashesAddressesAloneWherePortsAreNotSelected) {
  host.nic.WriteRegister(kRssFields, 4, kRssIpv4);
  for (const Vector& vector : kVectors) {
    EXPECT_EQ(static_cast<uint32_t>(Receive(Ipv4Frame(vector.tuple)).low), vector.addresses_only);
  }
}

TEST_F(Classified, AFragmentIsHashedByItsAddresses) {
  host.nic.WriteRegister(kRssFields, 4, kRssIpv4 | kRssIpv4Tcp);
  std::string frame = Ipv4Frame(kVectors[0].tuple);
  frame[20] = 0x20;  // more fragments
  const Descriptor d = Receive(frame);
  EXPECT_EQ(static_cast<uint32_t>(d.low), kVectors[0].addresses_only);
  EXPECT_EQ(Class(d), kClassEther | kClassIpv4 | kClassFragment);
}

/// Returns a frame from 3ffe:2501:200:1fff::7 port 2794 to 3ffe:2501:200:3::1 port 1766.
std::string Ipv6Vector() {
  std::string frame(14 + 40 + 20, '\0');
  frame[12] = '\x86', frame[13] = '\xdd', frame[14] = 0x60, frame[19] = 20, frame[20] = 6;
  const uint8_t addresses[32] = {0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0,    0,    0,
                                 0,    0,    0,    0,    7,    0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00,
                                 0x00, 0x03, 0,    0,    0,    0,    0,    0,    0,    1};
  std::memcpy(frame.data() + 22, addresses, 32);
  frame[54] = 2794 >> 8, frame[55] = static_cast<char>(2794 & 255);
  frame[56] = 1766 >> 8, frame[57] = static_cast<char>(1766 & 255);
  return frame;
}

TEST_F(Classified, HashesIpv6AsTheSpecificationSays) {
  host.nic.WriteRegister(kRssFields, 4, kRssIpv6 | kRssIpv6Tcp);
  const std::string frame = Ipv6Vector();
  EXPECT_EQ(static_cast<uint32_t>(Receive(frame).low), 0x40207d3du);
  host.nic.WriteRegister(kRssFields, 4, kRssIpv6);
  EXPECT_EQ(static_cast<uint32_t>(Receive(frame).low), 0x2cc18cd5u);
}

/// Options and extensions are not hashed, so the hash equals that of the same frame without them.
TEST_F(Classified, PortsAreFoundBehindOptionsAndExtensions) {
  host.nic.WriteRegister(kRssFields, 4, kRssIpv4 | kRssIpv4Tcp | kRssIpv6 | kRssIpv6Tcp);
  std::string options = Ipv4Frame(kVectors[0].tuple);
  options[14] = 0x46;
  options[17] = static_cast<char>(options[17] + 4);
  options.insert(34, 4, '\x01');  // No operation.
  EXPECT_EQ(static_cast<uint32_t>(Receive(options).low), kVectors[0].with_ports);
  // Hop-by-hop and destination options, each 8 bytes of PadN.
  std::string extensions = Ipv6Vector();
  extensions[19] = 16 + 20;
  extensions[20] = 0;
  extensions.insert(54, std::string({60, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0}));
  EXPECT_EQ(static_cast<uint32_t>(Receive(extensions).low), 0x40207d3du);
}

TEST_F(Classified, TheTableTurnsTheHashIntoAQueue) {
  for (uint32_t queue = 1; queue < 4; ++queue) host.StartRx(64, 2048, 64, false, queue);
  host.nic.WriteRegister(kRssFields, 4, kRssIpv4 | kRssIpv4Tcp);
  const uint32_t entry = kVectors[1].with_ports % kRetaEntries;
  host.nic.WriteRegister(kReta + entry / 4 * 4, 4, 3u << (entry % 4 * 8));
  const std::string frame = Ipv4Frame(kVectors[1].tuple);
  host.Receive(frame);
  EXPECT_EQ(host.Received(0, 3), frame);
}

TEST_F(Classified, NamesThePacketsItKnows) {
  const auto with = [](std::initializer_list<std::pair<uint32_t, int>> bytes, uint32_t size = 60) {
    std::string frame(size, '\0');
    for (const auto& [at, value] : bytes) frame[at] = static_cast<char>(value);
    return frame;
  };
  EXPECT_EQ(Class(Receive(with({{12, 0x08}, {13, 0x06}}))), kClassArp);
  EXPECT_EQ(Class(Receive(with({{12, 0x08}, {14, 0x45}, {17, 46}, {23, 6}}))),
            kClassEther | kClassIpv4 | kClassTcp);
  EXPECT_EQ(Class(Receive(with({{12, 0x08}, {14, 0x46}, {17, 46}, {23, 17}}))),
            kClassEther | kClassIpv4Options | kClassUdp);
  EXPECT_EQ(Class(Receive(with({{12, 0x08}, {14, 0x45}, {17, 46}, {23, 1}}))),
            kClassEther | kClassIpv4 | kClassIcmp);
  EXPECT_EQ(Class(Receive(with({{12, 0x81}, {16, 0x08}, {18, 0x45}, {21, 40}, {27, 17}}))),
            kClassVlan | kClassIpv4 | kClassUdp);
  EXPECT_EQ(
      Class(Receive(with(
          {{12, 0x88}, {13, 0xa8}, {16, 0x81}, {20, 0x86}, {21, 0xdd}, {22, 0x60}, {28, 59}}, 80))),
      kClassQinq | kClassIpv6 | kClassOtherL4);
  // Hop-by-hop options, then UDP.
  EXPECT_EQ(Class(Receive(with({{12, 0x86}, {13, 0xdd}, {14, 0x60}, {19, 16}, {54, 17}}, 80))),
            kClassEther | kClassIpv6Extension | kClassUdp);
}

TEST_F(Classified, EveryTruncationOfAFrameIsSafeAndNeverClaimsPorts) {
  host.nic.WriteRegister(kRssFields, 4, 0x3f);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous | kPortChecksum);
  const std::string whole = Ipv4Frame(kVectors[0].tuple);
  for (uint32_t size = 14; size < 38; ++size) {
    // A heap copy of exactly this size, so that the sanitizer detects any access beyond it.
    const std::vector<uint8_t> bytes(whole.begin(), whole.begin() + size);
    const WireFrame frame{bytes.data(), size};
    host.nic.Receive({&frame, 1}, false);
    const Descriptor& d = host.Rx(next_++);
    EXPECT_EQ(static_cast<uint16_t>(d.high), size);
    EXPECT_EQ(static_cast<uint32_t>(d.low), size < 34 ? 0 : kVectors[0].addresses_only) << size;
  }
}

TEST_F(Classified, VerifiesChecksumsOnlyWhenAsked) {
  // The UDP checksum computed by hand according to RFC 1071: 192.168.0.1 → 192.168.0.2, UDP 1 → 2,
  // length 12, payload "abcd".
  const uint8_t bytes[] = {0, 0,  0, 0, 0, 0, 0,  0,  0,    0,    0,   0,   0x08, 0x00, 0x45, 0,
                           0, 32, 0, 0, 0, 0, 64, 17, 0xf9, 0x79, 192, 168, 0,    1,    192,  168,
                           0, 2,  0, 1, 0, 2, 0,  12, 0xb9, 0xb8, 'a', 'b', 'c',  'd'};
  std::string frame(reinterpret_cast<const char*>(bytes), sizeof(bytes));
  EXPECT_EQ(Flags(Receive(frame)), 0);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous | kPortChecksum);
  EXPECT_EQ(Flags(Receive(frame)), kRxIpGood | kRxL4Good);
  frame.back() ^= 1;
  EXPECT_EQ(Flags(Receive(frame)), kRxIpGood | kRxL4Bad);
  frame[22] ^= 1;
  EXPECT_EQ(Flags(Receive(frame)), kRxIpBad | kRxL4Bad);
  frame[40] = frame[41] = 0;
  EXPECT_EQ(Flags(Receive(frame)), kRxIpBad) << "a UDP checksum of zero is not verified";
}

TEST_F(Classified, AnUpperHeaderThatIsNotWholeIsBadWhateverItSumsTo) {
  // Frames from 192.168.0.1 to 192.168.0.2. Everything above IP is 0 except the UDP length and the
  // checksum. By RFC 1071, the checksum is the complement of 8154 (the addresses) + protocol +
  // length (+ the UDP length).
  const struct {
    uint8_t protocol;
    uint8_t bytes;  // UDP or TCP bytes.
    uint16_t ip_sum, sum;
    uint16_t flag;
  } kCases[] = {{6, 19, 0xf97d, 0x7e92, kRxL4Bad},
                {6, 20, 0xf97c, 0x7e91, kRxL4Good},
                {17, 7, 0xf97e, 0, kRxL4Bad},
                {17, 8, 0xf97d, 0x7e8a, kRxL4Good}};
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous | kPortChecksum);
  for (const auto& c : kCases) {
    std::string frame = Ipv4Frame({{192, 168, 0, 1}, {192, 168, 0, 2}, 0, 0, c.protocol});
    frame[17] = static_cast<char>(20 + c.bytes);
    frame[39] = static_cast<char>(c.protocol == 17 ? c.bytes : 0);
    packet::StoreBe16(reinterpret_cast<uint8_t*>(&frame[24]), c.ip_sum);
    const uint32_t field = c.protocol == 6 ? 50 : 40;
    packet::StoreBe16(reinterpret_cast<uint8_t*>(&frame[field]), c.sum);
    EXPECT_EQ(Flags(Receive(frame)), kRxIpGood | c.flag) << int{c.protocol} << " " << int{c.bytes};
  }
}

TEST_F(Classified, AUdpLengthThatNoDatagramHasIsABadChecksum) {
  using sluice::test::Verdict;
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous | kPortChecksum);
  for (const auto& [what, frame, ipv4, verdict] : sluice::test::UdpLengths()) {
    const int l4 = verdict == Verdict::kGood ? kRxL4Good : verdict == Verdict::kBad ? kRxL4Bad : 0;
    EXPECT_EQ(Flags(Receive({frame.begin(), frame.end()})), l4 | (ipv4 ? kRxIpGood : 0)) << what;
  }
}

TEST_F(Classified, TheOuterTagNamesTheLink) {
  // Ethernet types of one or two tags, before an unknown type.
  const struct {
    uint8_t outer[2], inner[2];
    uint16_t link;
  } kCases[] = {{{0x81, 0x00}, {0x81, 0x00}, kClassVlan}, {{0x81, 0x00}, {0x88, 0xa8}, kClassVlan},
                {{0x81, 0x00}, {0xff, 0xff}, kClassVlan}, {{0x88, 0xa8}, {0x81, 0x00}, kClassQinq},
                {{0x88, 0xa8}, {0x88, 0xa8}, kClassQinq}, {{0x88, 0xa8}, {0xff, 0xff}, kClassQinq}};
  for (const auto& [outer, inner, link] : kCases) {
    std::string frame(60, '\0');
    std::copy_n(outer, 2, &frame[12]);
    std::copy_n(inner, 2, &frame[16]);
    frame[20] = frame[21] = '\xff';
    EXPECT_EQ(Class(Receive(frame)), link) << int{outer[0]} << " " << int{inner[0]};
  }
}

class Flows : public Classified {
 protected:
  Flows() { host.StartRx(64, 2048, 64, false, 2); }
  FlowStatus Command(const Tuple& tuple, uint32_t fields, uint32_t action, FlowCommand command,
                     uint32_t mark = 0) {
    host.nic.WriteRegister(kFlowFields, 4, fields);
    host.nic.WriteRegister(kFlowProtocol, 4, 4 << 8 | tuple.protocol);
    host.nic.WriteRegister(kFlowPorts, 4, tuple.source_port << 16 | tuple.destination_port);
    uint32_t word;
    std::memcpy(&word, tuple.source.data(), 4);
    host.nic.WriteRegister(kFlowSource, 4, word);
    std::memcpy(&word, tuple.destination.data(), 4);
    host.nic.WriteRegister(kFlowDestination, 4, word);
    host.nic.WriteRegister(kFlowAction, 4, action);
    host.nic.WriteRegister(kFlowMark, 4, mark);
    host.nic.WriteRegister(kFlowCommand, 4, static_cast<uint32_t>(command));
    return static_cast<FlowStatus>(host.nic.ReadRegister(kFlowStatus, 4));
  }
  const Tuple tuple_{{10, 0, 0, 1}, {10, 0, 0, 2}, 1000, 80, 17};
};

TEST_F(Flows, AFullTupleSendsItsFramesToItsQueueAndNoOther) {
  ASSERT_EQ(Command(tuple_, kFlowMatchTuple, kFlowActionQueue | 2, FlowCommand::kAdd),
            FlowStatus::kOk);
  host.Receive(Ipv4Frame(tuple_));
  EXPECT_EQ(host.Received(0, 2), Ipv4Frame(tuple_));
  Tuple other = tuple_;
  other.source_port = 1001;
  host.Receive(Ipv4Frame(other));
  EXPECT_EQ(host.Received(0), Ipv4Frame(other));
  EXPECT_EQ(Command(tuple_, kFlowMatchTuple, 0, FlowCommand::kQuery), FlowStatus::kOk);
  EXPECT_EQ(host.nic.ReadRegister(kFlowHits, 8), 1u);
  EXPECT_EQ(host.nic.ReadRegister(kFlowHitBytes, 8), 60u);
}

TEST_F(Flows, AFrameThatWaitsForRoomIsOneHit) {
  Command(tuple_, kFlowMatchTuple, kFlowActionQueue | 2, FlowCommand::kAdd);
  uint64_t taken = 0;
  while (host.Receive(Ipv4Frame(tuple_), true) == 1) ++taken;
  EXPECT_EQ(host.Receive(Ipv4Frame(tuple_), true), 0u);
  Command(tuple_, kFlowMatchTuple, 0, FlowCommand::kQuery);
  EXPECT_EQ(host.nic.ReadRegister(kFlowHits, 8), taken);
}

TEST_F(Flows, TheMoreSpecificRuleWinsAndDropsAreCounted) {
  Command(tuple_, kFlowMatchProtocol | kFlowMatchDestinationPort, kFlowActionDrop,
          FlowCommand::kAdd);
  Command(tuple_, kFlowMatchTuple, kFlowActionQueue | 2, FlowCommand::kAdd);
  host.Receive(Ipv4Frame(tuple_));
  EXPECT_EQ(host.Received(0, 2), Ipv4Frame(tuple_));
  Tuple other = tuple_;
  other.source = {10, 9, 9, 9};
  host.Receive(Ipv4Frame(other));
  EXPECT_EQ(host.Stat(kStatRxFlowDrop), 1u);
}

TEST_F(Flows, OfRulesThatSelectAsManyFieldsTheHigherFieldsWin) {
  constexpr uint32_t kPairs[][2] = {
      // Both rules of a pair match equally many fields: one, then two, then three.
      {kFlowMatchDestination, kFlowMatchSource},
      {kFlowMatchSourcePort, kFlowMatchDestination},
      {kFlowMatchDestinationPort, kFlowMatchSourcePort},
      {kFlowMatchProtocol, kFlowMatchDestinationPort},
      {kFlowMatchProtocol, kFlowMatchSource},
      {kFlowMatchDestinationPort | kFlowMatchSource, kFlowMatchSourcePort | kFlowMatchDestination},
      {kFlowMatchProtocol | kFlowMatchSource, kFlowMatchDestinationPort | kFlowMatchSourcePort},
      {kFlowMatchProtocol | kFlowMatchDestination | kFlowMatchSource,
       kFlowMatchDestinationPort | kFlowMatchSourcePort | kFlowMatchDestination}};
  for (const auto& [higher, lower] : kPairs) {
    ASSERT_GT(higher, lower);
    for (const bool higher_first : {true, false}) {
      Command(tuple_, 0, 0, FlowCommand::kFlush);
      for (const bool now_higher : {higher_first, !higher_first}) {
        ASSERT_EQ(Command(tuple_, now_higher ? higher : lower, kFlowActionMark, FlowCommand::kAdd,
                          now_higher ? 2 : 1),
                  FlowStatus::kOk);
      }
      EXPECT_EQ(Receive(Ipv4Frame(tuple_)).low >> kRxMarkShift, 2u) << higher << " " << lower;
    }
  }
}

TEST_F(Flows, OfIpv6AllBytesOfBothAddressesCount) {
  // UDP without a payload from 2001:db8::1 port 1000 to 2001:db8::2 port 80.
  std::string frame(14 + 40 + 8, '\0');
  frame[12] = '\x86', frame[13] = '\xdd', frame[14] = 0x60, frame[19] = 8, frame[20] = 17;
  constexpr uint32_t kSource = 22, kDestination = 38;
  for (const uint32_t address : {kSource, kDestination}) {
    frame[address] = 0x20, frame[address + 1] = 0x01;
    frame[address + 2] = 0x0d, frame[address + 3] = '\xb8';
    frame[address + 15] = address == kSource ? 1 : 2;
  }
  frame[54] = 1000 >> 8, frame[55] = static_cast<char>(1000 & 255), frame[57] = 80, frame[59] = 8;
  host.nic.WriteRegister(kFlowFields, 4, kFlowMatchTuple);
  host.nic.WriteRegister(kFlowProtocol, 4, 6 << 8 | 17);
  host.nic.WriteRegister(kFlowPorts, 4, 1000 << 16 | 80);
  for (uint32_t at = 0; at < 16; at += 4) {
    uint32_t word;
    std::memcpy(&word, &frame[kSource + at], 4);
    host.nic.WriteRegister(kFlowSource + at, 4, word);
    std::memcpy(&word, &frame[kDestination + at], 4);
    host.nic.WriteRegister(kFlowDestination + at, 4, word);
  }
  host.nic.WriteRegister(kFlowAction, 4, kFlowActionMark);
  host.nic.WriteRegister(kFlowCommand, 4, static_cast<uint32_t>(FlowCommand::kAdd));
  ASSERT_EQ(static_cast<FlowStatus>(host.nic.ReadRegister(kFlowStatus, 4)), FlowStatus::kOk);
  EXPECT_TRUE(Flags(Receive(frame)) & kRxFlowHit);
  for (uint32_t at = kSource; at < kDestination + 16; ++at) {
    std::string other = frame;
    other[at] ^= 1;
    EXPECT_FALSE(Flags(Receive(other)) & kRxFlowHit) << at;
  }
}

// Matches each field outside the 5-tuple separately, with one frame that matches and some that do
// not.
TEST_F(Flows, EthernetAddressesTagsAndFragmentsAreMatched) {
  const auto tagged = [](std::string frame, uint8_t vlan) {
    return frame.insert(12, std::string{'\x81', 0, 0x20, static_cast<char>(vlan)});
  };
  const auto with = [](std::string frame, uint32_t at, uint8_t value) {
    frame[at] = static_cast<char>(value);
    return frame;
  };
  const std::string plain = Ipv4Frame(tuple_);
  const std::string one = tagged(plain, 5), two = tagged(one, 7);
  const std::string first = with(plain, 20, 0x20), later = with(plain, 21, 9);
  uint64_t source = 0, destination = 0;
  std::memcpy(&destination, plain.data(), 6);
  std::memcpy(&source, plain.data() + 6, 6);
  const struct {
    const char* what;
    uint32_t fields, shape;
    std::vector<std::string> hits, misses;
  } kCases[] = {
      {"no tag", kFlowMatchTags, 0, {plain, first}, {one, two}},
      {"one tag", kFlowMatchTags, 1u << 16, {one}, {plain, two}},
      {"two tags", kFlowMatchTags, 2u << 16, {two}, {plain, one}},
      {"outer tag", kFlowMatchVlan, 7, {two, tagged(plain, 7)}, {plain, one}},
      {"whole", kFlowMatchFragment, 0, {plain, one}, {first, later}},
      {"fragment", kFlowMatchFragment, 1u << 20, {first, later}, {plain}},
      {"source", kFlowMatchEtherSource, 0, {plain, with(plain, 0, 2)}, {with(plain, 11, 99)}},
      {"destination",
       kFlowMatchEtherDestination,
       0,
       {plain, with(plain, 6, 4)},
       {with(plain, 5, 99)}},
  };
  host.nic.WriteRegister(kFlowEtherSource, 8, source);
  host.nic.WriteRegister(kFlowEtherDestination, 8, destination);
  for (const auto& c : kCases) {
    Command(tuple_, 0, 0, FlowCommand::kFlush);
    host.nic.WriteRegister(kFlowShape, 4, c.shape);
    ASSERT_EQ(Command(tuple_, c.fields, kFlowActionFlag, FlowCommand::kAdd), FlowStatus::kOk);
    for (const auto& frame : c.hits) EXPECT_EQ(Flags(Receive(frame)), kRxFlowHit) << c.what;
    for (const auto& frame : c.misses) EXPECT_EQ(Flags(Receive(frame)), 0u) << c.what;
  }
}

TEST_F(Flows, IsolationDropsWhatNoRuleClaims) {
  host.nic.WriteRegister(kPortControl, 4, host.nic.ReadRegister(kPortControl, 4) | kPortIsolate);
  host.Receive(Ipv4Frame(tuple_));
  EXPECT_EQ(host.Stat(kStatRxFiltered), 1u);
  Command(tuple_, kFlowMatchTuple, kFlowActionQueue | 2, FlowCommand::kAdd);
  host.Receive(Ipv4Frame(tuple_));
  EXPECT_EQ(host.Received(0, 2), Ipv4Frame(tuple_));
  EXPECT_EQ(host.Stat(kStatRxFiltered), 1u);
}

TEST_F(Flows, AMarkTravelsInTheWriteBack) {
  Command(tuple_, kFlowMatchTuple, kFlowActionMark, FlowCommand::kAdd, 0xcafe);
  const Descriptor d = Receive(Ipv4Frame(tuple_));
  EXPECT_EQ(d.low >> kRxMarkShift, 0xcafeu);
  EXPECT_EQ(Flags(d), kRxFlowHit | kRxMarkValid);
}

TEST_F(Flows, RulesComeAndGoAsTheStatusSays) {
  const uint32_t action = kFlowActionQueue | 2;
  EXPECT_EQ(Command(tuple_, kFlowMatchTuple, action, FlowCommand::kAdd), FlowStatus::kOk);
  EXPECT_EQ(Command(tuple_, kFlowMatchTuple, action, FlowCommand::kAdd), FlowStatus::kExists);
  EXPECT_EQ(Command(tuple_, kFlowMatchTuple, action, FlowCommand::kRemove), FlowStatus::kOk);
  EXPECT_EQ(Command(tuple_, kFlowMatchTuple, action, FlowCommand::kRemove), FlowStatus::kAbsent);
  EXPECT_EQ(Command(tuple_, kFlowMatchTuple, action, FlowCommand::kQuery), FlowStatus::kAbsent);
  EXPECT_EQ(Command(tuple_, kFlowMatchTuple, kFlowActionQueue | 200, FlowCommand::kAdd),
            FlowStatus::kInvalid);
  EXPECT_EQ(Command(tuple_, 1u << 20, action, FlowCommand::kAdd), FlowStatus::kInvalid);
  EXPECT_EQ(Command(tuple_, kFlowMatchTuple, action, static_cast<FlowCommand>(99)),
            FlowStatus::kInvalid);
  host.Receive(Ipv4Frame(tuple_));
  EXPECT_EQ(host.Received(0), Ipv4Frame(tuple_));
}

TEST_F(Flows, TheTableHoldsWhatItPromisesAndRefusesTheNext) {
  Tuple tuple = tuple_;
  for (uint32_t i = 0; i < kMaxFlows; ++i) {
    tuple.source_port = static_cast<uint16_t>(i);
    ASSERT_EQ(Command(tuple, kFlowMatchTuple, kFlowActionQueue | 2, FlowCommand::kAdd),
              FlowStatus::kOk);
  }
  tuple.source_port = kMaxFlows;
  EXPECT_EQ(Command(tuple, kFlowMatchTuple, kFlowActionQueue | 2, FlowCommand::kAdd),
            FlowStatus::kFull);
  EXPECT_EQ(Command(tuple, 0, 0, FlowCommand::kFlush), FlowStatus::kOk);
  EXPECT_EQ(Command(tuple, kFlowMatchTuple, kFlowActionQueue | 2, FlowCommand::kAdd),
            FlowStatus::kOk);
}

}  // namespace
}  // namespace sluice::device::ipu::test
