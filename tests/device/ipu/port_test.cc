// SPDX-License-Identifier: BSD-3-Clause
//
// Tests functions of the port that do not belong to rings: interrupts, clock and timestamps,
// filters, tags and the ages of flow rules.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "host.h"
#include "regs/ipu_port.h"
#include "regs/vectors.h"

namespace sluice::device::ipu::test {
namespace {

class RecordingInterrupts final : public InterruptSink {
 public:
  void Raise(uint32_t vector) override { raised.push_back(vector); }
  std::vector<uint32_t> DrainRaised() { return std::exchange(raised, {}); }
  std::vector<uint32_t> raised;
};

using Vectors = std::vector<uint32_t>;

void Arm(Host& host, uint32_t queue, uint32_t seen) {
  host.nic.WriteRegister(QueuePage(queue) + kRxBlock + kRingInterrupt, 8, kRingInterruptArm | seen);
}

TEST(IpuInterrupts, AQueueThatIsArmedTellsItsNextCompletionOnce) {
  Host host;
  RecordingInterrupts interrupts;
  host.nic.SetInterrupts(&interrupts);
  host.StartRx(64, 2048, 64);
  host.Receive(PlainFrame(60));
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{}) << "not armed";
  Arm(host, 0, 1);
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{}) << "all was seen";
  host.Receive(PlainFrame(60));
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{regs::QueueVector(0)});
  host.Receive(PlainFrame(60));
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{}) << "once";
  Arm(host, 0, 1);
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{regs::QueueVector(0)}) << "at once: there is more";
  Arm(host, 0, 3);
  host.nic.WriteRegister(QueuePage(0) + kRxBlock + kRingInterrupt, 8, 0);
  host.Receive(PlainFrame(60));
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{}) << "taken back";
  Arm(host, 0, 4);
  host.nic.WriteRegister(kReset, 4, kResetMagic);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
  host.StartRx(64, 2048, 64);
  host.Receive(PlainFrame(60));
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{}) << "a reset disarms";
}

TEST(IpuInterrupts, AFrameThatFindsNoBufferTellsNothing) {
  for (const bool pause : {false, true}) {
    Host host;
    RecordingInterrupts interrupts;
    host.nic.SetInterrupts(&interrupts);
    host.StartRx(64, 2048, 1);
    Arm(host, 0, 0);
    host.Receive(PlainFrame(3000), pause);  // Longer than a buffer.
    host.Receive(Ipv4Frame({}), pause);
    EXPECT_EQ(interrupts.DrainRaised(), Vectors{regs::QueueVector(0)});
    Arm(host, 0, 1);
    host.Receive(Ipv4Frame({}), pause);
    host.Receive(PlainFrame(60), pause);
    EXPECT_EQ(interrupts.DrainRaised(), Vectors{}) << "no descriptor, with a wait " << pause;
  }
}

TEST(IpuInterrupts, WithoutSomebodyToTellNothingHappens) {
  Host host;
  host.StartRx(64, 2048, 64);
  Arm(host, 0, 7);
  host.Receive(PlainFrame(60));
  EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
}

uint64_t Read64(Host& host, uint32_t offset) { return host.nic.ReadRegister(offset, 8); }

TEST(IpuClock, RunsIsSetAndIsAdjusted) {
  Host host;
  host.nic.SetTime(1000);
  EXPECT_EQ(Read64(host, kClock), 1000u);
  host.nic.WriteRegister(kClock, 8, 0x1'0000'0005);
  host.nic.SetTime(1100);
  EXPECT_EQ(Read64(host, kClock), 0x1'0000'0069u);
  host.nic.WriteRegister(kClockAdjust, 8, static_cast<uint64_t>(-9));
  EXPECT_EQ(Read64(host, kClock), 0x1'0000'0060u);
  host.nic.WriteRegister(kReset, 4, kResetMagic);
  EXPECT_EQ(Read64(host, kClock), 1100u);
}

std::string PtpFrame() {
  std::string frame = PlainFrame(60);
  frame[12] = '\x88', frame[13] = '\xf7';
  return frame;
}

TEST(IpuClock, StampsTheFirstPtpFrameUntilItsStampIsTaken) {
  Host host;
  host.StartRx(64, 2048, 64);
  host.nic.SetTime(500);
  const auto flags = [&](uint32_t index) {
    return static_cast<uint16_t>(host.Rx(index).high >> kRxFlagsShift);
  };
  host.Receive(PtpFrame());
  EXPECT_EQ(flags(0), 0) << "not asked for";
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous | kPortTimesync);
  host.Receive(PlainFrame(60));
  EXPECT_EQ(flags(1), 0);
  EXPECT_EQ(Read64(host, kRxStamp), 0u);
  host.Receive(PtpFrame());
  host.nic.SetTime(600);
  host.Receive(PtpFrame());
  EXPECT_EQ(flags(2), kRxPtp | kRxStamped);
  EXPECT_EQ(flags(3), kRxPtp);
  EXPECT_EQ(Read64(host, kRxStamp), 500u);
  host.nic.WriteRegister(kStampTaken, 4, kStampTx);
  EXPECT_EQ(Read64(host, kRxStamp), 500u);
  host.nic.WriteRegister(kStampTaken, 4, kStampRx);
  EXPECT_EQ(Read64(host, kRxStamp), 0u);
  host.Receive(PtpFrame());
  EXPECT_EQ(Read64(host, kRxStamp), 600u);
}

TEST(IpuClock, StampsEveryFrameOfARingThatAsksForIt) {
  Host host;
  host.nic.SetTime(0x0102'0304'0506'0708);
  host.Write(0, kRxBlock, kRingBase, Host::kBus);
  host.Write(0, kRxBlock, kRingEntries, 64);
  host.Write(0, kRxBlock, kRingBuffer, 256);
  for (uint32_t i = 0; i < 8; ++i) host.Rx(i) = {Host::kBus + Host::Buffer(i), 0};
  host.Write(0, kRxBlock, kRingControl, kRingEnable | kRingScatter | kRingStamp);
  host.Write(0, kRxBlock, kRingTail, 8);
  const std::string udp = Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, 1, 2});
  host.Receive(udp);
  const std::string longer = PlainFrame(600);
  host.Receive(longer);
  const auto stamp = [&](uint32_t index) {
    uint64_t ns;
    std::memcpy(&ns, host.At(Host::Buffer(index)), sizeof(ns));
    return ns;
  };
  const auto bytes = [&](uint32_t index) {
    return std::string(reinterpret_cast<char*>(host.At(Host::Buffer(index)) + kStampBytes),
                       static_cast<uint16_t>(host.Rx(index).high));
  };
  EXPECT_EQ(stamp(0), 0x0102'0304'0506'0708u);
  EXPECT_EQ(bytes(0), udp);
  EXPECT_EQ(stamp(1), 0x0102'0304'0506'0708u);
  EXPECT_EQ(bytes(1) + bytes(2) + bytes(3), longer);
  EXPECT_EQ(static_cast<uint16_t>(host.Rx(1).high), 256) << "the free space follows the stamp";
}

std::string Tagged(uint16_t tag, uint16_t type = 0x8100) {
  const std::string plain = Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, 1, 2});
  std::string frame = plain.substr(0, 12);
  for (const uint16_t word : {type, tag}) {
    frame += static_cast<char>(word >> 8);
    frame += static_cast<char>(word);
  }
  return frame + plain.substr(12);
}

TEST(IpuTags, AreStrippedAndEveryBitIsReported) {
  const std::string plain = Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, 1, 2});
  for (const uint16_t tag : {0x0000, 0x0001, 0x0fff, 0x1fff, 0x2000, 0x4000, 0x8000, 0xffff}) {
    Host host;
    host.StartRx(64, 2048, 64);
    host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous | kPortVlanStrip);
    host.Receive(Tagged(tag));
    EXPECT_EQ(host.Received(0), plain);
    const uint64_t high = host.Rx(0).high;
    EXPECT_EQ(high >> kRxFlagsShift & 0xffff & (kRxTag | kRxTagStripped), kRxTag | kRxTagStripped);
    // The tag's lower 14 bits begin at bit 48, and its upper 2 bits at bit 27 (regs/ipu.h).
    EXPECT_EQ((high >> 48 & 0x3fff) | (high >> 27 & 3) << 14, tag);
    EXPECT_EQ(high >> kRxClassShift & kClassMask, kClassEther | kClassIpv4 | kClassUdp);
    EXPECT_EQ(high & (kDone | kRxEndOfPacket), kDone | kRxEndOfPacket);
    EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
  }
}

TEST(IpuTags, OfOtherKindsAndOfNobodyStay) {
  Host host;
  host.StartRx(64, 2048, 64);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous | kPortVlanStrip);
  std::string twice = Tagged(7);
  twice.insert(12, std::string("\x81\x00\x00\x05", 4));
  const std::string cut = Tagged(3).substr(0, 17);
  for (const std::string& frame : {Tagged(9, 0x88a8), cut, twice}) host.Receive(frame);
  EXPECT_EQ(host.Received(0), Tagged(9, 0x88a8));
  EXPECT_EQ(host.Received(1), cut);
  EXPECT_EQ(host.Received(2), Tagged(7));
  EXPECT_EQ(host.Rx(2).high >> kRxClassShift & 0xf, kClassVlan) << "one is left";
}

TEST(IpuTags, AreInsertedBehindTheAddressesAfterTheChecksums) {
  Host host;
  host.StartTx(64);
  std::string frame = Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, 1, 2});
  std::memcpy(host.At(Host::kBuffers), frame.data(), frame.size());
  const uint64_t offsets = uint64_t{14} << kTxIpOffsetShift | uint64_t{20} << kTxIpLengthShift;
  host.PostTx(0, Host::kBuffers, 60,
              kTxEndOfPacket | kTxIpChecksum | kTxTag | uint64_t{0xe123} << kTxTagShift | offsets);
  host.PostTx(1, Host::kBuffers, 60, kTxEndOfPacket);
  host.Write(0, kTxBlock, kRingTail, 2);
  RecordingSink sink;
  host.nic.Transmit(sink, 8);
  ASSERT_EQ(sink.frames.size(), 2u);
  EXPECT_EQ(sink.frames[0].substr(0, 12), frame.substr(0, 12));
  EXPECT_EQ(sink.frames[0].substr(12, 4), std::string("\x81\x00\xe1\x23", 4));
  // If the header's checksum is right, the sum of its 16-bit words is ffff (RFC 1071).
  uint32_t sum = 0;
  const auto byte = [&](uint32_t i) { return static_cast<uint8_t>(sink.frames[0][i]); };
  for (uint32_t i = 18; i < 38; i += 2) sum += byte(i) << 8 | byte(i + 1);
  EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);
  EXPECT_EQ(sink.frames[0].size(), 64u);
  EXPECT_EQ(sink.frames[1], frame);
  EXPECT_EQ(host.Stat(kStatTxBytes), 124u);
}

TEST(IpuTags, FindNoRoomInTheLongestFrame) {
  Host host;
  host.StartTx(64);
  RecordingSink sink;
  host.PostTx(0, Host::kBuffers, kMaxFrameBytes - 4, kTxEndOfPacket | kTxTag);
  host.PostTx(1, Host::kBuffers, kMaxFrameBytes - 3, kTxEndOfPacket | kTxTag);
  host.Write(0, kTxBlock, kRingTail, 2);
  host.nic.Transmit(sink, 8);
  ASSERT_EQ(sink.frames.size(), 1u);
  EXPECT_EQ(sink.frames[0].size(), kMaxFrameBytes);
  EXPECT_EQ(host.Stat(kStatTxBadDescriptor), 1u);
}

TEST(IpuClock, StampsWhatIsSentIfItIsAskedTo) {
  Host host;
  host.StartTx(64);
  RecordingSink sink;
  host.nic.SetTime(77);
  host.PostTx(0, Host::kBuffers, 60, kTxEndOfPacket);
  host.Write(0, kTxBlock, kRingTail, 1);
  host.nic.Transmit(sink, 8);
  EXPECT_EQ(Read64(host, kTxStampTime), 0u);
  host.PostTx(1, Host::kBuffers, 60, kTxEndOfPacket | kTxStamp);
  host.Write(0, kTxBlock, kRingTail, 2);
  host.nic.Transmit(sink, 8);
  EXPECT_EQ(Read64(host, kTxStampTime), 77u);
  EXPECT_EQ(sink.frames.size(), 2u);
}

TEST(IpuFilter, TakesItsVlansItsAddressesAndItsGroups) {
  const struct {
    uint32_t control;
    std::array<uint8_t, 6> destination;
    int vlan;  // −1: no tag
    bool taken;
  } kCases[] = {
      {0, {2, 0, 0, 0, 0, 1}, -1, true},   // The port's own address.
      {0, {2, 0, 0, 0, 0, 2}, -1, true},   // An address in the table.
      {0, {2, 0, 0, 0, 0, 3}, -1, false},  // An invalid table entry.
      {0, {2, 0, 0, 0, 0, 4}, -1, false},
      {0, {1, 0, 0x5e, 0, 0, 1}, -1, true},   // A group address in the table.
      {0, {1, 0, 0x5e, 0, 0, 2}, -1, false},  // A group address that is not in the table.
      {kPortAllMulticast, {1, 0, 0x5e, 0, 0, 2}, -1, true},
      {kPortAllMulticast, {2, 0, 0, 0, 0, 4}, -1, false},
      {kPortPromiscuous, {2, 0, 0, 0, 0, 4}, -1, true},
      {0, {255, 255, 255, 255, 255, 255}, -1, true},
      {0, {2, 0, 0, 0, 0, 1}, 6, true},  // VLANs are not filtered.
      {kPortVlanFilter, {2, 0, 0, 0, 0, 1}, 5, true},
      {kPortVlanFilter, {2, 0, 0, 0, 0, 1}, 6, false},
      {kPortVlanFilter, {2, 0, 0, 0, 0, 1}, 4095, true},
      {kPortVlanFilter, {2, 0, 0, 0, 0, 1}, -1, true},
      {kPortVlanFilter | kPortPromiscuous, {2, 0, 0, 0, 0, 4}, 6, false},
      {kPortVlanFilter | kPortPromiscuous, {2, 0, 0, 0, 0, 4}, 5, true},
      {kPortVlanFilter, {2, 0, 0, 0, 0, 4}, 5, false},
  };
  const auto entry = [](std::array<uint8_t, 6> address) {
    uint64_t value = 0;
    std::memcpy(&value, address.data(), address.size());
    return value;
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(&c - kCases);
    Host host;
    host.StartRx(64, 2048, 64);
    host.nic.WriteRegister(kStationAddress, 8, entry({2, 0, 0, 0, 0, 1}));
    host.nic.WriteRegister(kAddressTable + 8, 8, kAddressValid | entry({2, 0, 0, 0, 0, 2}));
    host.nic.WriteRegister(kAddressTable + 16, 8, kAddressValid | entry({2, 0, 0, 0, 0, 3}));
    host.nic.WriteRegister(kAddressTable + 16, 8, entry({2, 0, 0, 0, 0, 3}));
    host.nic.WriteRegister(kAddressTable + 8 * (kAddresses - 1), 8,
                           kAddressValid | entry({1, 0, 0x5e, 0, 0, 1}));
    host.nic.WriteRegister(kVlanTable, 4, 1u << 5);
    host.nic.WriteRegister(kVlanTable + kVlanTableBytes - 4, 4, 1u << 31);
    host.nic.WriteRegister(kPortControl, 4, kPortReceive | c.control);
    std::string frame =
        c.vlan < 0 ? PlainFrame(60) : Tagged(static_cast<uint16_t>(0xe000 | c.vlan));
    std::memcpy(frame.data(), c.destination.data(), 6);
    host.Receive(frame);
    EXPECT_EQ(host.Stat(kStatRxFrames), c.taken);
    EXPECT_EQ(host.Stat(kStatRxFiltered), !c.taken);
  }
}

TEST(IpuFilter, ReadsBackAndIsEmptyAfterAReset) {
  Host host;
  host.nic.WriteRegister(kAddressTable + 8, 8, kAddressValid | 0x1234);
  host.nic.WriteRegister(kVlanTable + 4, 4, 0x55);
  EXPECT_EQ(Read64(host, kAddressTable + 8), kAddressValid | 0x1234);
  EXPECT_EQ(host.nic.ReadRegister(kVlanTable + 4, 4), 0x55u);
  host.nic.WriteRegister(kReset, 4, kResetMagic);
  EXPECT_EQ(Read64(host, kAddressTable + 8), 0u);
  EXPECT_EQ(host.nic.ReadRegister(kVlanTable + 4, 4), 0u);
}

/// Executes a command on the rule for UDP to `port`.
FlowStatus Command(Host& host, FlowCommand command, uint16_t port, uint32_t age_s = 0,
                   uint64_t cookie = 0) {
  host.nic.WriteRegister(kFlowFields, 4, kFlowMatchProtocol | kFlowMatchDestinationPort);
  host.nic.WriteRegister(kFlowProtocol, 4, 4 << 8 | 17);
  host.nic.WriteRegister(kFlowPorts, 4, port);
  host.nic.WriteRegister(kFlowAction, 4, 0);
  host.nic.WriteRegister(kFlowAge, 4, age_s);
  host.nic.WriteRegister(kFlowCookie, 8, cookie);
  host.nic.WriteRegister(kFlowCommand, 4, static_cast<uint32_t>(command));
  return static_cast<FlowStatus>(host.nic.ReadRegister(kFlowStatus, 4));
}

class IpuAges : public ::testing::Test {
 protected:
  IpuAges() {
    host.nic.SetInterrupts(&interrupts);
    host.StartRx(64, 2048, 64);
  }
  /// Advances the clock from 100 ms before `ms` to `ms`, in steps of 25 ms. This suffices for a
  /// complete pass over a few rules.
  void At(uint64_t ms) {
    for (uint64_t step = ms - 100; step <= ms; step += 25) {
      host.nic.SetTime(step * 1'000'000);
      host.nic.Transmit(sink, 8);
    }
  }
  void Hit(uint16_t port) { host.Receive(Ipv4Frame({{1, 1, 1, 1}, {2, 2, 2, 2}, 9, port})); }
  /// Pops cookies until there are none left. Returns all cookies.
  std::set<uint64_t> Aged() {
    std::set<uint64_t> cookies;
    for (;;) {
      host.nic.WriteRegister(kFlowCommand, 4, static_cast<uint32_t>(FlowCommand::kPopAged));
      if (host.nic.ReadRegister(kFlowStatus, 4) != static_cast<uint32_t>(FlowStatus::kOk)) {
        return cookies;
      }
      EXPECT_TRUE(cookies.insert(Read64(host, kFlowHits)).second) << "reported twice";
    }
  }
  Host host;
  RecordingInterrupts interrupts;
  RecordingSink sink;
};

TEST_F(IpuAges, ARuleThatHitsNothingIsToldOnceAndOneThatDoesIsNot) {
  At(100);
  ASSERT_EQ(Command(host, FlowCommand::kAdd, 1, 2, 0xaaaa'0000'0001), FlowStatus::kOk);
  ASSERT_EQ(Command(host, FlowCommand::kAdd, 2, 2, 0xaaaa'0000'0002), FlowStatus::kOk);
  ASSERT_EQ(Command(host, FlowCommand::kAdd, 3, 0, 0xaaaa'0000'0003), FlowStatus::kOk);
  At(1900);
  Hit(1);
  At(2050);
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{});
  At(2400);
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{regs::kPortVector});
  EXPECT_EQ(Aged(), std::set<uint64_t>{0xaaaa'0000'0002});
  At(3500);
  EXPECT_EQ(Aged(), std::set<uint64_t>{}) << "once";
  At(4200);
  EXPECT_EQ(Aged(), std::set<uint64_t>{0xaaaa'0000'0001}) << "two seconds after its hit";
  Hit(2);
  At(4500);
  At(6700);
  EXPECT_EQ(Aged(), std::set<uint64_t>{0xaaaa'0000'0002}) << "a hit makes it young again";
}

TEST_F(IpuAges, QueriesThatClearAreNoHitsAndRulesThatAreGoneDoNotAge) {
  At(100);
  ASSERT_EQ(Command(host, FlowCommand::kAdd, 1, 1, 1), FlowStatus::kOk);
  ASSERT_EQ(Command(host, FlowCommand::kAdd, 2, 1, 2), FlowStatus::kOk);
  ASSERT_EQ(Command(host, FlowCommand::kAdd, 4, 1, 4), FlowStatus::kOk);
  Hit(1);
  At(500);
  ASSERT_EQ(Command(host, FlowCommand::kQueryAndClear, 1), FlowStatus::kOk);
  EXPECT_EQ(Read64(host, kFlowHits), 1u);
  ASSERT_EQ(Command(host, FlowCommand::kQuery, 1), FlowStatus::kOk);
  EXPECT_EQ(Read64(host, kFlowHits), 0u);
  At(1000);
  Hit(1);
  ASSERT_EQ(Command(host, FlowCommand::kRemove, 2), FlowStatus::kOk);
  EXPECT_EQ(Read64(host, kFlowHits), 0u);
  At(1400);
  EXPECT_EQ(Aged(), std::set<uint64_t>{4});
  ASSERT_EQ(Command(host, FlowCommand::kRemove, 1), FlowStatus::kOk);
  EXPECT_EQ(Read64(host, kFlowHits), 1u) << "of those after the clearing query";
  ASSERT_EQ(Command(host, FlowCommand::kAdd, 5, 1, 5), FlowStatus::kOk);
  host.nic.WriteRegister(kFlowCommand, 4, static_cast<uint32_t>(FlowCommand::kFlush));
  interrupts.DrainRaised();
  At(9000);
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{});
  EXPECT_EQ(Aged(), std::set<uint64_t>{});
}

TEST_F(IpuAges, ManyRulesAgeInOneRoundOfManySteps) {
  constexpr uint16_t kRules = 1000;
  At(100);
  for (uint16_t i = 0; i < kRules; ++i) {
    ASSERT_EQ(Command(host, FlowCommand::kAdd, i, 1, i + 1), FlowStatus::kOk);
  }
  host.nic.SetTime(1'300'000'000);
  for (int step = 0; step < 64; ++step) host.nic.Transmit(sink, 8);
  EXPECT_EQ(interrupts.DrainRaised(), Vectors{regs::kPortVector}) << "reported once until queried";
  EXPECT_EQ(Aged().size(), kRules);
}

TEST(IpuRegisters, TellAVersion) {
  Host host;
  EXPECT_EQ(host.nic.ReadRegister(kFirmware, 4), 0x1'00'00u);
}

}  // namespace
}  // namespace sluice::device::ipu::test
