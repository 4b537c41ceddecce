// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC's end of a link that swaps regions. Fills regions with received frames, sends the frames
// in the host's regions, and answers the host's offers. Used only by the device model's thread.
// Nothing that the host writes is trusted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "swap/filler.h"
#include "swap/link_memory.h"
#include "swap/port.h"

namespace sluice::swap {

/// A frame to send. Its bytes are in the region.
struct FrameToSend {
  const uint8_t* data;
  uint32_t length;
};

class NicLink {
 public:
  NicLink(const NicLink&) = delete;
  NicLink& operator=(const NicLink&) = delete;

  /// Continues a link from the state in its memory. `epoch` comes from the host. Returns null if
  /// the memory does not contain a valid link.
  static std::unique_ptr<NicLink> Open(std::span<uint8_t> memory, uint16_t epoch);

  // Receive: reserve space for one frame, copy it there, then publish it.

  /// Returns the address for a frame of `length` ≤ MaxFrame() bytes. Returns null if no region has
  /// space, because all are waiting for the host or being sent.
  uint8_t* Reserve(uint32_t length) {
    return filler_.Fits(length) || StartRegion() ? filler_.Next() : nullptr;
  }
  void Publish(uint32_t length) { filler_.Publish(length); }
  /// Returns the length in bytes of the longest frame that fits into an empty region, at most
  /// kMaxFrameBytes.
  uint32_t MaxFrame() const { return max_frame_; }
  /// For faster bursts: after a Reserve, the caller may copy the filler to a local variable, add
  /// frames to the copy while they fit, and pass it back with SetFiller before calling another
  /// function.
  const Filler& filler() const { return filler_; }
  void SetFiller(const Filler& filler) { filler_ = filler; }

  // Transmit.

  /// Stores the next frames to send in `frames`, at most `max` (> 0), and returns their number. The
  /// frames are marked as sent and remain valid until the next call. Invalid entries are skipped
  /// and counted. Returns 0 if no frames remain.
  uint32_t DequeueFrames(FrameToSend* frames, uint32_t max);
  bool Sending() const { return sending_ != kNone; }

  /// Answers the host. Costs one shared load if the host's line has not changed. Returns whether a
  /// swap was committed.
  bool Serve();

  bool faulted() const { return port_.end().faulted(); }
  /// Return the number of invalid entries, and the number of offers for regions that the host did
  /// not own.
  uint64_t bad_entries() const { return bad_entries_; }
  uint64_t bad_offers() const { return bad_offers_; }

  /// Implements swap::Resource, which the port calls.
  Answer Evaluate(const Message& offer, Reply& reply);

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  NicLink(LinkMemory memory, Responder end);
  /// Classifies this end's regions by the state in which an earlier device left them.
  void Recover();
  /// Returns the region that an answer would give, or kNone if the host must wait.
  uint32_t Candidate(bool wants_frames) const;
  void Exchange(uint32_t given, uint32_t taken, uint32_t frames);
  /// Appends the region that was being filled to the full ones and starts to fill another. Returns
  /// false if no region is free.
  bool StartRegion();
  void Free(uint32_t region);

  LinkMemory memory_;
  Geometry geometry_;
  uint32_t max_frame_;
  LinkWindow window_;
  ResponderPort<LinkWindow> port_;
  uint64_t mine_ = 0;  ///< Regions that this end owns, by bit.
  // Each region of mine_ is in exactly one of full_ (in order), filler_, sending_ and free_. free_
  // is a stack, so that the most recently used region, which may still be in the cache, is reused
  // first.
  std::array<uint8_t, kMaxRegions> full_{};
  uint32_t full_head_ = 0;
  uint32_t full_count_ = 0;
  std::array<uint8_t, kMaxRegions> free_{};
  uint32_t free_count_ = 0;
  Filler filler_;
  uint32_t sending_ = kNone;
  uint32_t send_at_ = 0;
  uint32_t send_count_ = 0;
  bool waiting_ = false;       ///< Whether the host's offer waits until Candidate returns a region.
  bool wants_frames_ = false;  ///< Whether the waiting offer requires frames (kWantsFrames).
  uint64_t sequence_ = 0;      ///< Sequence number of the next region to fill.
  uint64_t bad_entries_ = 0;
  uint64_t bad_offers_ = 0;
};

}  // namespace sluice::swap
