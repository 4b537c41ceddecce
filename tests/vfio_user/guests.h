// SPDX-License-Identifier: BSD-3-Clause
//
// Register-level drivers in a guest that echo every received frame. The guest's memory is one file,
// mapped for the device from kBus.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "client.h"
#include "regs/enso.h"
#include "regs/ipu.h"
#include "regs/pci_function.h"

namespace sluice::emulator::vfio_user::test {

inline constexpr uint64_t kBus = 0x1'4000'0000;

template <typename T>
T LoadAcquire(uint8_t* at) {
  return std::atomic_ref(*reinterpret_cast<T*>(at)).load(std::memory_order_acquire);
}
template <typename T>
void StoreRelease(uint8_t* at, T value) {
  std::atomic_ref(*reinterpret_cast<T*>(at)).store(value, std::memory_order_release);
}

/// Lets `guest` echo frames until `condition` is true. Returns false after a minute.
template <typename Guest, typename Condition>
bool PollsUntil(Guest& guest, Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    for (int i = 0; i < 64; ++i) guest.Poll();
  }
  return true;
}

/// Drives queue 0 of net_ipu (regs/ipu.h).
class IpuGuest {
 public:
  static constexpr uint32_t kBar = regs::pci::kIpuRegisterBar;
  static constexpr uint32_t kEntries = 64;
  static constexpr uint32_t kRoom = 2048;
  static constexpr uint64_t kRxRing = 0;
  static constexpr uint64_t kTxRing = 4096;
  static constexpr uint64_t kBuffers = 8192;
  static constexpr uint64_t kBytes = kBuffers + kEntries * kRoom;

  IpuGuest(Client& client, SharedMemory& memory) : client_(client), memory_(memory) {}

  void Store(uint32_t offset, uint64_t value, uint32_t bytes = 4) {
    client_.Write(kBar, offset, bytes, value);
  }
  uint64_t Load(uint32_t offset, uint32_t bytes = 4) { return client_.Read(kBar, offset, bytes); }
  uint64_t Statistic(regs::ipu::Statistic statistic) {
    return Load(regs::ipu::StatisticRegister(statistic), 8);
  }

  /// Sets registers and rings as a driver does when it starts.
  void Start() {
    using namespace regs::ipu;  // NOLINT: this is that register map's user
    Store(kMaxFrame, 1518);
    Store(kPortControl, kPortReceive | kPortPromiscuous);
    for (uint32_t i = 0; i < kEntries; ++i) Post(i);
    received_ = 0;
    for (const bool transmit : {true, false}) {
      const uint32_t block = QueuePage(0) + (transmit ? kTxBlock : kRxBlock);
      Store(block + kRingBase, kBus + (transmit ? kTxRing : kRxRing), 8);
      Store(block + kRingEntries, kEntries);
      Store(block + kRingBuffer, kRoom);
      Store(block + kRingControl, kRingEnable);
      EXPECT_EQ(Load(block + kRingStatus), 1u);
    }
    Store(QueuePage(0) + kRxBlock + kRingTail, kEntries);
  }
  /// Echoes the received frames.
  void Poll() {
    using namespace regs::ipu;  // NOLINT
    client_.Pump();
    const uint32_t first = received_;
    for (; received_ - first < kEntries / 2; ++received_) {
      uint8_t* const from = memory_.At(kRxRing + received_ % kEntries * kDescriptorBytes);
      const auto high = LoadAcquire<uint64_t>(from + 8);
      if ((high & kDone) == 0) break;
      uint8_t* const to = memory_.At(kTxRing + received_ % kEntries * kDescriptorBytes);
      const uint64_t address = kBus + Buffer(received_);
      std::memcpy(to, &address, sizeof(address));
      StoreRelease<uint64_t>(to + 8, (high & 0xffff) | kTxEndOfPacket | kTxReport);
    }
    if (received_ == first) return;
    Store(QueuePage(0) + kTxBlock + kRingTail, received_);
    // A buffer is posted again once its frame has been sent.
    uint8_t* const last = memory_.At(kTxRing + (received_ - 1) % kEntries * kDescriptorBytes);
    while (LoadAcquire<uint64_t>(last + 8) != kDone) {
      if (Load(QueuePage(0) + kTxBlock + kRingStatus) != 1) return;
    }
    for (uint32_t i = first; i != received_; ++i) Post(i);
    Store(QueuePage(0) + kRxBlock + kRingTail, kEntries + received_);
  }
  void Arm(bool on = true) {
    Store(regs::ipu::QueuePage(0) + regs::ipu::kRxBlock + regs::ipu::kRingInterrupt,
          on ? regs::ipu::kRingInterruptArm | received_ : 0, 8);
  }

 private:
  static uint64_t Buffer(uint32_t index) { return kBuffers + uint64_t{index % kEntries} * kRoom; }
  void Post(uint32_t index) {
    const uint64_t descriptor[2] = {kBus + Buffer(index), 0};
    std::memcpy(memory_.At(kRxRing + index % kEntries * regs::ipu::kDescriptorBytes), descriptor,
                sizeof(descriptor));
  }

  Client& client_;
  SharedMemory& memory_;
  uint32_t received_ = 0;
};

/// Drives pipe 0 and notification buffer 0 of Ensō (docs/enso-hardware.md).
class EnsoGuest {
 public:
  static constexpr uint32_t kBar = regs::enso::kPciBar;
  static constexpr uint32_t kPipeFlits = 1024;
  static constexpr uint32_t kSlots = 64;
  static constexpr uint64_t kPipe = 0;
  static constexpr uint64_t kRxRing = kPipeFlits * 64;
  static constexpr uint64_t kTxRing = kRxRing + kSlots * 64;
  static constexpr uint64_t kBytes = kTxRing + kSlots * 64;

  EnsoGuest(Client& client, SharedMemory& memory) : client_(client), memory_(memory) {}

  void Store(uint32_t offset, uint64_t value, uint32_t bytes = 4) {
    client_.Write(kBar, offset, bytes, value);
  }
  uint32_t Load(uint32_t offset) { return static_cast<uint32_t>(client_.Read(kBar, offset, 4)); }

  void Start() {
    using namespace regs::enso;  // NOLINT: this is that register map's user
    slot_ = sent_ = head_ = 0;
    std::memset(memory_.At(0), 0, kBytes);
    for (const uint32_t reg : {kRxTail, kRxHead, kTxTail, kTxHead}) Store(NbPage(0) + reg, 0);
    Store(NbPage(0) + kRxMemLo, kBus + kRxRing, 8);
    Store(NbPage(0) + kTxMemLo, kBus + kTxRing, 8);
    Store(PipePage(0) + kRxTail, 0, 8);
    Store(PipePage(0) + kRxMemLo, kBus + kPipe, 8);
    // Frames without a matching flow go to pipe 0.
    const FallbackConfig fallback{
        kSignalConfig, static_cast<uint64_t>(ConfigId::kFallback), 1, 0, 0, {}};
    Send(&fallback);
  }
  void Poll() {
    using namespace regs::enso;  // NOLINT
    client_.Pump();
    uint8_t* const slot = memory_.At(kRxRing + slot_ % kSlots * kFlitBytes);
    if (LoadAcquire<uint64_t>(slot) == kSignalNone) return;
    uint64_t tail;
    std::memcpy(&tail, slot + offsetof(RxNotification, tail), sizeof(tail));
    StoreRelease<uint64_t>(slot, kSignalNone);
    Store(NbPage(0) + kRxHead, ++slot_ % kSlots);
    while (head_ != tail) {  // There are two pieces if the data wraps.
      const uint64_t end = tail > head_ ? tail : kPipeFlits;
      const TxNotification data{
          kSignalData, kBus + kPipe + head_ * kFlitBytes, (end - head_) * kFlitBytes, {}};
      Send(&data);
      head_ = end % kPipeFlits;
    }
    Store(PipePage(0) + kRxHead, head_);
  }

 private:
  /// Publishes a slot and waits until the NIC has completed it.
  template <typename Slot>
  void Send(const Slot* slot) {
    using namespace regs::enso;  // NOLINT
    uint8_t* const at = memory_.At(kTxRing + sent_ % kSlots * kFlitBytes);
    std::memcpy(at + 8, reinterpret_cast<const uint8_t*>(slot) + 8, kFlitBytes - 8);
    StoreRelease<uint64_t>(at, slot->signal);
    Store(NbPage(0) + kTxTail, ++sent_ % kSlots);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (LoadAcquire<uint64_t>(at) != kSignalNone) {
      client_.Pump();
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "slot " << sent_ << " is never completed";
        return;
      }
    }
  }

  Client& client_;
  SharedMemory& memory_;
  uint32_t slot_ = 0;
  uint32_t sent_ = 0;
  uint64_t head_ = 0;
};

}  // namespace sluice::emulator::vfio_user::test
