// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the packetized NIC on a card with the CPU's model (device/ipu), with random settings,
// frames, rings and hostile descriptors. Both devices get the same register stores and frames; all
// state visible to the host must be equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bar/dma.h"
#include "device/grid/ipu_steer.h"
#include "device/ipu/ipu_nic.h"
#include "host.h"
#include "ipu_card_nic.h"

namespace sluice::device::grid {
namespace {

using namespace regs::ipu;  // NOLINT: the registers of this device

using Random = std::mt19937;

uint32_t Below(Random& random, uint32_t bound) { return static_cast<uint32_t>(random() % bound); }
bool OneIn(Random& random, uint32_t times) { return Below(random, times) == 0; }

void Put16(std::string& frame, uint32_t at, uint32_t value) {
  if (at + 2 > frame.size()) return;
  frame[at] = static_cast<char>(value >> 8);
  frame[at + 1] = static_cast<char>(value);
}

/// Returns a random frame: VLAN tags, IPv4 with options and fragments, IPv6 with extensions, TCP
/// and UDP, wrong lengths, and sometimes a modified header byte.
std::string RandomFrame(Random& random, uint32_t least, uint32_t most) {
  std::string frame(least + Below(random, most - least + 1), '\0');
  for (char& byte : frame) byte = static_cast<char>(random());
  frame[0] = static_cast<char>(frame[0] & 0xfe);
  if (OneIn(random, 8)) std::memset(frame.data(), 0xff, 6);
  uint32_t at = 12;
  for (uint32_t tags = OneIn(random, 3) ? 1 + Below(random, 2) : 0; tags != 0; --tags, at += 4) {
    Put16(frame, at, OneIn(random, 3) ? 0x88a8 : 0x8100);
  }
  static constexpr uint32_t kTypes[] = {0x0800, 0x0800, 0x0800, 0x86dd, 0x86dd, 0x0806, 0x88f7};
  const uint32_t type = kTypes[Below(random, 7)];
  Put16(frame, at, type);
  at += 2;
  static constexpr uint8_t kProtocols[] = {6, 17, 17, 6, 1, 58, 132, 47, 0, 43, 44, 60};
  const auto left = static_cast<uint32_t>(frame.size()) - std::min<uint32_t>(at, frame.size());
  const auto put = [&](uint32_t offset, uint32_t value) {
    if (at + offset < frame.size()) frame[at + offset] = static_cast<char>(value);
  };
  if (type == 0x0800) {
    put(0, OneIn(random, 4) ? 0x40 | Below(random, 16) : 0x45);
    Put16(frame, at + 2, OneIn(random, 4) ? Below(random, left + 20) : left);
    Put16(frame, at + 6, OneIn(random, 4) ? Below(random, 0x10000) : 0x4000);
    put(9, kProtocols[Below(random, 8)]);
  } else if (type == 0x86dd) {
    put(0, 0x60);
    Put16(frame, at + 4, left < 40 || OneIn(random, 4) ? Below(random, left + 20) : left - 40);
    put(6, kProtocols[Below(random, 12)]);
    put(40, kProtocols[Below(random, 12)]);
    put(41, OneIn(random, 2) ? 0 : Below(random, 4));
  }
  if (OneIn(random, 10))
    frame[Below(random, frame.size())] ^= static_cast<char>(1u << Below(random, 8));
  return frame;
}

WireFrame Wire(const std::string& frame) {
  return {reinterpret_cast<const uint8_t*>(frame.data()), static_cast<uint32_t>(frame.size())};
}

/// One of the two devices, with separate host memory.
template <typename Nic>
struct Side {
  static constexpr uint64_t kBus = 0x4000'0000;
  static constexpr uint32_t kBytes = 8u << 20;
  struct Free {
    void operator()(uint8_t* at) const { operator delete[](at, std::align_val_t{4096}); }
  };

  template <typename... Config>
  explicit Side(Config... config)
      : memory(new (std::align_val_t{4096}) uint8_t[kBytes]()), nic(dma, config...) {
    dma.Add(kBus, memory.get(), kBytes);
  }

  std::unique_ptr<uint8_t[], Free> memory;
  bar::DmaSpace dma;
  Nic nic;
  ipu::test::RecordingSink sink;
};

class Pair {
 public:
  static constexpr uint64_t kBus = Side<IpuCardNic>::kBus;
  static constexpr uint32_t kQueues = 3;
  static constexpr uint32_t kBuffers = 1u << 20;  ///< Offset of the buffers, after the rings.

  explicit Pair(uint32_t seed) : random(seed) {}

  void Write(uint32_t offset, uint32_t bytes, uint64_t value) {
    cpu.nic.WriteRegister(offset, bytes, value);
    card.nic.WriteRegister(offset, bytes, value);
  }
  /// Returns whether both devices return the same value.
  bool Same(uint32_t offset, uint32_t bytes) {
    return cpu.nic.ReadRegister(offset, bytes) == card.nic.ReadRegister(offset, bytes);
  }
  void Both(uint32_t offset, const void* from, uint32_t bytes) {
    std::memcpy(cpu.memory.get() + offset, from, bytes);
    std::memcpy(card.memory.get() + offset, from, bytes);
  }
  static uint32_t Ring(uint32_t queue, bool transmit) {
    return (2 * queue + (transmit ? 1 : 0)) << 16;
  }

  void Settings(bool checksums) {
    for (uint32_t at = 0; at < kRssKeyBytes; at += 4) Write(kRssKey + at, 4, random());
    for (uint32_t at = 0; at < kRetaEntries; at += 4) {
      uint32_t word = 0;
      for (uint32_t i = 0; i < 4; ++i)
        word = word << 8 | Below(random, OneIn(random, 20) ? 256 : kQueues);
      Write(kReta + at, 4, word);
    }
    Write(kRssFields, 4, Below(random, 64));
    Write(kMaxFrame, 4, OneIn(random, 3) ? 1000 : kMaxFrameBytes);
    for (uint32_t at = 0; at < kVlanTableBytes; at += 4) Write(kVlanTable + at, 4, random());
    for (uint32_t i = 0; i < 4; ++i) {
      Write(kAddressTable + 8 * Below(random, kAddresses), 8, uint64_t{random()} << 32 | random());
    }
    uint32_t control = kPortReceive;
    if (!OneIn(random, 3)) control |= kPortPromiscuous;
    if (OneIn(random, 3)) control |= kPortAllMulticast;
    if (OneIn(random, 3)) control |= kPortVlanFilter;
    if (checksums && OneIn(random, 2)) control |= kPortChecksum;
    if (OneIn(random, 20)) control |= kPortIsolate;
    if (OneIn(random, 20)) control &= ~kPortReceive;
    Write(kPortControl, 4, control);
  }

  Side<ipu::IpuNic> cpu{ipu::IpuConfig{.endpoints = 0}};
  Side<IpuCardNic> card;
  Random random;
};

TEST(IpuCardSteering, QueueHashClassAndFlagsAreThoseOfTheCpusModel) {
  for (uint32_t seed = 0; seed < 15; ++seed) {
    Pair pair(seed);
    for (uint32_t queue = 0; queue < Pair::kQueues; ++queue) {
      const uint32_t page = QueuePage(queue) + kRxBlock;
      pair.Write(page + kRingBase, 8, Pair::kBus + Pair::Ring(queue, false));
      pair.Write(page + kRingEntries, 4, 64);
      pair.Write(page + kRingBuffer, 4, 2048);
      pair.Write(page + kRingControl, 4, kRingEnable);
    }
    std::array<uint32_t, Pair::kQueues> used{};
    pair.Settings(true);
    for (uint32_t i = 0; i < 1000; ++i) {
      const std::string frame = RandomFrame(pair.random, kMinFrameBytes, 300);
      // Posts the only buffer of each queue again.
      for (uint32_t queue = 0; queue < Pair::kQueues; ++queue) {
        const uint32_t at = Pair::Ring(queue, false) + used[queue] % 64 * kDescriptorBytes;
        const Descriptor posted = {Pair::kBus + Pair::kBuffers + queue * 4096, 0};
        pair.Both(at, &posted, sizeof(posted));
        pair.cpu.nic.WriteRegister(QueuePage(queue) + kRxBlock + kRingTail, 4, used[queue] + 1);
      }
      const auto counters = pair.cpu.nic.Counters();
      std::array<uint64_t, kStatisticCount> counted;
      for (uint32_t at = 0; at < kStatisticCount; ++at) counted[at] = counters[at].value;
      const WireFrame wire = Wire(frame);
      ASSERT_EQ(pair.cpu.nic.Receive({&wire, 1}, false), 1u);

      alignas(64) std::array<uint8_t, 512> data{};
      std::memcpy(data.data(), frame.data(), frame.size());
      const Steered steered = Steer(pair.card.nic.card().settings, {data.data(), wire.length});
      if (steered.queue == kIpuDropped) {
        const auto after = pair.cpu.nic.Counters();
        for (uint32_t at = 0; at < kStatisticCount; ++at) {
          EXPECT_EQ(after[at].value - counted[at], at == steered.word ? 1 : 0)
              << kStatisticNames[at] << ", seed " << seed << ", frame " << i;
        }
        continue;
      }
      ASSERT_LT(steered.queue, Pair::kQueues);
      Descriptor written;
      std::memcpy(&written,
                  pair.cpu.memory.get() + Pair::Ring(steered.queue, false) +
                      used[steered.queue]++ % 64 * kDescriptorBytes,
                  sizeof(written));
      EXPECT_EQ(written.high, kDone | kRxEndOfPacket | frame.size() |
                                  uint64_t{steered.word & 0xffff} << kRxClassShift |
                                  uint64_t{steered.word >> 16} << kRxFlagsShift)
          << "seed " << seed << ", frame " << i;
      EXPECT_EQ(written.low, steered.hash) << "seed " << seed << ", frame " << i;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// A Pair whose rings are used at random.
class Rings : public Pair {
 public:
  using Pair::Pair;

  void Step() {
    const uint32_t queue = Below(random, kQueues);
    switch (Below(random, 10)) {
      case 0:
        if (OneIn(random, 4)) StartRx(queue);
        break;
      case 1:
        if (OneIn(random, 4)) StartTx(queue);
        break;
      case 2:
        if (OneIn(random, 8)) Settings(false);
        break;
      case 3:
        if (OneIn(random, 30)) Write(kReset, 4, kResetMagic);
        break;
      case 4:
      case 5:
        PostRx(queue);
        break;
      case 6:
      case 7:
        PostTx(queue);
        break;
      default:
        Receive();
    }
    while (cpu.nic.Transmit(cpu.sink, 1000) != 0) {
    }
    card.nic.Transmit(card.sink, 1u << 20);
  }

  void Compare() {
    std::sort(cpu.sink.frames.begin(), cpu.sink.frames.end());
    std::sort(card.sink.frames.begin(), card.sink.frames.end());
    EXPECT_TRUE(cpu.sink.frames == card.sink.frames);
    cpu.sink.frames.clear();
    card.sink.frames.clear();
    for (uint32_t at = 0; at < kStatisticCount; ++at) {
      EXPECT_TRUE(Same(StatisticRegister(at), 8))
          << kStatisticNames[at] << " " << cpu.nic.ReadRegister(StatisticRegister(at), 8) << " "
          << card.nic.ReadRegister(StatisticRegister(at), 8);
    }
    for (uint32_t queue = 0; queue < kQueues; ++queue) {
      for (const uint32_t block : {kRxBlock, kTxBlock}) {
        const uint32_t page = QueuePage(queue) + block;
        EXPECT_TRUE(Same(page + kRingStatus, 4)) << queue;
        EXPECT_TRUE(Same(page + kRingHead, 4)) << queue;
        const uint32_t ring = Ring(queue, block == kTxBlock);
        for (uint32_t at = ring; at < ring + kEntries * kDescriptorBytes; at += sizeof(uint64_t)) {
          const uint64_t expected = Word(cpu.memory.get() + at),
                         word = Word(card.memory.get() + at);
          EXPECT_TRUE(expected == word)
              << "ring " << queue << (block == kTxBlock ? " TX" : " RX") << ", word "
              << (at - ring) / sizeof(word) << std::hex << ": " << expected << " " << word;
        }
      }
      for (uint32_t i = 0; i < kEntries; ++i) {
        Descriptor done;
        std::memcpy(&done, cpu.memory.get() + Ring(queue, false) + i * sizeof(done), sizeof(done));
        const auto bytes = static_cast<uint16_t>(done.high);
        if ((done.high & kDone) == 0 || bytes == 0) continue;
        // Compares the buffer only once, because it is reused.
        const uint32_t at = std::exchange(posted_at[queue][i], 0);
        if (at == 0) continue;
        EXPECT_EQ(std::memcmp(cpu.memory.get() + at, card.memory.get() + at, bytes), 0)
            << "queue " << queue << ", descriptor " << i;
      }
    }
  }

 private:
  static uint64_t Word(const uint8_t* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    return word;
  }

  void StartRx(uint32_t queue) {
    const uint32_t page = QueuePage(queue) + kRxBlock;
    static constexpr uint32_t kRooms[] = {128, 200, 255, 1000, 2048, 100, 0x10000};
    rx_entries[queue] = 64u << Below(random, 3);
    Write(page + kRingBase, 8, kBus + Ring(queue, false) + (OneIn(random, 20) ? 16 : 0));
    Write(page + kRingEntries, 4, OneIn(random, 20) ? 65 : rx_entries[queue]);
    Write(page + kRingBuffer, 4, kRooms[Below(random, OneIn(random, 10) ? 7 : 5)]);
    Write(page + kRingControl, 4,
          (OneIn(random, 10) ? 0 : kRingEnable) | (OneIn(random, 2) ? kRingScatter : 0));
    rx_tail[queue] = 0;
  }
  void StartTx(uint32_t queue) {
    const uint32_t page = QueuePage(queue) + kTxBlock;
    tx_entries[queue] = 64u << Below(random, 3);
    Write(page + kRingBase, 8, kBus + Ring(queue, true));
    Write(page + kRingEntries, 4, tx_entries[queue]);
    Write(page + kRingControl, 4, OneIn(random, 10) ? 0 : kRingEnable);
    tx_tail[queue] = 0;
  }

  /// Returns the address of buffer `number`, which is sometimes unaligned. Sometimes returns an
  /// address that is probably invalid.
  uint64_t Address(uint32_t number, uint32_t* offset) {
    *offset = kBuffers + number * kSlotBytes + (OneIn(random, 4) ? Below(random, 16) : 0);
    const uint64_t address = kBus + *offset;
    if (!OneIn(random, 30)) return address;
    *offset = 0;
    return OneIn(random, 2) ? Below(random, kBus)
                            : kBus + Side<IpuCardNic>::kBytes - Below(random, 300);
  }
  void Doorbell(uint32_t page, uint32_t tail) {
    if (OneIn(random, 40)) Write(page + kRingTail, 4, tail + 100 + Below(random, 5000));
    Write(page + kRingTail, 4, tail);
  }

  void PostRx(uint32_t queue) {
    const uint32_t page = QueuePage(queue) + kRxBlock, entries = rx_entries[queue];
    if (entries == 0) return;
    const auto head = static_cast<uint32_t>(cpu.nic.ReadRegister(page + kRingHead, 4));
    const uint32_t room = entries - (rx_tail[queue] - head);
    if (room > entries) return;
    for (uint32_t i = Below(random, room + 1); i != 0; --i) {
      const uint32_t slot = rx_tail[queue]++ % entries;
      const Descriptor descriptor = {Address(queue * kEntries + slot, &posted_at[queue][slot]), 0};
      Both(Ring(queue, false) + slot * kDescriptorBytes, &descriptor, sizeof(descriptor));
    }
    Doorbell(page, rx_tail[queue]);
  }

  void PostTx(uint32_t queue) {
    const uint32_t page = QueuePage(queue) + kTxBlock, entries = tx_entries[queue];
    if (entries == 0) return;
    const auto head = static_cast<uint32_t>(cpu.nic.ReadRegister(page + kRingHead, 4));
    const uint32_t room = entries - (tx_tail[queue] - head);
    if (room > entries) return;
    for (uint32_t i = Below(random, room + 1); i != 0; --i) {
      uint32_t offset;
      const uint32_t slot = tx_tail[queue]++ % entries;
      Descriptor descriptor = {Address((kQueues + queue) * kEntries + slot, &offset), 0};
      const uint32_t bytes = OneIn(random, 3) ? Below(random, 2000) : 1 + Below(random, 100);
      std::array<uint8_t, 2000> data;
      for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
      if (offset != 0) Both(offset, data.data(), bytes);
      descriptor.high = bytes;
      if (!OneIn(random, open_chains ? 200 : 3)) descriptor.high |= kTxEndOfPacket;
      if (open_chains && !OneIn(random, 50)) descriptor.high &= ~kTxEndOfPacket;
      if (OneIn(random, 5)) descriptor.high |= kTxReport;
      if (OneIn(random, 100)) descriptor.high = (descriptor.high & ~uint64_t{0xffff}) | 60'000;
      // Requests a checksum that cannot be inserted.
      if (OneIn(random, 50)) descriptor.high |= kTxIpChecksum | uint64_t{19} << kTxIpLengthShift;
      Both(Ring(queue, true) + slot * kDescriptorBytes, &descriptor, sizeof(descriptor));
    }
    open_chains = OneIn(random, 10);
    Doorbell(page, tx_tail[queue]);
  }

  void Receive() {
    const bool pause = OneIn(random, 3);
    std::vector<std::string> frames(1 + Below(random, 100));
    std::vector<WireFrame> wire;
    for (std::string& frame : frames) {
      // If `pause` is set, the model waits for buffers even for a frame that it then drops.
      frame = RandomFrame(random, 80, pause ? 128 : OneIn(random, 20) ? 9800 : 500);
      // The tag has the generator's value, so that the card's write does not change the frame.
      char* const tag = frame.data() + frame.size() - 16;
      for (uint32_t i = 0; i < 4; ++i) tag[4 + i] = static_cast<char>(~tag[i]);
      wire.push_back(Wire(frame));
    }
    EXPECT_EQ(cpu.nic.Receive(wire, pause), card.nic.Receive(wire, pause));
  }

  static constexpr uint32_t kEntries = 256;  ///< Maximum entries of a ring.
  static constexpr uint32_t kSlotBytes = 2304;

  std::array<std::array<uint32_t, kEntries>, kQueues> posted_at{};
  std::array<uint32_t, kQueues> rx_entries{}, tx_entries{}, rx_tail{}, tx_tail{};
  bool open_chains = false;
};

TEST(IpuCardRings, AllThatTheHostSeesIsThatOfTheCpusModel) {
  std::array<uint64_t, kStatisticCount> counted{};
  for (uint32_t seed = 1; seed <= 15; ++seed) {
    Rings rings(seed);
    for (uint32_t step = 0; step < 300; ++step) {
      rings.Step();
      rings.Compare();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step;
    }
    const auto counters = rings.card.nic.Counters();
    for (uint32_t i = 0; i < kStatisticCount; ++i) counted[i] += counters[i].value;
  }
  for (const Statistic seen :
       {kStatRxFrames, kStatRxNoDescriptor, kStatRxOversize, kStatRxFiltered, kStatRxDisabled,
        kStatRxDmaFault, kStatTxFrames, kStatTxBadDescriptor, kStatTxDmaFault, kStatBadDoorbell}) {
    EXPECT_GT(counted[seen], 20u) << kStatisticNames[seen];
  }
}

}  // namespace
}  // namespace sluice::device::grid
