// SPDX-License-Identifier: BSD-3-Clause
//
// A host that behaves arbitrarily towards the packetized NIC: it converts a string of bytes to
// register accesses, descriptors, links, endpoints and frames. It checks the properties that must
// hold for any input. Used by the seeded test and by the fuzz target.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "bar/dma.h"
#include "bar/shared_line.h"
#include "coherent/endpoint_memory.h"
#include "coherent/frames.h"
#include "device/ipu/ipu_nic.h"
#include "regs/ipu.h"
#include "swap/link_memory.h"

namespace sluice::device::ipu {

class HostileHost {
 public:
  static constexpr uint64_t kBus = 0x4000'0000;
  static constexpr uint32_t kBytes = 256 << 10;
  static constexpr uint32_t kQueues = 4;
  static constexpr uint32_t kRingBytes = 4096;  ///< Bytes per ring; RX rings precede TX rings.
  static constexpr swap::Geometry kGeometry{3, 16384, 16, 0};
  /// The link's memory is at the end, so an overrun is outside the allocation.
  static constexpr uint32_t kLinkOffset = kBytes - (swap::kRegionsOffset + 3 * 16384);

  static constexpr coherent::Geometry kLines{.overflow_lines = 24};
  static constexpr uint32_t kEndpointOffset =
      (kLinkOffset - static_cast<uint32_t>(kLines.Bytes())) / 4096 * 4096;

  /// Processes the complete input. Returns the violated property, or null.
  const char* Run(std::span<const uint8_t> input) {
    input_ = input;
    dma_->Add(kBus, memory_.get(), kBytes);
    IpuNic nic(*dma_, {.queue_pairs = kQueues});
    nic.WriteRegister(regs::ipu::kPortControl, 4,
                      regs::ipu::kPortReceive | regs::ipu::kPortPromiscuous);
    nic.WriteRegister(regs::ipu::kMaxFrame, 4, regs::ipu::kMaxFrameBytes);
    while (!input_.empty() && violation_ == nullptr) Step(nic);
    nic.Transmit(sink_, 1000);
    nic.HostDied(sink_);
    Judge(nic);
    return violation_;
  }
  /// Returns the device's statistics, which show how much of the device the input reached.
  const Statistics& statistics() const { return statistics_; }

 private:
  class Reader final : public FrameSink {
   public:
    void Deliver(std::span<const WireFrame> frames) override {
      if (frames.empty() || frames.size() > TxStaging::kBurst) bad_burst = true;
      for (const WireFrame& frame : frames) {
        if (frame.length < regs::ipu::kMinFrameBytes || frame.length > regs::ipu::kMaxFrameBytes) {
          bad_length = true;
        }
        // Every byte is readable.
        for (uint32_t i = 0; i < frame.length; ++i) sum = sum + frame.data[i];
        bytes += frame.length;
        ++count;
      }
    }
    uint64_t count = 0;
    uint64_t bytes = 0;
    volatile uint64_t sum = 0;
    bool bad_burst = false, bad_length = false;
  };
  struct Free {
    void operator()(uint8_t* p) const {
      ::operator delete[](p, std::align_val_t{regs::ipu::kPageBytes});
    }
  };

  uint8_t Consume8() {
    if (input_.empty()) return 0;
    const uint8_t value = input_.front();
    input_ = input_.subspan(1);
    return value;
  }
  uint64_t Consume(uint32_t bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; ++i) value = value << 8 | Consume8();
    return value;
  }
  /// Returns an address, usually near or in the host's memory and sometimes arbitrary.
  uint64_t ConsumeAddress() {
    const uint8_t kind = Consume8();
    if (kind < 16) return Consume(8);
    const uint64_t at = kBus + Consume(3) % (kBytes + 8192);
    return kind < 128 ? at : at & ~uint64_t{63};
  }
  template <typename T>
  T& At(uint32_t offset) {
    return *reinterpret_cast<T*>(memory_.get() + offset);
  }

  void Step(IpuNic& nic) {
    const uint32_t queue = Consume8() % kQueues;
    switch (Consume8() % 15) {
      case 0:
        nic.WriteRegister(static_cast<uint32_t>(Consume(3)), Consume8() % 9, Consume(8));
        break;
      case 1:
        nic.ReadRegister(static_cast<uint32_t>(Consume(3)), Consume8() % 9);
        break;
      case 2:
        StartRing(nic, queue, Consume8() % 2 != 0);
        break;
      case 3: {
        const bool transmit = Consume8() % 2 != 0;
        uint32_t& tail = tails_[transmit][queue];
        tail += Consume8() % 80;
        nic.WriteRegister(Block(queue, transmit) + regs::ipu::kRingTail, 4, tail);
        break;
      }
      case 4:
      case 5:
        PutDescriptor(queue);
        break;
      case 6:
        Receive(nic);
        break;
      case 7:
        nic.Transmit(sink_, 1 + Consume8() % 80);
        break;
      case 8:
        StartLink(nic, queue);
        break;
      case 9:
        SpoilLink();
        break;
      case 10:
        CommandFlow(nic);
        break;
      case 11:
        StartEndpoint(nic, queue);
        break;
      case 12:
      case 13:
        PlayEndpoint();
        nic.SetTime(now_ns_ += Consume8() % 4 * 5'000'000);
        break;
      default:
        nic.WriteRegister(regs::ipu::kPortControl, 4, Consume8() | regs::ipu::kPortReceive);
        nic.WriteRegister(regs::ipu::kRssFields, 4, Consume8());
        nic.WriteRegister(regs::ipu::kReta + Consume8() % 128 / 4 * 4, 4, Consume(4) & 0x0303'0303);
        break;
    }
    if (sink_.bad_burst) violation_ = "a burst is empty, or too long";
    if (sink_.bad_length) violation_ = "a frame that no wire carries";
  }

  static uint32_t Block(uint32_t queue, bool transmit) {
    return regs::ipu::QueuePage(queue) + (transmit ? regs::ipu::kTxBlock : regs::ipu::kRxBlock);
  }
  static uint32_t RingOffset(uint32_t queue, bool transmit) {
    return (queue + (transmit ? kQueues : 0)) * kRingBytes;
  }

  /// Starts a ring, usually at its regular address and sometimes at an arbitrary one.
  void StartRing(IpuNic& nic, uint32_t queue, bool transmit) {
    const uint8_t how = Consume8();
    const uint32_t block = Block(queue, transmit);
    const uint64_t base = how < 32 ? ConsumeAddress() : kBus + RingOffset(queue, transmit);
    const uint64_t entries = how % 8 == 0 ? Consume(4) : uint64_t{64} << how % 3;
    nic.WriteRegister(block + regs::ipu::kRingBase, 8, base);
    nic.WriteRegister(block + regs::ipu::kRingEntries, 4, entries);
    nic.WriteRegister(block + regs::ipu::kRingBuffer, 4, Consume(2));
    nic.WriteRegister(block + regs::ipu::kRingControl, 4, how % 16 == 1 ? 0 : 1 + Consume8() % 4);
    tails_[transmit][queue] = 0;
  }

  /// Writes consecutive descriptors, so that chains of segments occur.
  void PutDescriptor(uint32_t queue) {
    const uint32_t ring = RingOffset(queue, Consume8() % 2 != 0);
    uint32_t at = Consume8();
    for (uint32_t n = 1 + Consume8() % 16; n != 0; --n, ++at) {
      auto& descriptor = At<regs::ipu::Descriptor>(ring + at % 256 * regs::ipu::kDescriptorBytes);
      descriptor.low = ConsumeAddress();
      const uint8_t kind = Consume8();
      uint64_t high = kind < 8 ? Consume(8) : Consume(kind % 2 + 1) | uint64_t{kind} << 16;
      // Inserts a checksum at an arbitrary offset.
      if (kind >= 128) high |= Consume(3) << regs::ipu::kTxIpOffsetShift;
      descriptor.high = high;
    }
  }

  void StartLink(IpuNic& nic, uint32_t queue) {
    const uint8_t how = Consume8();
    const std::span<uint8_t> memory(memory_.get() + kLinkOffset, kBytes - kLinkOffset);
    if (how % 4 == 0) {
      std::memset(memory.data(), 0, memory.size());
      swap::LinkMemory::Format(memory, kGeometry);
    }
    const uint32_t block = regs::ipu::QueuePage(queue) + regs::ipu::kLinkBlock;
    nic.WriteRegister(Block(queue, false) + regs::ipu::kRingControl, 4, 0);
    nic.WriteRegister(Block(queue, true) + regs::ipu::kRingControl, 4, 0);
    nic.WriteRegister(block + regs::ipu::kLinkBase, 8,
                      how < 32 ? ConsumeAddress() : kBus + kLinkOffset);
    nic.WriteRegister(block + regs::ipu::kLinkBytes, 8, how < 64 ? Consume(3) : memory.size());
    nic.WriteRegister(block + regs::ipu::kLinkEpoch, 4, how % 8);
    nic.WriteRegister(block + regs::ipu::kLinkControl, 4, how % 16 == 15 ? 0 : 1);
  }

  /// Modifies a word of the link's memory, or makes an offer that the NIC expects next.
  void SpoilLink() {
    auto& header = At<swap::LinkHeader>(kLinkOffset);
    const uint8_t what = Consume8();
    if (what < 64) {
      At<uint32_t>(kLinkOffset + static_cast<uint32_t>(Consume(2)) % (kBytes - kLinkOffset) / 4 *
                                     4) = static_cast<uint32_t>(Consume(4));
      return;
    }
    bar::Line line;
    bar::ReadLine(header.nic_line, line);
    const swap::Message nic = swap::Decode(line);
    bar::ReadLine(header.host_line, line);
    swap::Message message = swap::Decode(line);
    message.epoch = nic.epoch;
    message.incarnation = 1;
    message.peer_incarnation = nic.incarnation;
    message.binding = nic.binding;
    message.txid = nic.txid + (what % 8 == 0 ? Consume8() : 1);
    message.phase = what % 4 == 0                     ? static_cast<swap::Phase>(Consume8() % 8)
                    : nic.phase == swap::Phase::kSync ? swap::Phase::kSync
                                                      : swap::Phase::kOffer;
    message.flags = swap::kStanding;
    message.key = what % 2;
    const uint32_t region = Consume8() % 4;
    const auto frames = static_cast<uint32_t>(what < 96 ? Consume(4) : Consume8() % 20);
    for (uint32_t i = 0; i < std::min(frames, kGeometry.max_frames) && region < 3; ++i) {
      At<uint32_t>(kLinkOffset + swap::kRegionsOffset + region * kGeometry.region_bytes +
                   swap::kRegionLineBytes + i * 4) =
          what % 16 == 3 ? static_cast<uint32_t>(Consume(4))
                         : swap::MakeEntry(kGeometry.DataOffset() + i * 64, 14 + Consume8() % 50);
    }
    message.payload = {swap::Given{region, frames}.Word()};
    bar::PublishLine(header.host_line, swap::Encode(message));
  }

  void StartEndpoint(IpuNic& nic, uint32_t queue) {
    const uint8_t how = Consume8();
    const std::span<uint8_t> memory(memory_.get() + kEndpointOffset, kLines.Bytes());
    if (how % 4 == 0) {
      std::memset(memory.data(), 0, memory.size());
      coherent::EndpointMemory::Format(memory, kLines);
    }
    const uint32_t page = regs::ipu::QueuePage(queue);
    const uint32_t block = page + regs::ipu::kEndpointBlock;
    nic.WriteRegister(Block(queue, false) + regs::ipu::kRingControl, 4, 0);
    nic.WriteRegister(Block(queue, true) + regs::ipu::kRingControl, 4, 0);
    nic.WriteRegister(page + regs::ipu::kLinkBlock + regs::ipu::kLinkControl, 4, 0);
    nic.WriteRegister(block + regs::ipu::kEndpointBase, 8,
                      how < 32 ? ConsumeAddress() : kBus + kEndpointOffset);
    nic.WriteRegister(block + regs::ipu::kEndpointBytes, 8, how < 64 ? Consume(3) : memory.size());
    nic.WriteRegister(block + regs::ipu::kEndpointControl, 4, how % 16 == 15 ? 0 : 1);
  }

  /// Modifies a word of the endpoint's memory, or returns a line by loading the next one.
  void PlayEndpoint() {
    const uint8_t what = Consume8();
    if (what < 16) {
      At<uint32_t>(kEndpointOffset + static_cast<uint32_t>(Consume(2)) % kLines.Bytes() / 4 * 4) =
          static_cast<uint32_t>(Consume(4));
      return;
    }
    const auto pair = static_cast<coherent::Pair>(what % 2);
    auto& header = At<coherent::EndpointHeader>(kEndpointOffset);
    uint64_t& load = header.host[what % 2].load;
    const auto number = static_cast<uint32_t>(load);
    auto& line = At<coherent::ControlLine>(kEndpointOffset + kLines.LineOffset(pair, number));
    coherent::FrameWriter writer({line.payload.data(), kLines.LineCapacity()});
    for (uint32_t frames = Consume8() % 50; frames != 0; --frames) {
      const uint32_t length = coherent::kMinFrameBytes + Consume8() % 50;
      uint8_t* const frame = writer.Add(length, coherent::Control::kMaxCount);
      if (frame == nullptr || what % 32 != 5) continue;
      const coherent::Record elsewhere{
          // Marks the frame as grown.
          .stride = static_cast<uint16_t>(coherent::RecordBytes(length, 0)),
          .offset = coherent::kRecordBytes,
          .length = 0,
          .flags = static_cast<uint16_t>(Consume(2) % 512)};
      const uint64_t word = elsewhere.Word();
      std::memcpy(frame - coherent::kRecordBytes, &word, sizeof(word));
    }
    if (what % 16 == 7) line.payload[Consume8() % line.payload.size()] = Consume8();
    line.control = coherent::Control{number, writer.length(), writer.count(), false,
                                     what % 8 == 6 ? static_cast<coherent::Kind>(Consume8() % 9)
                                                   : coherent::Kind::kFrames}
                       .Word();
    load += what % 64 == 9 ? Consume8() : 1;
  }

  void CommandFlow(IpuNic& nic) {
    using namespace regs::ipu;  // NOLINT: the flow registers' names
    const uint8_t what = Consume8();
    nic.WriteRegister(kFlowFields, 4, what < 16 ? Consume(4) : what % 32);
    nic.WriteRegister(kFlowProtocol, 4, (what % 2 != 0 ? 4 : 6) << 8 | (what % 4 < 2 ? 17 : 6));
    nic.WriteRegister(kFlowPorts, 4, Consume8() % 4);
    nic.WriteRegister(kFlowSource, 4, Consume8() % 4);
    nic.WriteRegister(kFlowAction, 4, Consume(2) & 0x7ff);
    nic.WriteRegister(kFlowMark, 4, what);
    nic.WriteRegister(kFlowCommand, 4, what < 128 ? 1 : Consume8() % 7);
  }

  void Receive(IpuNic& nic) {
    std::vector<std::vector<uint8_t>> frames(Consume8() % 40);
    std::vector<WireFrame> wire;
    for (std::vector<uint8_t>& frame : frames) {
      // Allocated with the exact length, so that reads beyond the end are detected.
      const uint8_t kind = Consume8();
      frame = std::vector<uint8_t>(kind < 8 ? Consume(2) % 12'000 : kind);
      for (size_t i = 0; i < frame.size() && i < 12; ++i) frame[i] = Consume8() % 4;
      PutHeaders(frame);
      wire.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
    }
    const bool pause = (Consume8() & 1) != 0;
    const uint32_t taken = nic.Receive(wire, pause);
    if (taken > wire.size() || (!pause && taken != wire.size())) violation_ = "frames taken";
    taken_ += taken;
  }
  /// Writes headers that parsers usually recognize: existing types, versions and protocols.
  void PutHeaders(std::vector<uint8_t>& frame) {
    static constexpr std::array<std::array<uint8_t, 3>, 6> kTypes = {
        {{8, 0, 0x45}, {8, 0, 0x4f}, {0x86, 0xdd, 0x60}, {0x81, 0, 0}, {0x88, 0xa8, 0}, {8, 6, 0}}};
    static constexpr std::array<uint8_t, 8> kProtocols = {6, 17, 0, 43, 44, 60, 132, 1};
    const uint8_t kind = Consume8();
    for (size_t i = 12; i < frame.size() && i < 72; ++i) frame[i] = kind % 8 == 7 ? Consume8() : 0;
    if (frame.size() < 64 || kind % 8 == 7) return;
    uint32_t at = 12;
    for (uint32_t tag = 0; tag < kind / 64; ++tag, at += 4) frame[at] = 0x81;
    std::ranges::copy(kTypes[kind % 6], frame.begin() + at);
    frame[at + 4] = Consume8() % 4;  // Total length of IPv4; flow label of IPv6.
    frame[at + 5] = Consume8();
    frame[at + 8] = kProtocols[kind / 8 % 8];
    frame[at + 11] = kProtocols[kind / 8 % 8];
  }

  void Judge(IpuNic& nic) {
    using namespace regs::ipu;  // NOLINT: the statistics' names
    for (uint32_t i = 0; i < kStatisticCount; ++i) {
      statistics_[i] = nic.ReadRegister(StatisticRegister(i), 8);
    }
    uint64_t endings = 0;
    for (const Statistic statistic :
         {kStatRxFrames, kStatRxNoDescriptor, kStatRxOversize, kStatRxUndersize, kStatRxFiltered,
          kStatRxFlowDrop, kStatRxDisabled, kStatRxDmaFault, kStatRxNoRegion, kStatRxNoLine}) {
      endings += statistics_[statistic];
    }
    if (endings != taken_) violation_ = "a received frame has no ending, or two";
    if (statistics_[kStatTxFrames] != sink_.count) violation_ = "tx_frames";
    if (statistics_[kStatTxBytes] != sink_.bytes) violation_ = "tx_bytes";
  }

  std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  std::unique_ptr<uint8_t[], Free> memory_{new (std::align_val_t{regs::ipu::kPageBytes})
                                               uint8_t[kBytes]()};
  uint64_t now_ns_ = 0;
  std::span<const uint8_t> input_;
  Reader sink_;
  std::array<std::array<uint32_t, kQueues>, 2> tails_{};
  uint64_t taken_ = 0;
  Statistics statistics_{};
  const char* violation_ = nullptr;
};

}  // namespace sluice::device::ipu
