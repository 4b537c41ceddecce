// SPDX-License-Identifier: BSD-3-Clause
//
// Compares bursts of any size with the same frames processed one by one. Each frame must leave with
// the same bytes, and the counters and the state must be equal. Other tests check single frames
// against the RFCs (plain_path_test.cc, frames_test.py).
#include "packet/burst.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "balancer_lab.h"
#include "engine/maglev/balancer.h"
#include "maglev_frames.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/frame.h"

namespace sluice::engine::maglev::test {
namespace {

using packet::Frame;
using packet::Verdict;

/// The verdict of a frame and its final bytes.
struct Outcome {
  Verdict verdict = packet::kConsume;
  Bytes frame;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Frames in allocations with `headroom` bytes of headroom and no tailroom. If `spares` is set, a
/// spare buffer is available for a copy. When a frame is answered from the spare buffer, the buffer
/// is replaced.
class MemoryBurst {
 public:
  MemoryBurst(const std::vector<Bytes>& frames, uint32_t headroom, bool spares)
      : headroom_(headroom), outcomes(frames.size()) {
    for (const Bytes& frame : frames) {
      rooms_.emplace_back(headroom + frame.size(), uint8_t{0xee});
      std::ranges::copy(frame, rooms_.back().begin() + headroom);
      totals_.Add(static_cast<uint32_t>(frame.size()));
    }
    if (spares) NextSpare();
  }

  uint32_t size() const { return static_cast<uint32_t>(rooms_.size()); }
  packet::BurstTotals totals() const { return totals_; }
  Frame At(uint32_t number) const {
    const Bytes& room = rooms_[number];
    return {const_cast<uint8_t*>(room.data()) + headroom_,
            static_cast<uint32_t>(room.size()) - headroom_, headroom_, 0};
  }
  uint8_t* spare() const { return spare_.get(); }
  void Answer(uint32_t number, const Frame& frame, Verdict verdict) {
    EXPECT_EQ(number, answered++) << "in order, and all";
    outcomes[number].verdict = verdict;
    if (verdict == packet::kForward || verdict == packet::kPass) {
      outcomes[number].frame.assign(frame.data, frame.data + frame.length);
    }
    if (spare_ == nullptr || frame.data != spare_.get()) return;
    ++built;
    NextSpare();
  }

 private:
  void NextSpare() { spare_ = std::make_unique<uint8_t[]>(Frame::kSpareBytes); }

  uint32_t headroom_;
  std::vector<Bytes> rooms_;
  packet::BurstTotals totals_;
  std::unique_ptr<uint8_t[]> spare_;

 public:
  std::vector<Outcome> outcomes;
  uint32_t answered = 0;
  uint32_t built = 0;
};
static_assert(packet::Burst<MemoryBurst>);

/// Returns VIPs of every kind. They use `encapsulation` where possible.
Setup SetupOfAll(Encapsulation encapsulation, bool redirects) {
  Setup setup = SetupOf(3);
  const VipSetup first = setup.vips[0];
  setup.vips.clear();
  const auto add = [&](const char* name, const char* address, uint8_t protocol, uint16_t port) {
    VipSetup vip = first;
    vip.name = name;
    vip.address = *IpAddress::Parse(address);
    vip.protocol = protocol;
    vip.port = port;
    vip.encapsulation = encapsulation;
    for (BackendSetup& backend : vip.backends) {
      const std::string number = backend.name.substr(backend.name.rfind('.') + 1);
      const std::string pool = std::to_string(setup.vips.size());
      backend.address = *IpAddress::Parse(vip.address.ipv6 ? "2001:db8:1::" + number
                                                           : "10.0." + pool + "." + number);
      backend.mac = packet::MacAddress{0x02, 0, 0, 0, 1, static_cast<uint8_t>(number[0])};
      if (encapsulation == Encapsulation::kNat && port != 0) backend.port = 8080;
    }
    setup.vips.push_back(vip);
    return &setup.vips.back();
  };
  add("udp", "198.51.100.1", 17, 80);
  add("tcp", "198.51.100.1", 6, 80);
  add("any port", "198.51.100.2", 17, 0);
  VipSetup* const quic = add("quic", "198.51.100.3", 17, 443);
  quic->quic = true;
  quic->backends[0].quic_ids = {0x1234};
  add("ring alone", "198.51.100.4", 17, 80)->connections = false;
  VipSetup* const prefix = add("prefix", "198.51.101.0", 17, 0);
  prefix->host_bits = 8;
  if (encapsulation == Encapsulation::kNat) prefix->encapsulation = Encapsulation::kIp;
  if (redirects) {
    setup.own_address = IpAddress::Parse("192.0.2.1");
    setup.balancers = {*setup.own_address, *IpAddress::Parse("192.0.2.2")};
  } else {
    add("ipv6", "2001:db8::1", 6, 80);
  }
  return setup;
}

void SumHeader(Bytes* frame) {
  packet::Store<uint16_t>(&(*frame)[24], 0);
  packet::Store(&(*frame)[24], packet::FinishChecksum(packet::SumBytes(&(*frame)[14], 20)));
}

class Sender {
 public:
  explicit Sender(uint32_t seed) : random_(seed) {}

  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  /// Returns a burst of plain packets to one VIP, mixed with a random share of other kinds of
  /// packets.
  std::vector<Bytes> Burst() {
    std::vector<Bytes> frames(1 + Below(Below(2) == 0 ? 8 : 100));
    // Percentage of other kinds of packets.
    const uint32_t others = Below(3) == 0 ? 0 : Below(100);
    const bool tcp = Below(2) == 0;
    for (Bytes& frame : frames) {
      frame = Below(100) < others ? Any() : tcp ? TcpFrame(Below(300), kAck) : Udp(1, 80);
    }
    return frames;
  }

 private:
  /// Returns a packet to 198.51.100.`host`.
  Bytes Udp(uint8_t host, uint16_t port) {
    Bytes frame = UdpFrame(Below(300));
    frame[33] = host;
    packet::StoreBe16(&frame[36], port);
    SumHeader(&frame);
    return frame;
  }
  static Bytes Ipv6(uint32_t flow) {
    Bytes frame = TcpFrame(flow, kAck);
    frame.insert(frame.begin() + 34, 20, 0);
    const Bytes header{0x86, 0xdd, 0x60, 0, 0, 0, 0, 26, 6, 64};
    std::ranges::copy(header, frame.begin() + 12);
    const IpAddress vip = *IpAddress::Parse("2001:db8::1");
    std::fill_n(frame.begin() + 22, 15, uint8_t{0x20});
    frame[37] = static_cast<uint8_t>(flow);
    std::ranges::copy(vip.bytes, frame.begin() + 38);
    return frame;
  }
  Bytes Resized(Bytes frame, uint32_t total) {
    frame.resize(14 + total, 0x33);
    packet::StoreBe16(&frame[16], static_cast<uint16_t>(total));
    packet::StoreBe16(&frame[38], static_cast<uint16_t>(total - 20));
    SumHeader(&frame);
    return frame;
  }

  Bytes Any() {
    Bytes frame = Udp(1, 80);
    switch (Below(18)) {
      case 0:
        return TcpFrame(Below(300), kSyn);
      case 1:
        return TcpFrame(Below(300), kFin | kAck);
      case 2:
        return TcpFrame(Below(300), kRst);
      case 3:
        return Udp(2, static_cast<uint16_t>(Below(4)));
      case 4:
        frame = Udp(3, 443);
        frame[42] = 0x40;
        frame[43] = 0x44;
        frame[44] = 0x8d;
        break;
      case 5:
        return Udp(4, 80);
      case 6:
        frame[32] = 101;
        frame[33] = static_cast<uint8_t>(Below(256));
        break;
      case 7:
        return Ipv6(Below(100));
      case 8:
        frame[20] = 0x20;
        frame[19] = static_cast<uint8_t>(Below(20));
        break;  // First fragment.
      case 9:
        frame[21] = 0x10;
        frame[19] = static_cast<uint8_t>(Below(20));
        break;  // Later fragment.
      case 10:
        frame[22] = static_cast<uint8_t>(Below(3));
        break;  // TTL below 3.
      case 11:
        return Resized(frame, 1440 + Below(120));
      case 12:
        return Resized(frame, 28 + Below(60));
      case 13:
        frame[24] ^= 1;
        return frame;  // The frame has a wrong checksum.
      case 14:
        frame[33] = 99;
        break;  // The destination is not a VIP.
      case 15:  // An answer from a NAT backend.
        frame[26] = 10, frame[27] = 0, frame[28] = 0, frame[29] = 1;
        packet::StoreBe16(&frame[34], Below(2) == 0 ? 8080 : 80);
        frame[33] = 99;
        break;
      case 16:  // A VLAN tag.
        frame.insert(frame.begin() + 12, {0x81, 0x00, 0x00, 0x07});
        return frame;
      default:
        return Spoiled();
    }
    SumHeader(&frame);
    return frame;
  }
  Bytes Spoiled() {
    Bytes frame = Below(2) == 0 ? Udp(1, 80) : TcpFrame(Below(300), kAck);
    for (uint32_t i = Below(4); i > 0; --i) frame[Below(60)] = static_cast<uint8_t>(random_());
    if (Below(2) == 0) frame.resize(Below(60));
    return frame;
  }

  std::mt19937 random_;
};

std::vector<Outcome> OneByOne(Lab* lab, const std::vector<Bytes>& frames, uint32_t headroom,
                              bool spares) {
  std::vector<Outcome> outcomes;
  for (const Bytes& frame : frames) {
    MemoryBurst burst({frame}, headroom, spares);
    Frame view = burst.At(0);
    view.spare = burst.spare();
    const Verdict verdict = packet::ProcessFrame(lab->balancer(), view, 0);
    burst.Answer(0, view, verdict);
    outcomes.push_back(burst.outcomes[0]);
  }
  return outcomes;
}

void ExpectSameMemory(const Lab& one, const Lab& other) {
  const BalancerCounters& counters = one.counters();
  const BalancerCounters& others = other.counters();
  for (size_t event = 0; event < BalancerCounters::kEvents; ++event) {
    EXPECT_EQ(others.events[event], counters.events[event]) << BalancerCounters::kNames[event];
  }
  const auto same = [](const maglev::Traffic& a, const maglev::Traffic& b) {
    return a.pkts == b.pkts && a.bytes == b.bytes;
  };
  EXPECT_TRUE(std::ranges::equal(others.by_vip, counters.by_vip, same));
  EXPECT_TRUE(std::ranges::equal(others.by_backend, counters.by_backend, same));
  EXPECT_EQ(other.Live(), one.Live());
}

using Case = std::tuple<Encapsulation, bool>;
class Bursts : public testing::TestWithParam<Case> {
 protected:
  /// Sends random traffic while the tables change and time passes.
  static void Compare(const maglev::Setup& setup, uint32_t seed, uint32_t bursts) {
    maglev::Setup fewer = setup;
    for (VipSetup& vip : fewer.vips) vip.backends[1].state = BackendState::kDown;
    Lab alone(setup), together(setup);
    Sender traffic(seed);
    for (uint32_t i = 0; i < bursts; ++i) {
      const std::vector<Bytes> frames = traffic.Burst();
      const uint32_t headroom = traffic.Below(4) == 0 ? traffic.Below(65) : traffic.Below(2) * 64;
      const bool spares = traffic.Below(2) == 0;
      MemoryBurst burst(frames, headroom, spares);
      together.balancer().ProcessBurst(burst, 0);
      ASSERT_EQ(burst.answered, frames.size());
      const std::vector<Outcome> expected = OneByOne(&alone, frames, headroom, spares);
      for (size_t k = 0; k < frames.size(); ++k) {
        ASSERT_EQ(burst.outcomes[k].verdict, expected[k].verdict) << seed << " " << i << " " << k;
        ASSERT_EQ(burst.outcomes[k].frame, expected[k].frame) << seed << " " << i << " " << k;
      }
      for (Lab* const lab : {&alone, &together}) {
        if (i % 16 == 15) lab->Apply(i % 32 == 15 ? fewer : setup);
        if (i % 10 == 9) lab->Wait(1 + i % 7);
      }
    }
    ExpectSameMemory(alone, together);
    EXPECT_GT(alone.Count(BalancerCounters::kHit), 50u);
    EXPECT_GT(alone.Count(BalancerCounters::kNew), 20u);
  }
};

TEST_P(Bursts, EndAsTheirFramesDoOneByOne) {
  const auto& [encapsulation, redirects] = GetParam();
  Compare(SetupOfAll(encapsulation, redirects), 1, 400);
}

INSTANTIATE_TEST_SUITE_P(, Bursts,
                         testing::Combine(testing::Values(Encapsulation::kIp, Encapsulation::kGue,
                                                          Encapsulation::kGre, Encapsulation::kNat,
                                                          Encapsulation::kMac),
                                          testing::Bool()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string(EncapsulationName(std::get<0>(info.param))) +
                                  (std::get<1>(info.param) ? "_redirects" : "");
                         });

TEST_F(Bursts, EndAlikeByEveryRuleThatAnOperatorMaySet) {
  maglev::Setup setup = SetupOfAll(Encapsulation::kIp, false);
  setup.decrement_ttl = false;
  setup.flood_rate = 20;
  Compare(setup, 2, 100);
  setup = SetupOfAll(Encapsulation::kIp, false);
  setup.source_ipv4 = IpAddress::Parse("192.0.2.9");
  Compare(setup, 3, 100);
  setup = SetupOfAll(Encapsulation::kIp, false);
  setup.profile = Profile::kKatran;
  Compare(setup, 4, 100);
  setup = SetupOfAll(Encapsulation::kMac, false);
  setup.connections = 16;  // The table is too small.
  Compare(setup, 5, 100);
}

TEST(Burst, AFrameWithOneOtherBitAmongFramesOfAVipEndsAsAlone) {
  const maglev::Setup setup = SetupOfAll(Encapsulation::kIp, false);
  Lab alone(setup), together(setup);
  std::vector<Bytes> frames = {UdpFrame(1), UdpFrame(1), UdpFrame(1)};
  for (const bool tcp : {false, true}) {
    if (tcp) frames = {TcpFrame(1, kAck), TcpFrame(1, kAck), TcpFrame(1, kAck)};
    const Bytes whole = frames[1];
    for (size_t bit = 12 * 8; bit < 48 * 8; ++bit) {
      frames[1] = whole;
      frames[1][bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      MemoryBurst burst(frames, 64, false);
      together.balancer().ProcessBurst(burst, 0);
      ASSERT_EQ(burst.outcomes, OneByOne(&alone, frames, 64, false)) << tcp << " " << bit;
      for (Lab* const lab : {&alone, &together}) lab->WaitMs(10);
    }
  }
  ExpectSameMemory(alone, together);
}

TEST(Burst, APacketOfANewFlowIsKnownToTheNextOneInTheSameBurst) {
  Lab lab(SetupOf(50));
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 60; ++i) frames.push_back(UdpFrame(i / 3));
  MemoryBurst burst(frames, 64, false);
  lab.balancer().ProcessBurst(burst, 0);
  EXPECT_EQ(lab.Count(BalancerCounters::kNew), 20u);
  EXPECT_EQ(lab.Count(BalancerCounters::kHit), 40u);
  for (uint32_t i = 0; i < 60; ++i) EXPECT_EQ(burst.outcomes[i], burst.outcomes[i / 3 * 3]) << i;
}

TEST(Burst, APacketThatClosesAFlowIsSeenByTheNextOneInTheSameBurst) {
  Lab lab(test::TcpSetup(4));
  lab.Send(TcpFrame(1, kAck));
  lab.WaitMs(10);
  const std::vector<Bytes> frames{TcpFrame(1, kAck), TcpFrame(1, kAck), TcpFrame(1, kFin | kAck),
                                  TcpFrame(1, kAck)};
  MemoryBurst burst(frames, 64, false);
  lab.balancer().ProcessBurst(burst, 0);
  EXPECT_EQ(lab.Live(), 1u);
  lab.Wait(Timeouts().tcp_closing_s + 1);
  EXPECT_EQ(lab.Live(), 0u);
}

TEST(Burst, AFrameThatGrowsIsBuiltWhereItLeaves) {
  for (const Encapsulation encapsulation :
       {Encapsulation::kIp, Encapsulation::kGue, Encapsulation::kGre}) {
    maglev::Setup setup = SetupOf(3);
    setup.vips[0].encapsulation = encapsulation;
    Lab lab(setup);
    std::vector<Bytes> frames;
    for (uint32_t i = 0; i < 100; ++i) frames.push_back(UdpFrame(i / 2));
    MemoryBurst burst(frames, 0, /*spares=*/true);
    lab.balancer().ProcessBurst(burst, 0);
    EXPECT_EQ(burst.built, 100u) << EncapsulationName(encapsulation);
    MemoryBurst roomy(frames, 64, /*spares=*/true);
    lab.balancer().ProcessBurst(roomy, 0);
    EXPECT_EQ(roomy.built, 0u);
    EXPECT_EQ(roomy.outcomes, burst.outcomes);
  }
}

}  // namespace
}  // namespace sluice::engine::maglev::test
