// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of a link of regions. The host owns exactly one region at a time: it
// works in it, gives it away, and gets another for it in the same swap, or keeps it.
// Belongs to one thread. No allocation and no call into the system after Open.
#pragma once

#include <cstdint>
#include <memory>

#include "swap/link_memory.h"
#include "swap/port.h"

namespace sluice::swap {

/// What happened on a link; written by its thread.
struct HostLinkCounters {
  uint64_t swaps = 0;           ///< Committed.
  uint64_t rejected = 0;        ///< Offers that came back (after a cancel).
  uint64_t too_late = 0;        ///< Cancels that found the swap committed.
  uint64_t suspects = 0;        ///< Times that the NIC made no progress within the window.
  uint64_t resets = 0;          ///< Epochs begun after the first.
  uint64_t in_doubt = 0;        ///< Offers unresolved at a reset or a restart, resolved later.
  uint64_t discarded_pkts = 0;  ///< Frames of a region that a dead process was working in.
  uint64_t faults = 0;          ///< The NIC gave what it did not own: the link stopped.
};

class HostLink {
 public:
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  /// Opens a link that was just formatted, or that an earlier process left in `memory`.
  /// The new epoch() goes to the device before it looks at the link. `window_cycles`:
  /// TSC cycles without progress after which the link is suspect.
  static std::unique_ptr<HostLink> Open(LinkMemory memory, uint64_t window_cycles);

  /// Holding: the host owns region() and works in it. Else it has been given away.
  bool holding() const { return holding_; }
  const Region& region() const { return region_; }
  const Geometry& geometry() const { return memory_.geometry(); }
  /// Entries of region() as the NIC left them, bounded by the geometry; the entries
  /// themselves are not checked (EntryIsSound).
  uint32_t received() const { return received_; }

  /// Gives region() away with its first `frames` entries to send (0: none). With
  /// `wait_for_frames` the NIC answers when it has received frames, else at once.
  /// Only while holding().
  void Give(uint32_t frames, bool wait_for_frames);
  /// Looks for the answer; one shared load if there is none. True: holding() again, and
  /// region() holds what the swap brought. `now_cycles`: TSC.
  bool Poll(uint64_t now_cycles);
  /// Asks for the region back. Poll tells which way it went.
  bool Cancel();

  /// The device is at power-on again: begins a new epoch(), which goes to the device.
  void Reset();
  uint16_t epoch() const { return port_.end().identity().epoch; }
  bool suspect() const { return port_.end().suspect(); }
  bool faulted() const { return faulted_ || port_.end().faulted(); }
  /// A swap whose outcome is not known here: at most one.
  bool InDoubt() const { return port_.end().Unresolved(); }
  const HostLinkCounters& counters() const { return counters_; }

 private:
  HostLink(LinkMemory memory, Initiator end, uint64_t window_cycles);
  void Resume(const Message& own, const Message& nic);
  void Receive(const Result& result);
  void Take(const Result& result);
  void Discard();
  void Hold(uint32_t received);
  void MakeOffer();

  LinkMemory memory_;
  LinkWindow window_;
  InitiatorPort<LinkWindow> port_;
  Region region_;  ///< As recorded; the host's until the NIC says otherwise.
  Offer offer_;
  uint64_t window_cycles_;
  uint64_t since_cycles_ = 0;  ///< When the present offer was first looked after; 0: not yet.
  uint32_t received_ = 0;
  bool holding_ = false;
  bool offer_due_ = false;  ///< Given away by the caller, not offered yet.
  bool resumed_ = false;    ///< The present offer is an earlier process's.
  bool faulted_ = false;
  HostLinkCounters counters_;
};

}  // namespace sluice::swap
