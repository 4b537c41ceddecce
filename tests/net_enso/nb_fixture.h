// SPDX-License-Identifier: BSD-3-Clause
//
// A notification buffer for which the test simulates the NIC, slot by slot: registers are memory,
// and the test writes the rings in place of the NIC.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "net_enso/enso_device.h"
#include "net_enso/rte_pmd_enso.h"
#include "regs/enso.h"

namespace sluice::net_enso {

using namespace regs::enso;  // NOLINT: every test uses these names

inline constexpr Geometry kGeometry{
    .pipe_flits = 1024, .nb_entries = 1024, .notify_per_packet = false};
inline constexpr uint32_t kPipeBytes = 1024 * 64;
inline constexpr uint32_t kNb = 1;  ///< Buffer 0 carries the driver's configuration.

/// Registers in memory. They contain the last stored value, like the NIC's RAM.
class MemoryBackend final : public Backend {
 public:
  MemoryBackend()
      : registers_(bar::RingMemory::Create(kBarBytes, false, bar::RingMemory::Pages::kPreferHuge)) {
  }
  bar::Bar registers() override { return {registers_.data(), kBarBytes}; }
  bar::RingMemory::Pages pages() const override { return bar::RingMemory::Pages::kPreferHuge; }
  bool Map(const bar::RingMemory& memory, uint64_t* bus) override {
    *bus = reinterpret_cast<uintptr_t>(memory.data());
    return true;
  }
  void Unmap(const bar::RingMemory&, uint64_t) override {}

 private:
  bar::RingMemory registers_;
};

class NbTest : public testing::Test {
 protected:
  explicit NbTest(const Geometry& geometry = kGeometry)
      : device_(std::make_unique<MemoryBackend>(), geometry), bar_(device_.bar()) {}

  void Open(uint32_t nic_tx_tail = 0) {
    bar_.Write32(NbPage(kNb) + kTxTail, nic_tx_tail);
    const std::scoped_lock lock(device_.mutex());
    ASSERT_EQ(device_.OpenNb(&nb_), 0);
    ASSERT_EQ(nb_->id(), kNb);
  }
  Pipe* OpenPipe(rte_pmd_enso_pipe_kind kind) {
    const std::scoped_lock lock(device_.mutex());
    Pipe* pipe = nullptr;
    EXPECT_EQ(device_.OpenPipe(nb_, kind, false, FallbackOwner::kNative, &pipe), 0);
    return pipe;
  }

  RxNotification& RxSlot(uint32_t index) {
    auto* ring = reinterpret_cast<RxNotification*>(bar_.Read64(NbPage(kNb) + kRxMemLo));
    return ring[index % kGeometry.nb_entries];
  }
  TxNotification& TxSlot(uint32_t index) {
    auto* ring = reinterpret_cast<TxNotification*>(bar_.Read64(NbPage(kNb) + kTxMemLo));
    return ring[index % kGeometry.nb_entries];
  }
  /// Simulates the notification that the NIC sends after data has arrived.
  void Notify(uint64_t pipe, uint64_t tail, uint64_t signal = 1) {
    RxSlot(notified_++) = {.signal = signal, .pipe = pipe, .tail = tail, .reserved = {}};
  }
  /// Simulates the completion that the NIC writes after it has sent a slot's data.
  void Complete(uint32_t index) {
    const TxNotification slot = TxSlot(index);
    TxSlot(index) = {.signal = 0, .address = slot.address, .length = slot.length, .reserved = {}};
  }
  std::vector<rte_pmd_enso_span> Poll(uint16_t max = 16, uint32_t max_bytes = 0) {
    std::vector<rte_pmd_enso_span> spans(max);
    spans.resize(rte_pmd_enso_poll(nb_, spans.data(), max, max_bytes));
    return spans;
  }
  uint32_t RxHead(const Pipe* pipe) { return bar_.Read32(PipePage(pipe->id) + kRxHead); }
  uint32_t TxTail() { return bar_.Read32(NbPage(kNb) + kTxTail); }

  Device device_;
  bar::Bar bar_;
  NotificationBuffer* nb_ = nullptr;
  uint32_t notified_ = 0;
};

}  // namespace sluice::net_enso
