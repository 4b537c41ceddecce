// SPDX-License-Identifier: BSD-3-Clause
//
// BAR 2 of the Ensō NIC: a page of registers per pipe and per notification buffer
// (docs/enso-hardware.md, "Identity and registers"). The registers are the NIC's only copy of this
// state: both host and NIC write them, and a read returns the last value written by either.
#pragma once

#include <cstdint>
#include <vector>

#include "bar/dma.h"
#include "regs/enso.h"

namespace sluice::device::enso {

/// One pipe. Pointers count flits and are masked on use, because the host may store any value. A
/// Pipe has the size of half a cache line, so that the receive path accesses only one line.
struct alignas(32) Pipe {
  uint32_t rx_tail = 0;
  uint32_t rx_head = 0;
  /// Base address with the notification buffer's number in the low bits; 0 if disabled.
  uint64_t rx_mem = 0;
  /// Address of the whole ring in host memory; null if disabled, remote, or not in a single mapped
  /// range.
  uint8_t* ring = nullptr;
  /// Index after the last flit that the hot loop may fill. The flits up to it are free, contiguous
  /// and reachable, and need no notification, so the hot loop needs to check only for timestamping.
  /// 0 disables the hot loop. While the limit is not 0, rx_tail is masked.
  uint32_t limit = 0;
  bool status = false;  ///< The reactive status bit: a notification is outstanding.
};
static_assert(sizeof(Pipe) == 32);

/// One notification buffer: a ring of RX notifications and a ring of TX slots.
struct alignas(64) NotificationBuffer {
  uint32_t rx_tail = 0;
  uint32_t rx_head = 0;
  uint64_t rx_mem = 0;  ///< 0 = disabled.
  uint32_t tx_tail = 0;
  uint32_t tx_head = 0;
  uint64_t tx_mem = 0;
  /// Host memory of nb_entries slots; null if remote or not in a single mapped range.
  uint8_t* rx_ring = nullptr;
  uint8_t* tx_ring = nullptr;
  bool fetch_pending = false;  ///< A tx_tail store is waiting for its descriptor fetch.
};
static_assert(sizeof(NotificationBuffer) == 64);

/// Action that the NIC must perform after a store has changed its registers.
struct SideEffect {
  enum class Kind : uint8_t { kNone, kHeadTrigger, kDescriptorFetch };
  Kind kind = Kind::kNone;
  uint32_t index = 0;  ///< The trigger's pipe, or the fetch's notification buffer.
};

class RegisterFile {
 public:
  static constexpr uint32_t kBar2Bytes = 1u << 30;

  /// `pipe_flits` and `nb_entries` must be powers of two.
  RegisterFile(const bar::DmaSpace& dma, uint32_t pipe_flits, uint32_t nb_entries);

  /// See EnsoNic::WriteRegister. A store has at most one side effect, because no two adjacent
  /// registers both have one.
  SideEffect Write(uint32_t offset, uint32_t bytes, uint64_t value);
  uint64_t Read(uint32_t offset, uint32_t bytes) const;
  /// Translates the addresses of the mapped rings again. Called after the host has removed memory.
  void FindRings();

  /// Number of pseudo-pipes. Each represents one reason why a frame has no pipe. Their ids start at
  /// kMaxPipes.
  static constexpr uint32_t kNoPipes = 3;
  Pipe& pipe(uint32_t id) { return pipes_[id]; }
  NotificationBuffer& nb(uint32_t id) { return nbs_[id]; }
  NotificationBuffer& nb_of(const Pipe& pipe) {
    return nbs_[pipe.rx_mem & regs::enso::kPipeNbMask];
  }
  /// Returns the number of free flits of a pipe. One flit is never used, because equal pointers
  /// mean that the pipe is empty.
  uint32_t FreeFlits(const Pipe& pipe) const {
    return (pipe.rx_head - pipe.rx_tail - 1) & pipe_mask_;
  }
  /// Updates the limit of a pipe whose status or pointers have changed.
  void UpdateLimit(Pipe& pipe) const;
  uint32_t pipe_mask() const { return pipe_mask_; }
  uint32_t nb_mask() const { return nb_mask_; }

 private:
  SideEffect Store(uint32_t offset, uint32_t value);
  SideEffect StorePipe(uint32_t id, uint32_t reg, uint32_t value);
  SideEffect StoreNb(uint32_t id, uint32_t reg, uint32_t value);
  uint32_t Load(uint32_t offset) const;
  void FindRing(Pipe& pipe) const;
  void FindRings(NotificationBuffer& nb) const;
  void ForgetLimits();

  const bar::DmaSpace& dma_;
  const uint32_t pipe_mask_;
  const uint32_t nb_mask_;
  std::vector<Pipe> pipes_;
  std::vector<NotificationBuffer> nbs_;
};

}  // namespace sluice::device::enso
