// SPDX-License-Identifier: BSD-3-Clause
//
// The bilateral interface: host and NIC swap ownership of regions. The worker holds one region of
// received frames at a time, answers the frames in place and gives the region back. The same swap
// returns the next region. The application's worker builds one queue per link.
//
// The worker owns the whole region from the Poll that returned it until it gives the region back.
// No frame is copied, and a forwarded frame costs only the engine's stores. If a frame is not
// forwarded, the length in its entry is set to 0.
//
// Answers that do not fit into the received frame's room (headroom, frame and tailroom), and frames
// that the engine sends by itself, are written after the received frames. The entries of sent
// frames are placed before the entry of the frame that the engine was handling. A frame waits for
// the next region if this region has no room or the NIC holds it. The answers that follow a waiting
// frame wait as well. A region that fills up while the host is slow has little free room; frames
// that cannot be stored then count in tx_full.
#pragma once

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/held_region.h"
#include "nic/late_answers.h"
#include "nic/region_walker.h"
#include "nic/region_writer.h"
#include "nic/tap.h"
#include "swap/region.h"

namespace sluice::nic {

/// A FIFO of fixed size for copies of frames that an engine sent while its interface could not
/// store them. Used by one worker.
class WaitingFrames {
 public:
  /// Allocates `bytes` of memory; each frame needs four more bytes than its length. Must be called
  /// before the first Push.
  void Reserve(uint32_t bytes) { memory_.resize(bytes); }
  bool empty() const { return begin_ == end_; }

  /// Stores a copy of a frame. Returns false if it does not fit.
  bool Push(const uint8_t* frame, uint32_t length) {
    if (length + sizeof(length) > memory_.size() - end_) MoveToFront();
    if (length + sizeof(length) > memory_.size() - end_) return false;
    std::memcpy(&memory_[end_], &length, sizeof(length));
    std::memcpy(&memory_[end_] + sizeof(length), frame, length);
    end_ += sizeof(length) + length;
    return true;
  }
  /// Returns the oldest frame; valid until the next non-const call. Must not be called if empty.
  std::span<const uint8_t> Front() const {
    uint32_t length;
    std::memcpy(&length, &memory_[begin_], sizeof(length));
    return {&memory_[begin_] + sizeof(length), length};
  }
  /// Removes the oldest frame.
  void Pop() {
    begin_ += sizeof(uint32_t) + Front().size();
    if (empty()) begin_ = end_ = 0;
  }

 private:
  void MoveToFront() {
    if (begin_ == 0) return;
    std::memmove(memory_.data(), &memory_[begin_], end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }

  std::vector<uint8_t> memory_;  ///< [begin_, end_) holds the length and the bytes of each frame.
  size_t begin_ = 0;
  size_t end_ = 0;
};

/// The host side of a link, independent of the driver. Used by one worker. Implemented by IpuLink.
template <typename L>
concept SwapLink = requires(L link, const L& constant, HeldRegion& region, uint64_t now) {
  { link.Region(region) } -> std::same_as<bool>;
  {link.Give(/*frames=*/uint32_t{}, /*wait_for_frames=*/true)};
  { link.Poll(now, region) } -> std::same_as<bool>;
  { link.Cancel() } -> std::same_as<bool>;
  { constant.LinkUp() } -> std::same_as<bool>;
  /// Number of bytes reserved before each received frame.
  { constant.headroom_bytes() } -> std::same_as<uint32_t>;
};

/// FrameQueue over a link. Used by one worker.
template <SwapLink Link>
class BilateralQueue {
 public:
  /// `link` must outlive the queue and must have no other user. The host holds a region when the
  /// link has been opened. The constructor gives this region to the NIC in exchange for a region
  /// with frames, without waiting for the answer.
  explicit BilateralQueue(Link& link, ExceptionPath exception = {})
      : link_(link), exception_(std::move(exception)) {
    HeldRegion region;
    if (!link_.Region(region)) return;
    Begin(region);
    Give({});
  }
  BilateralQueue(const BilateralQueue&) = delete;
  BilateralQueue& operator=(const BilateralQueue&) = delete;

  /// Handles one region if the NIC has answered. Returns the number of frames received.
  template <packet::QueueEngine Engine>
  uint32_t Poll(Engine& engine, uint64_t now) {
    HeldRegion region;
    if (!link_.Poll(now, region)) return 0;
    Begin(region);
    if (tap_.see != nullptr) [[unlikely]]
      Show(TapDirection::kReceived);
    if constexpr (packet::Sender<Engine>) AppendWaiting();
    FrameTotals leaving = walker_.Walk(region, engine, now);
    if constexpr (packet::Sender<Engine>) {
      if (!late_.empty() || !waiting_.empty()) [[unlikely]] {
        AppendLate(leaving);
      } else {
        writer_.Order();
      }
    }
    while (engine.Generate(*this, now) > 0) {  // Repeats while frames are due and fit.
    }
    Give(leaving);
    exception_.Flush(counters_);
    return writer_.region().received;
  }

  /// Returns the queue's outbox. Reserves memory for waiting frames: kMostLateBytes plus the size
  /// of the largest possible region.
  packet::Outbox outbox() {
    waiting_.Reserve(kMostLateBytes + swap::kMaxRegionBytes);
    return packet::Outbox::To(*this);
  }
  /// Called by the outbox. Copies the frame into the region that the worker holds. If the region
  /// has no room, earlier frames wait, or the NIC holds the region, stores the copy for the next
  /// region instead. Returns false if the length is invalid or no memory for the copy is free.
  bool Send(const uint8_t* frame, uint32_t length) {
    QueueCounters::Add(counters_.sent_pkts, 1);
    if (!RegionWriter::LengthIsSound(length)) {
      QueueCounters::Add(counters_.tx_unframeable, 1);
      return false;
    }
    if (!(working_ ? Place(frame, length) : waiting_.Push(frame, length))) {
      QueueCounters::Add(counters_.tx_full, 1);
      return false;
    }
    QueueCounters::Add(counters_.tx_pkts, 1);
    QueueCounters::Add(counters_.tx_bytes, length);
    return true;
  }
  /// Appends frames to the region that the worker holds. All frames received in that region must
  /// have been handled. If the NIC holds the region until frames arrive, cancels that swap first;
  /// returns 0 if the NIC does not return the region at once.
  template <FrameSource Source>
  uint32_t Emit(const Source& source, uint32_t count) {
    if (working_) return EmitInto(source, count);
    if (!given_.waits || !link_.Cancel()) return 0;
    given_.waits = false;
    HeldRegion region;
    if (!link_.Region(region)) return 0;  // The swap was complete, so Poll returns the new region.
    region.received = 0;
    Begin(region);
    AppendWaiting();
    const uint32_t left = EmitInto(source, count);
    Give({});
    return left;
  }
  bool CanEmit(const uint8_t* /*frame*/, uint32_t length) const {
    return RegionWriter::LengthIsSound(length);
  }
  /// If frames wait to be sent, cancels a swap that may last until frames arrive, and gives the
  /// returned region back with the waiting frames. Without this call, the NIC might never send
  /// them.
  void FlushSent() {
    if (working_ || waiting_.empty() || !given_.waits || !link_.Cancel()) return;
    given_.waits = false;
    HeldRegion region;
    if (link_.Region(region)) GiveWaiting(region);  // Otherwise Poll returns the new region.
  }

  /// Must be called before the first Poll.
  void set_tap(FrameTap tap) { tap_ = tap; }
  bool LinkUp() const { return link_.LinkUp(); }
  /// Returns 0, because Poll never waits for room to transmit.
  uint64_t waited_cycles() const { return 0; }
  const QueueCounters& counters() const { return counters_; }
  QueueCounters& counters() { return counters_; }

  /// Sends the waiting frames and waits until the NIC has accepted the frames of the last region.
  /// If that takes longer than kDrainMs, cancels the swap. There are up to three waits of at most
  /// kDrainMs each. Frames that do not fit or are not accepted count in tx_full. Frames received
  /// meanwhile are not handled, like frames that remain in a ring.
  void Drain() {
    HeldRegion region;
    FlushSent();
    if (!waiting_.empty()) {
      if (Await(region)) GiveWaiting(region);
      while (!waiting_.empty()) Forget(counters_.tx_full);
    }
    if (given_.frames.pkts == 0 || Await(region)) return;
    link_.Cancel();
    if (!Await(region)) UncountGiven();
  }

 private:
  static constexpr uint64_t kDrainMs = 200;
  /// Maximum total size of the frames that the engine sends while a region is walked and that the
  /// region cannot hold.
  static constexpr uint32_t kMostLateBytes = swap::kMaxRegionBytes;
  /// Distance from a written frame to the line that is prefetched for a later frame.
  static constexpr uint32_t kPrefetchAheadBytes = 16 * swap::kSlotBytes;

  /// The region that was given to the NIC and that the NIC has not answered yet.
  struct Given {
    const uint8_t* region = nullptr;
    FrameTotals frames;
    bool waits = false;  ///< The NIC may delay the swap indefinitely until frames arrive.
  };

  /// Appends frames 0, 1, … of `source`, at most `count`, until the region is full, and counts them
  /// as sent. If the region is full, frees unused entries and bytes once. Returns the number of
  /// appended frames.
  template <FrameSource Source>
  uint32_t EmitInto(const Source& source, uint32_t count) {
    FrameTotals left;
    bool closed = false;
    while (left.pkts < count) {
      const auto index = static_cast<uint32_t>(left.pkts);
      const uint32_t length = source.length(index);
      uint8_t* const to = writer_.Add(length);
      if (to != nullptr) {
        __builtin_prefetch(to + kPrefetchAheadBytes, 1);
        source.Write(index, to);
        ++left.pkts;
        left.bytes += length;
      } else if (std::exchange(closed, true)) {
        break;
      } else {
        writer_.CloseHoles();
      }
    }
    return counters_.AddEmitted(left);
  }
  /// Appends as many waiting frames as fit. Drops frames that are too long even for an empty
  /// region, so that they do not block the frames after them.
  void AppendWaiting() {
    while (!waiting_.empty()) {
      const std::span<const uint8_t> frame = waiting_.Front();
      const auto length = static_cast<uint32_t>(frame.size());
      if (!writer_.CouldHold(length)) {
        Forget(counters_.tx_unframeable);
      } else if (writer_.AppendBefore(0, frame.data(), length)) {
        waiting_.Pop();
      } else {
        return;
      }
    }
  }
  /// Stores a frame that must be sent before the answer to the frame being handled. Returns false
  /// if it does not fit.
  bool Place(const uint8_t* frame, uint32_t length) {
    const uint32_t number = walker_.at_work();
    if (waiting_.empty() && late_.empty() && writer_.AppendBefore(number, frame, length)) {
      return true;
    }
    if (late_.bytes() + length > kMostLateBytes) return false;
    late_.Add(number, frame, length);
    return true;
  }
  /// Called when every received frame of the region has been handled. Frees the entries of frames
  /// that are not forwarded and the bytes after the last forwarded frame. Then appends the frames
  /// that waited before this region, followed by the late frames and their subsequent answers.
  /// Frames that do not fit wait for the next region, or count in tx_full if no memory is free.
  [[gnu::noinline]] void AppendLate(FrameTotals& leaving) {
    const uint32_t received = writer_.region().received;
    for (uint32_t i = waiting_.empty() ? late_.First() : 0; i < received; ++i) {
      const std::span<const uint8_t> answer = writer_.Remove(i);
      if (answer.empty()) continue;
      late_.Add(i, answer.data(), static_cast<uint32_t>(answer.size()));
      --leaving.pkts;
      leaving.bytes -= answer.size();
    }
    writer_.Order();
    writer_.CloseHoles();
    AppendWaiting();
    late_.Empty([this](const uint8_t* frame, uint32_t length) {
      if (waiting_.empty() && writer_.Append(frame, length)) return;
      if (!waiting_.Push(frame, length)) Lose(length, counters_.tx_full);
    });
  }
  /// Drops the oldest waiting frame and adds it to the counter `reason`.
  void Forget(uint64_t& reason) {
    Lose(waiting_.Front().size(), reason);
    waiting_.Pop();
  }
  /// Subtracts a frame of `bytes` bytes from the counters of sent frames and adds it to the counter
  /// `reason`.
  void Lose(uint64_t bytes, uint64_t& reason) {
    QueueCounters::Add(counters_.tx_pkts, -uint64_t{1});
    QueueCounters::Add(counters_.tx_bytes, -bytes);
    QueueCounters::Add(reason, 1);
  }
  /// Gives the region back with the waiting frames. Ignores the frames received in it.
  void GiveWaiting(HeldRegion region) {
    region.received = 0;
    Begin(region);
    AppendWaiting();
    Give({});
  }

  /// Starts work on a region that the link returned. If this is the region that was last given to
  /// the NIC, the NIC has not accepted its frames, so they count in tx_full.
  void Begin(const HeldRegion& region) {
    if (region.base == given_.region) [[unlikely]]
      UncountGiven();
    writer_.Begin(region);
    working_ = true;
  }
  [[gnu::noinline]] void UncountGiven() {
    QueueCounters::Add(counters_.tx_pkts, -given_.frames.pkts);
    QueueCounters::Add(counters_.tx_bytes, -given_.frames.bytes);
    QueueCounters::Add(counters_.tx_full, given_.frames.pkts);
    given_ = {};
  }

  /// Gives the region back to the NIC. `leaving` contains the totals of the received frames that
  /// are forwarded; Give adds those of the appended frames. The NIC answers at once if the region
  /// contains frames to send or if frames wait for the next region; otherwise it may wait until
  /// frames arrive.
  void Give(FrameTotals leaving) {
    if (tap_.see != nullptr) [[unlikely]]
      Show(TapDirection::kSent);
    leaving.pkts += writer_.appended().pkts;
    leaving.bytes += writer_.appended().bytes;
    const bool waits = leaving.pkts == 0 && waiting_.empty();
    given_ = {writer_.region().base, leaving, waits};
    working_ = false;
    link_.Give(leaving.pkts > 0 ? writer_.entries() : 0, waits);
  }

  [[gnu::noinline]] void Show(TapDirection direction) const {
    writer_.ForEachFrame([&](const uint8_t* data, uint32_t length) {
      tap_.see(tap_.context, direction, data, length);
    });
  }

  /// Polls for the answer to the last Give for at most kDrainMs. Returns whether the answer has
  /// arrived.
  bool Await(HeldRegion& region) {
    const uint64_t deadline = rte_get_tsc_cycles() + rte_get_tsc_hz() * kDrainMs / 1000;
    for (uint64_t now = 0; now < deadline; rte_pause()) {
      now = rte_get_tsc_cycles();
      if (!link_.Poll(now, region)) continue;
      if (region.base == given_.region) UncountGiven();
      given_ = {};
      return true;
    }
    return false;
  }

  Link& link_;
  ExceptionPath exception_;
  Given given_;          ///< Valid while working_ is false.
  RegionWriter writer_;  ///< Writes to the held region; valid while working_.
  bool working_ = false;
  WaitingFrames waiting_;
  LateAnswers late_;  ///< Late frames of the held region.
  FrameTap tap_;
  QueueCounters counters_;
  RegionWalker walker_{writer_, exception_, counters_, link_.headroom_bytes()};
};

}  // namespace sluice::nic
