// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of a link that swaps regions. The host owns exactly one region at a time. It uses
// the region and then offers it. A swap either gives the host another region in exchange or leaves
// it the offered one. Used by one thread. Does not allocate or make system calls after Open.
#pragma once

#include <cstdint>
#include <memory>

#include "swap/link_memory.h"
#include "swap/port.h"

namespace sluice::swap {

/// Event counters of a link; written by its thread.
struct HostLinkCounters {
  uint64_t swaps = 0;  ///< Committed swaps.
  /// Offers that led to no exchange, because they were rejected, or cancelled before they were
  /// posted.
  uint64_t rejected = 0;
  uint64_t too_late = 0;  ///< Cancels that came after the swap had committed.
  uint64_t suspects = 0;  ///< Number of times that the NIC did not make progress within the window.
  uint64_t resets = 0;    ///< Number of epochs after the first.
  /// Offers that were unresolved at a reset or restart and were resolved later.
  uint64_t in_doubt = 0;
  uint64_t discarded_pkts = 0;  ///< Frames that a dead process left in a region.
  uint64_t faults = 0;          ///< Invalid swaps by the NIC, and invalid owners; stop the link.
};

class HostLink {
 public:
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  /// Opens a link in `memory`, which is either a new link or that of an earlier process. The caller
  /// must pass the new epoch() to the device before the device reads the link. `window_cycles` is
  /// the number of TSC cycles without progress after which the link becomes suspect.
  static std::unique_ptr<HostLink> Open(LinkMemory memory, uint64_t window_cycles);

  /// Returns whether the host owns region() and may use it. This is false from when the region is
  /// given away until a swap is resolved.
  bool holding() const { return holding_; }
  const Region& region() const { return region_; }
  const Geometry& geometry() const { return memory_.geometry(); }
  /// Returns the number of entries that the NIC has written to region(), limited to the geometry's
  /// maximum. The entries themselves are not checked (EntryIsSound).
  uint32_t received() const { return received_; }

  /// Gives region() away. Its first `frames` entries are frames to send; 0 if there are none. If
  /// `wait_for_frames` is set, the NIC answers when it has received frames, otherwise at once.
  /// holding() must be true.
  void Give(uint32_t frames, bool wait_for_frames);
  /// Polls for the answer. Costs one shared load if the answer has not arrived. Returns true if a
  /// swap was resolved, so that holding() is true again and region() is the region from the swap.
  /// `now_cycles` is the TSC.
  bool Poll(uint64_t now_cycles);
  /// Requests the region back. Returns false if there is nothing to cancel, for example because the
  /// host owns a region. If the offer has not been posted yet, the host owns the region again at
  /// once; otherwise Poll reports the outcome.
  bool Cancel();

  /// Begins a new epoch() after the device has been reset to its power-on state. The caller must
  /// pass the epoch to the device.
  void Reset();
  uint16_t epoch() const { return port_.end().identity().epoch; }
  bool suspect() const { return port_.end().suspect(); }
  bool faulted() const { return faulted_ || port_.end().faulted(); }
  /// Returns whether this end does not know the outcome of a swap. There is at most one such swap.
  bool InDoubt() const { return port_.end().Unresolved(); }
  const HostLinkCounters& counters() const { return counters_; }

 private:
  HostLink(LinkMemory memory, Initiator end, uint64_t window_cycles);
  void Resume(const Message& own, const Message& nic);
  void Receive(const Result& result);
  void AcceptCommit(const Result& result);
  void Discard();
  void Hold(uint32_t received);
  /// Posts offer_, or sets offer_due_ if this is not possible yet.
  void MakeOffer();

  LinkMemory memory_;
  LinkWindow window_;
  InitiatorPort<LinkWindow> port_;
  /// The region in the owners word. The host owns it until the NIC commits a swap.
  Region region_;
  Offer offer_{.standing = true};
  uint64_t window_cycles_;
  uint64_t since_cycles_ = 0;  ///< TSC at the first poll for the current offer; 0: none yet.
  uint32_t received_ = 0;
  bool holding_ = false;
  bool offer_due_ = false;  ///< Give was called, but the offer has not been posted yet.
  bool resumed_ = false;    ///< The current offer was made by an earlier process.
  bool faulted_ = false;
  HostLinkCounters counters_;
};

}  // namespace sluice::swap
