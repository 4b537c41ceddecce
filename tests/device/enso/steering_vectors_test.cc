// SPDX-License-Identifier: BSD-3-Clause
//
// Steering vectors from a simulation of the Ensō RTL (v0.4.6, github.com/crossroadsfpga/enso): the
// pipe that a packet reaches with given tables, and the 32-bit hash of the key before the fallback
// mask.
#include "host.h"
#include "regs/enso_flow.h"

namespace sluice::device::enso {
namespace {

constexpr int kDrop = -1;
constexpr uint8_t kSyn = 0x02, kSynAck = 0x12, kAck = 0x10;

struct Packet {
  const char* name;
  Headers headers;
  int fallback;  ///< Pipe that a fallback with a count of 4 and a mask of 3 selects.
  uint32_t hash;
};
const Packet kPackets[] = {
    {"UDP 10.0.0.1:8080 → 192.168.0.0:80", {17, kDst, kSrc, 80, 8080}, 1, 0x1f30'2f21},
    {"the same from another source", {17, kDst, kSrc + 99, 80, 9999}, 1, 0x1f30'2f21},
    {"TCP SYN, same addresses", {6, kDst, kSrc, 80, 8080, kSyn}, 1, 0x1f30'2f21},
    {"TCP SYN+ACK, same addresses", {6, kDst, kSrc, 80, 8080, kSynAck}, 1, 0x1f30'2f21},
    {"TCP ACK, same addresses", {6, kDst, kSrc, 80, 8080, kAck}, 0, 0x3707'eb2c},
    {"ICMP to 192.168.0.0", {1, kDst, kSrc, 80, 8080}, 2, 0xb5ac'7d6a},
    {"UDP → 1.2.3.4:2", {17, 0x0102'0304, kSrc, 2, 8080}, 0, 0x4081'52a0},
};

/// Opens fallback pipes 0 to 3, and pipes 77 and 8191.
class EnsoSteeringVectors : public testing::Test {
 protected:
  EnsoSteeringVectors() : host({.pipe_flits = 64, .nb_entries = 64}) {
    host.OpenNb(0);
    for (const uint32_t pipe : kPipes) host.OpenPipe(pipe, 0);
  }

  /// Returns the pipe that receives the frame; kDrop if none does.
  int PipeOfFrame(const Bytes& frame) {
    uint32_t before[std::size(kPipes)];
    for (size_t i = 0; i < std::size(kPipes); ++i) before[i] = host.Tail(kPipes[i]);
    EXPECT_TRUE(host.Receive(frame));
    int hit = kDrop;
    for (size_t i = 0; i < std::size(kPipes); ++i) {
      if (host.Tail(kPipes[i]) == before[i]) continue;
      EXPECT_EQ(hit, kDrop) << "one frame, two pipes";
      hit = static_cast<int>(kPipes[i]);
    }
    return hit;
  }
  int PipeOf(const Headers& headers) { return PipeOfFrame(MakeFrame(64, headers)); }

  static constexpr uint32_t kPipes[] = {0, 1, 2, 3, 77, 8191};
  Host host;
};

TEST_F(EnsoSteeringVectors, WithoutEntriesAndFallbackPipesEverythingIsDropped) {
  for (const Packet& packet : kPackets) EXPECT_EQ(PipeOf(packet.headers), kDrop) << packet.name;
}

TEST_F(EnsoSteeringVectors, AMissGoesToTheFallbackPipeOfItsHash) {
  host.Fallback(4, 3, 0);
  for (const Packet& packet : kPackets) {
    EXPECT_EQ(PipeOf(packet.headers), packet.fallback) << packet.name;
  }
}

TEST_F(EnsoSteeringVectors, TheLowBitsOfTheHashAreThoseOfTheVector) {
  host.Fallback(8192, 8191, 0);
  for (const Packet& packet : kPackets) {
    const uint32_t pipe = packet.hash % 8192;
    if (host.Read32(PipePage(pipe) + kRxMemLo) == 0) host.OpenPipe(pipe, 0);
    const uint32_t before = host.Tail(pipe);
    ASSERT_TRUE(host.Receive(MakeFrame(64, packet.headers)));
    EXPECT_EQ(host.Tail(pipe), before + 1) << packet.name;
  }
}

TEST(EnsoFlowHashVectors, AllBits) {
  const regs::enso::FlowKey udp = {.dst_ip = kDst, .dst_port = 80};
  EXPECT_EQ(regs::enso::FlowHash(udp, 0), 0x1f30'2f21u);
  EXPECT_EQ(
      regs::enso::FlowHash({.dst_ip = kDst, .src_ip = kSrc, .dst_port = 80, .src_port = 8080}, 0),
      0x3707'eb2cu);
  EXPECT_EQ(regs::enso::FlowHash({.dst_ip = kDst}, 0), 0xb5ac'7d6au);
  EXPECT_EQ(regs::enso::FlowHash({.dst_ip = 0x0102'0304, .dst_port = 2}, 0), 0x4081'52a0u);
  // Rows of the four sub-tables.
  const uint32_t rows[] = {1825, 506, 273, 1524};
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(regs::enso::FlowRow(udp, i), rows[i]);
}

TEST_F(EnsoSteeringVectors, AnEntryMatchesByDestinationWhateverTheHeaderSaysElsewhere) {
  host.Bind(80, 0, kDst, 0, 8191, /*protocol=*/17);
  const Bytes udp = MakeFrame(64, {17, kDst, kSrc, 80, 8080});
  EXPECT_EQ(PipeOfFrame(udp), 8191) << "UDP";
  EXPECT_EQ(PipeOf({6, kDst, kSrc, 80, 8080, kSyn}), 8191) << "TCP SYN";
  Bytes options = udp;
  options[14] = 0x46;
  EXPECT_EQ(PipeOfFrame(options), 8191) << "IHL 6";
  Bytes ipv6 = udp;
  PutBe16(ipv6, 12, 0x86dd);
  EXPECT_EQ(PipeOfFrame(ipv6), 8191) << "EtherType 86DD";
}

TEST_F(EnsoSteeringVectors, TheSameKeyOverwritesAndAllOnesUnbind) {
  const Headers udp = {17, kDst, kSrc, 80, 8080};
  host.Bind(80, 0, kDst, 0, 8191);
  EXPECT_EQ(PipeOf(udp), 8191);
  host.Bind(80, 0, kDst, 0, 77);
  EXPECT_EQ(PipeOf(udp), 77);
  host.Bind(80, 0, kDst, 0, 0xffff'ffff);
  EXPECT_EQ(PipeOf(udp), kDrop);
  host.Fallback(4, 3, 0);
  EXPECT_EQ(PipeOf(udp), 1);
}

// Round robin over four pipes. A frame of 38 bytes, which ends after the ports, is the longest that
// can arrive in every cycle on a 100 Gb/s wire.
class EnsoRoundRobinVectors : public EnsoSteeringVectors {
 protected:
  std::vector<int> Pipes(uint64_t enable, uint32_t every) {
    uint64_t cycle = 1000;
    host.nic->SetTime(cycle * 5);
    host.Fallback(4, 3, enable);
    Bytes frame = MakeFrame(64, {17, kDst, kSrc, 80, 8080});
    frame.resize(38);
    std::vector<int> pipes;
    for (cycle += 1; pipes.size() < 6; cycle += every) {
      host.nic->SetTime(cycle * 5);
      pipes.push_back(PipeOfFrame(frame));
    }
    return pipes;
  }
};

TEST_F(EnsoRoundRobinVectors, PacketsInEveryCycle) {
  EXPECT_EQ(Pipes(uint64_t{1} << 63, 1), (std::vector{1, 2, 3, 0, 1, 2}));
}

TEST_F(EnsoRoundRobinVectors, PacketsInEverySecondCycle) {
  EXPECT_EQ(Pipes(uint64_t{1} << 63, 2), (std::vector{1, 3, 1, 3, 1, 3}));
}

TEST_F(EnsoRoundRobinVectors, AnEnableFieldOfOneLeavesItOff) {
  EXPECT_EQ(Pipes(1, 1), (std::vector{1, 1, 1, 1, 1, 1})) << "the hash's pipe";
}

}  // namespace
}  // namespace sluice::device::enso
