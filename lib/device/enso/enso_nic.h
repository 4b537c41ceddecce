// SPDX-License-Identifier: BSD-3-Clause
//
// Model of the Ensō FPGA NIC, hardware 0.4.6: registers, receive and transmit
// path, steering and clocked functions of regs/enso.h as one step function. It
// does what the hardware does, hazards included; each hazard has a counter.
// Stepped by lib/emulator in real time, and by tests at times of their choice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bar/dma.h"
#include "device/device.h"
#include "regs/enso.h"

namespace sluice::device::enso {

/// What the hardware's JTAG tool sets; software cannot read or change it by MMIO.
struct EnsoConfig {
  uint32_t pipe_flits = regs::enso::kDefaultPipeFlits;  ///< Power of two, 2 … 2^20.
  uint32_t nb_entries = regs::enso::kDefaultNbEntries;  ///< Power of two, 2 … 2^20.
  /// Flits of payload that may be read ahead, 256 … 1000. The model reads payload
  /// in the instant in which it leaves the read FIFO, so the value is only checked.
  uint32_t tx_credits = regs::enso::kDefaultTxCredits;
  bool notify_per_packet = false;  ///< A notification for every accepted packet.

  /// Null if the values are allowed, else one line that names the wrong one and
  /// its range (static storage).
  const char* Error() const;
};

/// The NIC. Used by one thread at a time; no call allocates, locks or blocks.
///
/// Bus addresses that the host programs are resolved through the DmaSpace: ring
/// bases when their register is stored, transmit buffers at each descriptor.
/// An access that the DmaSpace refuses touches nothing and counts in
/// `dma_faults`. A range may be removed once no enabled register and no
/// uncompleted transmit slot names it.
///
/// Memory order: payload, then notification or completion; each slot's signal
/// word is stored last, with release order. Slots are read with acquire order.
class EnsoNic final : public Device {
 public:
  /// `config.Error()` is null. `dma` outlives the NIC.
  EnsoNic(const bar::DmaSpace& dma, const EnsoConfig& config);
  ~EnsoNic() override;
  EnsoNic(const EnsoNic&) = delete;
  EnsoNic& operator=(const EnsoNic&) = delete;

  /// A 32-bit register is written if all four of its bytes are; others are left
  /// alone. Stores beyond the decoded region alias onto notification buffer pages
  /// as in hardware; stores beyond the 1 GiB BAR are ignored. A store of a pipe's
  /// rx_head is served before the call returns.
  void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) override;
  /// All ones beyond regs::enso::kBarBytes, where hardware would never answer.
  uint64_t ReadRegister(uint32_t offset, uint32_t bytes) override;

  void SetTime(uint64_t now_ns) override;
  /// Without mastering, notifications of head stores count in `rx_notifications_lost`.
  void SetMastering(bool on) override;
  void MemoryTaken() override;

  /// Takes every frame unless `pause` holds it back. Frames are steered, copied
  /// into their pipe and notified, or dropped under a counter `rx_…`:
  /// frames taken = rx_frames + Σ rx drop counters + rx_stuck.
  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;

  /// Frames handed over carry the length that the NIC hands to its MAC: without
  /// padding to the Ethernet minimum, which the wire side adds. A call ends with
  /// fewer frames than `budget` when it is idle, when the rate limiter or a wedge
  /// holds the data, or after a bounded number of slots that yielded no frame.
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;

  std::span<const Counter> Counters() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::device::enso
