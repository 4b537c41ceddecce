// SPDX-License-Identifier: BSD-3-Clause
//
// Model of the Ensō FPGA NIC, hardware 0.4.6: registers (regs/enso.h), receive and transmit paths,
// steering and clocked functions. It reproduces the hardware's behaviour, including its hazards;
// each hazard has a counter. lib/emulator steps the model in real time; tests set the time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bar/dma.h"
#include "device/device.h"
#include "regs/enso.h"

namespace sluice::device::enso {

/// Settings made with the hardware's JTAG tool; software cannot read or change them by MMIO.
struct EnsoConfig {
  uint32_t pipe_flits = regs::enso::kDefaultPipeFlits;  ///< Power of two, 2 … 2^20.
  uint32_t nb_entries = regs::enso::kDefaultNbEntries;  ///< Power of two, 2 … 2^20.
  /// Flits of payload that may be read ahead, 256 … 1000. The model only validates this value: it
  /// reads the payload when the payload would leave the read FIFO.
  uint32_t tx_credits = regs::enso::kDefaultTxCredits;
  bool notify_per_packet = false;  ///< A notification is written for every accepted packet.

  /// Returns null if the values are allowed, otherwise a one-line message (in static storage) that
  /// names the wrong value and its range.
  const char* Error() const;
};

/// The NIC. Only one thread uses it at a time; no call allocates, locks or blocks.
///
/// The DmaSpace translates all bus addresses: the base of a ring when its register is stored, the
/// address of a transmit buffer when its descriptor is fetched. An access that the DmaSpace rejects
/// has no effect and is counted in `dma_faults`. A range may be removed once no enabled register
/// and no uncompleted transmit slot refers to it.
///
/// Memory order: the payload is written before the notification or completion. Each slot's signal
/// word is stored last, with release order. Slots are read with acquire order.
class EnsoNic final : public Device {
 public:
  /// `config.Error()` must be null. `dma` must outlive the NIC.
  EnsoNic(const bar::DmaSpace& dma, const EnsoConfig& config);
  ~EnsoNic() override;
  EnsoNic(const EnsoNic&) = delete;
  EnsoNic& operator=(const EnsoNic&) = delete;

  /// Writes each 32-bit register that the store covers completely; partly covered registers are
  /// unchanged. As in hardware, stores beyond the decoded region alias onto notification buffer
  /// pages; stores beyond the 1 GiB BAR are ignored. A store to a pipe's rx_head is handled before
  /// the call returns.
  void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) override;
  /// Returns all ones beyond regs::enso::kBarBytes, where the hardware would never respond.
  uint64_t ReadRegister(uint32_t offset, uint32_t bytes) override;

  void SetTime(uint64_t now_ns) override;
  /// While bus mastering is disabled, notifications caused by head stores are counted in
  /// `rx_notifications_lost`.
  void SetMastering(bool on) override;
  void MemoryTaken() override;

  /// Accepts every frame except those that `pause` holds back, but accepts none while the queue of
  /// writes to remote host memory is full. A frame is either steered, copied to its pipe and
  /// notified, or dropped and counted in an `rx_…` counter: frames accepted = rx_frames + Σ rx drop
  /// counters + rx_stuck.
  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;

  /// Delivers frames with the length that the NIC passes to its MAC; the wire side adds the padding
  /// to the Ethernet minimum. Returns less than `budget` if the NIC is idle; if the data is held
  /// back by the rate limiter, a wedge or a full queue of writes to remote host memory; or after a
  /// bounded number of slots without a frame.
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;

  std::span<const Counter> Counters() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::device::enso
