// SPDX-License-Identifier: BSD-3-Clause
//
// BAR 2 of the Ensō NIC: a page of registers per pipe and per notification
// buffer (docs/enso-hardware.md, "Identity and registers"). The registers are the NIC's
// state itself: what either side stored last is what reads return and what the paths use.
#pragma once

#include <cstdint>
#include <vector>

#include "bar/dma.h"
#include "regs/enso.h"

namespace sluice::device::enso {

/// One pipe. Pointers count flits and are masked on use: the host may store
/// anything. Half a cache line, so that the receive path touches one.
struct alignas(32) Pipe {
  uint32_t rx_tail = 0;
  uint32_t rx_head = 0;
  uint64_t rx_mem = 0;  ///< Base | notification buffer; 0 = disabled.
  /// Host memory of the whole ring; null if disabled, remote, or no one range holds it.
  uint8_t* ring = nullptr;
  /// Where rx_tail may go with no look at any other state but whether frames are stamped: the flits
  /// up to here are free, in one piece, reachable, and taking them notifies nobody. 0: nowhere.
  /// While it is not 0, rx_tail is masked.
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
  uint8_t* rx_ring = nullptr;  ///< Host memory of nb_entries slots; null if no one range holds it.
  uint8_t* tx_ring = nullptr;
  bool fetch_pending = false;  ///< A tx_tail store waits for its descriptor fetch.
};
static_assert(sizeof(NotificationBuffer) == 64);

/// What a store asks the NIC to do once its registers are updated.
struct SideEffect {
  enum class Kind : uint8_t { kNone, kHeadTrigger, kDescriptorFetch };
  Kind kind = Kind::kNone;
  uint32_t index = 0;  ///< Pipe of a trigger, notification buffer of a fetch.
};

class RegisterFile {
 public:
  static constexpr uint32_t kBar2Bytes = 1u << 30;

  /// Sizes are powers of two.
  RegisterFile(const bar::DmaSpace& dma, uint32_t pipe_flits, uint32_t nb_entries);

  /// See EnsoNic::WriteRegister. At most one side effect can come of a store:
  /// no two neighbouring registers have one.
  SideEffect Write(uint32_t offset, uint32_t bytes, uint64_t value);
  uint64_t Read(uint32_t offset, uint32_t bytes) const;
  /// Memory was taken away: looks for every ring anew.
  void FindRings();

  /// Pipe kMaxPipes and those behind it, kNoPipes of them, stand for none: they go nowhere.
  static constexpr uint32_t kNoPipes = 3;
  Pipe& pipe(uint32_t id) { return pipes_[id]; }
  NotificationBuffer& nb(uint32_t id) { return nbs_[id]; }
  NotificationBuffer& nb_of(const Pipe& pipe) {
    return nbs_[pipe.rx_mem & regs::enso::kPipeNbMask];
  }
  /// Free flits of a pipe. One always stays free: equal pointers mean empty.
  uint32_t FreeFlits(const Pipe& pipe) const {
    return (pipe.rx_head - pipe.rx_tail - 1) & pipe_mask_;
  }
  /// Sets the limit of a pipe whose status or pointers changed.
  void UpdateLimit(Pipe& pipe) const;
  uint32_t pipe_mask() const { return pipe_mask_; }
  uint32_t nb_mask() const { return nb_mask_; }

 private:
  SideEffect Store(uint32_t offset, uint32_t value);
  SideEffect StorePipe(uint32_t id, uint32_t reg, uint32_t value);
  SideEffect StoreNb(uint32_t id, uint32_t reg, uint32_t value);
  uint32_t Load(uint32_t offset) const;
  /// A ring lies elsewhere now.
  void ForgetRemote() const;
  /// A ring of which every byte can be read and written at any time; null if there is none.
  uint8_t* FindRing(uint64_t bus, uint64_t bytes) const;
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
