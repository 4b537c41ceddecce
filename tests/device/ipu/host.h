// SPDX-License-Identifier: BSD-3-Clause
//
// A host for the packetized NIC model, with rings and buffers in normal memory. Tests control each
// descriptor through the registers of regs/ipu.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "device/ipu/ipu_nic.h"
#include "regs/ipu.h"

namespace sluice::device::ipu::test {

using namespace regs::ipu;  // NOLINT: every test uses these names

/// Stores the frames that the device sends.
class RecordingSink final : public FrameSink {
 public:
  void Deliver(std::span<const WireFrame> frames) override {
    largest_burst = std::max(largest_burst, frames.size());
    for (const WireFrame& frame : frames) {
      this->frames.emplace_back(reinterpret_cast<const char*>(frame.data), frame.length);
    }
  }
  std::vector<std::string> frames;
  size_t largest_burst = 0;
};

/// Creates the device under test: the CPU's model, or another implementation.
std::unique_ptr<Device> MakeNic(const bar::DmaSpace& dma);

/// Host memory whose bus addresses differ from its pointers, so that a model that confuses them
/// causes a fault.
class Host {
 public:
  static constexpr uint64_t kBus = 0x4000'0000;
  static constexpr uint32_t kBytes = 8u << 20;
  static constexpr uint32_t kRingOffset = 0;  ///< The RX ring of queue q is at q · 64 KiB.
  static constexpr uint32_t kTxRingOffset = 1 << 20;
  static constexpr uint32_t kBuffers = 2 << 20;

  Host()
      : memory_(new (std::align_val_t{kPageBytes}) uint8_t[kGuard + kBytes + kGuard]()),
        owned_(MakeNic(dma)),
        nic(*owned_) {
    std::memset(memory_.get(), kUntouched, kGuard);
    std::memset(At(kBytes), kUntouched, kGuard);
    dma.Add(kBus, At(0), kBytes);
    nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
    nic.WriteRegister(kMaxFrame, 4, kMaxFrameBytes);
  }

  uint8_t* At(uint32_t offset) { return memory_.get() + kGuard + offset; }
  /// Returns whether the memory before and after the device's range is unchanged.
  bool StayedInside() {
    const auto untouched = [](const uint8_t* from) {
      return std::all_of(from, from + kGuard, [](uint8_t byte) { return byte == kUntouched; });
    };
    return untouched(memory_.get()) && untouched(At(kBytes));
  }
  Descriptor& Rx(uint32_t index, uint32_t queue = 0) {
    return reinterpret_cast<Descriptor*>(At(kRingOffset + queue * 65536))[index];
  }
  Descriptor& Tx(uint32_t index, uint32_t queue = 0) {
    return reinterpret_cast<Descriptor*>(At(kTxRingOffset + queue * 65536))[index];
  }
  void Write(uint32_t queue, uint32_t block, uint32_t reg, uint64_t value) {
    nic.WriteRegister(QueuePage(queue) + block + reg, reg == kRingBase ? 8 : 4, value);
  }
  uint32_t Read(uint32_t queue, uint32_t block, uint32_t reg) {
    return static_cast<uint32_t>(nic.ReadRegister(QueuePage(queue) + block + reg, 4));
  }

  /// Enables a queue with buffers of `room` bytes, and posts `posted` buffers, 2 KiB apart.
  void StartRx(uint32_t entries, uint32_t room, uint32_t posted, bool scatter = false,
               uint32_t queue = 0) {
    Write(queue, kRxBlock, kRingBase, kBus + kRingOffset + queue * 65536);
    Write(queue, kRxBlock, kRingEntries, entries);
    Write(queue, kRxBlock, kRingBuffer, room);
    for (uint32_t i = 0; i < posted; ++i) Rx(i, queue) = {kBus + Buffer(i, queue), 0};
    Write(queue, kRxBlock, kRingControl, kRingEnable | (scatter ? kRingScatter : 0));
    Write(queue, kRxBlock, kRingTail, posted);
  }
  void StartTx(uint32_t entries, uint32_t queue = 0) {
    Write(queue, kTxBlock, kRingBase, kBus + kTxRingOffset + queue * 65536);
    Write(queue, kTxBlock, kRingEntries, entries);
    Write(queue, kTxBlock, kRingControl, kRingEnable);
  }
  /// Returns the offset of RX buffer `index`; buffers are 2 KiB apart.
  static uint32_t Buffer(uint32_t index, uint32_t queue = 0) {
    return kBuffers + queue * (256 << 10) + (index % 128) * 2048;
  }

  uint32_t Receive(const std::string& frame, bool pause = false) {
    const WireFrame wire{reinterpret_cast<const uint8_t*>(frame.data()),
                         static_cast<uint32_t>(frame.size())};
    return nic.Receive({&wire, 1}, pause);
  }
  std::string Received(uint32_t index, uint32_t queue = 0) {
    return {reinterpret_cast<char*>(At(Buffer(index, queue))),
            static_cast<uint16_t>(Rx(index, queue).high)};
  }
  /// Posts one TX descriptor that points at `offset`.
  void PostTx(uint32_t index, uint32_t offset, uint32_t length, uint64_t bits) {
    Tx(index) = {kBus + offset, length | bits};
  }
  uint64_t Stat(Statistic statistic) { return nic.ReadRegister(StatisticRegister(statistic), 8); }

 private:
  static constexpr uint32_t kGuard = 16 * kPageBytes;  ///< Larger than any buffer.
  static constexpr uint8_t kUntouched = 0xa5;
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{kPageBytes}); }
  };
  std::unique_ptr<uint8_t[], Free> memory_;

 public:
  bar::DmaSpace dma;

 private:
  std::unique_ptr<Device> owned_;

 public:
  Device& nic;
};

/// Returns an Ethernet frame of `size` bytes with a payload that depends on `seed`.
inline std::string PlainFrame(uint32_t size, uint8_t seed = 1) {
  std::string frame(size, '\0');
  for (uint32_t i = 0; i < size; ++i) frame[i] = static_cast<char>(seed + i * 7);
  if (size >= 14) frame[12] = frame[13] = '\x01';  // An unknown EtherType.
  return frame;
}

struct Tuple {
  std::array<uint8_t, 4> source;
  std::array<uint8_t, 4> destination;
  uint16_t source_port;
  uint16_t destination_port;
  uint8_t protocol = 17;
};

/// Returns an IPv4 frame of 60 bytes whose checksums are zero.
inline std::string Ipv4Frame(const Tuple& tuple) {
  std::string frame(60, '\0');
  const auto put = [&](uint32_t at, uint32_t value) { frame[at] = static_cast<char>(value); };
  put(12, 0x08), put(14, 0x45), put(17, 46), put(22, 64), put(23, tuple.protocol);
  std::memcpy(frame.data() + 26, tuple.source.data(), 4);
  std::memcpy(frame.data() + 30, tuple.destination.data(), 4);
  put(34, tuple.source_port >> 8), put(35, tuple.source_port);
  put(36, tuple.destination_port >> 8), put(37, tuple.destination_port);
  put(39, 26);
  return frame;
}

}  // namespace sluice::device::ipu::test
