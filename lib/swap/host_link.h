// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of a link of regions. The host owns exactly one region at a time. It uses the
// region and then offers it. In one swap, the host either receives another region in exchange or
// keeps the offered one. Used by one thread. No allocation and no system calls after Open.
#pragma once

#include <cstdint>
#include <memory>

#include "swap/link_memory.h"
#include "swap/port.h"

namespace sluice::swap {

/// Event counters of a link; written by its thread.
struct HostLinkCounters {
  uint64_t swaps = 0;  ///< Committed swaps.
  /// Offers without an exchange: rejected, or cancelled before they were posted.
  uint64_t rejected = 0;
  uint64_t too_late = 0;  ///< Cancels of a swap that was already committed.
  uint64_t suspects = 0;  ///< Number of times that the NIC made no progress within the window.
  uint64_t resets = 0;    ///< Epochs after the first.
  /// Offers that were unresolved at a reset or restart, and were resolved later.
  uint64_t in_doubt = 0;
  uint64_t discarded_pkts = 0;  ///< Frames in a region of a process that died.
  uint64_t faults = 0;          ///< Invalid swaps by the NIC, and invalid owners: the link stopped.
};

class HostLink {
 public:
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  /// Opens a link in `memory`, either a new one or the link of an earlier process. The caller must
  /// pass the new epoch() to the device before the device reads the link. `window_cycles` is the
  /// number of TSC cycles without progress after which the link is suspect.
  static std::unique_ptr<HostLink> Open(LinkMemory memory, uint64_t window_cycles);

  /// Returns whether the host owns region() and may use it. Returns false after the region was
  /// given away, until a swap is resolved.
  bool holding() const { return holding_; }
  const Region& region() const { return region_; }
  const Geometry& geometry() const { return memory_.geometry(); }
  /// Returns the number of entries that the NIC wrote to region(), limited to the maximum of the
  /// geometry. The entries themselves are not checked (EntryIsSound).
  uint32_t received() const { return received_; }

  /// Gives region() away; its first `frames` entries are frames to send (0: none). If
  /// `wait_for_frames` is set, the NIC answers when it has received frames, else at once. Requires
  /// holding().
  void Give(uint32_t frames, bool wait_for_frames);
  /// Polls for the answer; costs one shared load if it has not arrived. Returns true if a swap was
  /// resolved, so that holding() is true again and region() is the region from the swap.
  /// `now_cycles` is the TSC.
  bool Poll(uint64_t now_cycles);
  /// Requests the region back. Returns false if there is nothing to cancel, for example because the
  /// host owns a region. If the offer was not posted yet, the host owns the region again at once;
  /// otherwise Poll reports the outcome.
  bool Cancel();

  /// Begins a new epoch() after the device was reset to its power-on state. The caller must pass
  /// the epoch to the device.
  void Reset();
  uint16_t epoch() const { return port_.end().identity().epoch; }
  bool suspect() const { return port_.end().suspect(); }
  bool faulted() const { return faulted_ || port_.end().faulted(); }
  /// Returns whether the outcome of a swap is unknown at this end. There is at most one such swap.
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
  uint64_t since_cycles_ = 0;  ///< TSC of the first poll for the current offer; 0: none yet.
  uint32_t received_ = 0;
  bool holding_ = false;
  bool offer_due_ = false;  ///< Give was called, but the offer is not posted yet.
  bool resumed_ = false;    ///< The current offer was made by an earlier process.
  bool faulted_ = false;
  HostLinkCounters counters_;
};

}  // namespace sluice::swap
