// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC's end of a link of regions: fills regions with frames from the wire, takes
// regions of frames to send, and answers the host's offers. Used by the device model's
// thread alone. Nothing that the host writes is trusted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "swap/filler.h"
#include "swap/link_memory.h"
#include "swap/port.h"

namespace sluice::swap {

/// A frame to send, where it lies.
struct FrameToSend {
  const uint8_t* data;
  uint32_t length;
};

class NicLink {
 public:
  NicLink(const NicLink&) = delete;
  NicLink& operator=(const NicLink&) = delete;

  /// Takes up a link where its memory says it is; `epoch` comes from the host. Empty if
  /// the memory holds no sound link.
  static std::unique_ptr<NicLink> Open(std::span<uint8_t> memory, uint16_t epoch);

  // Receive. Room for one frame; the bytes are copied to it, then it is published.
  /// Null if no region has room: every one waits for the host, or is being sent.
  /// `length` ≤ MaxFrame().
  uint8_t* Reserve(uint32_t length) {
    return filler_.Fits(length) || StartRegion() ? filler_.Next() : nullptr;
  }
  void Publish(uint32_t length) { filler_.Publish(length); }
  /// Frame bytes that an empty region has room for, at most kMaxFrameBytes.
  uint32_t MaxFrame() const { return max_frame_; }
  /// Bursts: after a Reserve, whoever copies may go on with the filler as a local, while
  /// frames fit, and hands it back before the next call.
  const Filler& filler() const { return filler_; }
  void SetFiller(const Filler& filler) { filler_ = filler; }

  // Transmit.
  /// The next frames to send, at most `max` > 0; they are marked as sent, and stay valid
  /// until the next call. Entries that describe no frame are left out and counted. 0: there
  /// are none (any more).
  uint32_t TakeFrames(FrameToSend* frames, uint32_t max);
  bool Sending() const { return sending_ != kNone; }

  /// Answers the host; one shared load if it said nothing new. Returns whether a swap was
  /// committed.
  bool Serve();

  bool faulted() const { return port_.end().faulted(); }
  /// Entries that described no frame, and offers of regions that were not the host's.
  uint64_t bad_entries() const { return bad_entries_; }
  uint64_t bad_offers() const { return bad_offers_; }

  /// swap::Resource of the port.
  Answer Evaluate(const Message& offer, Reply& reply);

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  NicLink(LinkMemory memory, Responder end);
  /// Sorts the regions that are this end's, as an earlier device left them.
  void Recover();
  /// The region that an answer would give; kNone if the host should wait.
  uint32_t Candidate(bool wants_frames) const;
  void Exchange(uint32_t given, uint32_t taken, uint32_t frames);
  /// Puts the region being filled behind the full ones and starts another.
  bool StartRegion();
  void Free(uint32_t region);

  LinkMemory memory_;
  Geometry geometry_;
  uint32_t max_frame_;
  LinkWindow window_;
  ResponderPort<LinkWindow> port_;
  uint64_t mine_ = 0;  ///< Regions, by bit.
  // Each region of mine_ is in one of: full_ (in order), filler_, sending_, free_ (a stack,
  // so that the one used last, whose lines are still near, is used next).
  std::array<uint8_t, kMaxRegions> full_{};
  uint32_t full_head_ = 0;
  uint32_t full_count_ = 0;
  std::array<uint8_t, kMaxRegions> free_{};
  uint32_t free_count_ = 0;
  Filler filler_;
  uint32_t sending_ = kNone;
  uint32_t send_at_ = 0;
  uint32_t send_count_ = 0;
  bool waiting_ = false;       ///< The host's offer waits until there is a Candidate.
  bool wants_frames_ = false;  ///< The condition of that offer.
  uint64_t sequence_ = 0;      ///< Of the next region to be filled.
  uint64_t bad_entries_ = 0;
  uint64_t bad_offers_ = 0;
};

}  // namespace sluice::swap
