// SPDX-License-Identifier: BSD-3-Clause
//
// The bilateral interface: host and NIC swap ownership of regions. The worker holds one
// region of received frames at a time, answers them where they lie, and gives the region
// away; the same swap brings the next one. Built by the application's worker, one per
// link.
//
// A region belongs to the worker from the moment Poll gets it to the moment it gives it
// away, all of it: nothing is copied, and a forwarded frame costs no store besides the
// engine's. What does not leave becomes an entry of length 0.
//
// Answers that do not fit where the frame lay, and frames that the engine sends of its own
// accord, go into the room behind the received frames; entries of sent frames are put before the
// entry of the frame that the engine handled. What finds no room, or no region because the NIC has
// it, waits for the next one, and answers that follow it in the region wait, too. A region that
// fills up while the host is slow has little room: then there is tx_full.
#pragma once

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/held_region.h"
#include "nic/late_answers.h"
#include "nic/region_walker.h"
#include "nic/region_writer.h"
#include "nic/tap.h"
#include "nic/waiting_frames.h"
#include "swap/region.h"

namespace sluice::nic {

/// The host's end of a link, of any driver; used by one worker. Production: IpuLink.
template <typename L>
concept SwapLink = requires(L link, const L& constant, HeldRegion& region, uint64_t now) {
  { link.Region(region) } -> std::same_as<bool>;
  {link.Give(/*frames=*/uint32_t{}, /*wait_for_frames=*/true)};
  { link.Poll(now, region) } -> std::same_as<bool>;
  { link.Cancel() } -> std::same_as<bool>;
  { constant.LinkUp() } -> std::same_as<bool>;
  /// Before each received frame, in bytes.
  { constant.headroom_bytes() } -> std::same_as<uint32_t>;
};

/// FrameQueue over a link. Used by one worker.
template <SwapLink Link>
class BilateralQueue {
 public:
  /// `link` outlives the queue, which is its only user. The region that the host has when
  /// a link is opened is given away at once, for one with frames.
  explicit BilateralQueue(Link& link, ExceptionPath exception = {})
      : link_(link), exception_(std::move(exception)) {
    HeldRegion region;
    if (!link_.Region(region)) return;
    Begin(region);
    Give({});
  }
  BilateralQueue(const BilateralQueue&) = delete;
  BilateralQueue& operator=(const BilateralQueue&) = delete;

  /// Handles one region, if the NIC has answered. Returns frames.
  template <QueueEngine Engine>
  uint32_t Poll(Engine& engine, uint64_t now) {
    HeldRegion region;
    if (!link_.Poll(now, region)) return 0;
    Begin(region);
    if (tap_.see != nullptr) [[unlikely]]
      Show(TapDirection::kReceived);
    if constexpr (packet::Sender<Engine>) PlaceWaiting();
    FrameTotals leaving = walker_.Walk(region, link_.headroom_bytes(), engine, now);
    if constexpr (packet::Sender<Engine>) {
      if (!late_.empty() || !waiting_.empty()) [[unlikely]] {
        PlaceLate(leaving);
      } else {
        writer_.Order();
      }
    }
    if constexpr (GeneratingEngine<Engine, BilateralQueue>) {
      while (engine.Generate(*this, now) > 0) {  // As long as frames are due and have room.
      }
    }
    Give(leaving);
    exception_.Flush(counters_);
    return writer_.region().received;
  }

  /// Makes room for frames that wait: kMostLateBytes, and answers of the largest region.
  packet::Outbox outbox() {
    waiting_.Reserve(kMostLateBytes + swap::kMaxRegionBytes);
    return packet::Outbox::To(*this);
  }
  /// What the outbox calls. Into the region at work if there is one with room.
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
  /// Into the region at work, or into one that is given away to wait for frames: it is asked for.
  /// All frames of the region at work have an ending.
  template <FrameSource Source>
  uint32_t Emit(const Source& source, uint32_t count) {
    if (working_) return EmitInto(source, count);
    if (!given_.waits || !link_.Cancel()) return 0;
    given_.waits = false;
    HeldRegion region;
    if (!link_.Region(region)) return 0;  // It had gone: Poll gets it.
    region.received = 0;
    Begin(region);
    PlaceWaiting();
    const uint32_t left = EmitInto(source, count);
    Give({});
    return left;
  }
  bool CanEmit(const uint8_t* /*frame*/, uint32_t length) const {
    return RegionWriter::LengthIsSound(length);
  }
  /// A region that was given away to wait for frames would not come: it is asked for.
  void FlushSent() {
    if (waiting_.empty() || !given_.waits || !link_.Cancel()) return;
    given_.waits = false;
    HeldRegion region;
    if (link_.Region(region)) GiveWaiting(region);  // It had not gone yet. Else Poll gets it.
  }

  /// Before the first Poll.
  void set_tap(FrameTap tap) { tap_ = tap; }
  bool LinkUp() const { return link_.LinkUp(); }
  /// Never: a region that is given away is room of its own.
  uint64_t waited_cycles() const { return 0; }
  const QueueCounters& counters() const { return counters_; }
  QueueCounters& counters() { return counters_; }

  /// Waits until the NIC has taken the last frames given to it; if it does not, asks for
  /// them back: tx_full. Frames that come instead stay unseen, as in a ring.
  void Drain() {
    HeldRegion region;
    FlushSent();
    if (!waiting_.empty()) {
      if (Await(region)) GiveWaiting(region);
      while (!waiting_.empty()) Forget(counters_.tx_full);
    }
    if (given_.frames.pkts == 0 || Await(region)) return;
    link_.Cancel();
    if (!Await(region)) TakeBack();
  }

 private:
  static constexpr uint64_t kDrainMs = 200;
  /// Of frames that are sent while one region is walked, and have no room there.
  static constexpr uint32_t kMostLateBytes = swap::kMaxRegionBytes;
  /// From a frame that is emitted to the line that is fetched for those behind it.
  static constexpr uint32_t kTakenAheadBytes = 16 * swap::kSlotBytes;

  /// What the NIC has been given and has not answered.
  struct Given {
    const uint8_t* region = nullptr;
    FrameTotals frames;
    bool waits = false;  ///< For received frames, as long as it takes.
  };

  /// What the writer appended counts as sent once the region is given away.
  template <FrameSource Source>
  uint32_t EmitInto(const Source& source, uint32_t count) {
    FrameTotals left;
    bool closed = false;
    while (left.pkts < count) {
      const auto index = static_cast<uint32_t>(left.pkts);
      const uint32_t length = source.length(index);
      uint8_t* const to = writer_.Add(length);
      if (to != nullptr) {
        __builtin_prefetch(to + kTakenAheadBytes, 1);
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
  /// As many as have room. One that has room in no region must not hold up the others.
  void PlaceWaiting() {
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
  /// Puts a frame before the answer to the one at work. Returns false if there is no room.
  bool Place(const uint8_t* frame, uint32_t length) {
    const uint32_t number = walker_.at_work();
    if (waiting_.empty() && late_.empty() && writer_.AppendBefore(number, frame, length)) {
      return true;
    }
    if (late_.bytes() + length > kMostLateBytes) return false;
    late_.Add(number, frame, length);
    return true;
  }
  /// Once all frames of the region have an ending: what waited before goes first, then what was
  /// sent without room, with the answers that follow it. Entries of frames that do not leave make
  /// room, and so do their bytes behind the last one that does.
  [[gnu::noinline]] void PlaceLate(FrameTotals& leaving) {
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
    PlaceWaiting();
    late_.Empty([this](const uint8_t* frame, uint32_t length) {
      if (waiting_.empty() && writer_.Append(frame, length)) return;
      if (!waiting_.Push(frame, length)) Lose(length, counters_.tx_full);
    });
  }
  /// Drops the frame that waits longest.
  void Forget(uint64_t& reason) {
    Lose(waiting_.Front().size(), reason);
    waiting_.Pop();
  }
  /// A frame of `bytes` that counts as sent is not.
  void Lose(uint64_t bytes, uint64_t& reason) {
    QueueCounters::Add(counters_.tx_pkts, -uint64_t{1});
    QueueCounters::Add(counters_.tx_bytes, -bytes);
    QueueCounters::Add(reason, 1);
  }
  /// Gives the region away with what waits, received frames in it unseen.
  void GiveWaiting(HeldRegion region) {
    region.received = 0;
    Begin(region);
    PlaceWaiting();
    Give({});
  }

  /// A region came. If it is the one given away, the NIC did not take it.
  void Begin(const HeldRegion& region) {
    TakeUp(region);
    writer_.Begin(region);
    working_ = true;
  }
  void TakeUp(const HeldRegion& region) {
    if (region.base == given_.region) [[unlikely]]
      TakeBack();
    given_ = {};
  }
  [[gnu::noinline]] void TakeBack() {
    QueueCounters::Add(counters_.tx_pkts, -given_.frames.pkts);
    QueueCounters::Add(counters_.tx_bytes, -given_.frames.bytes);
    QueueCounters::Add(counters_.tx_full, given_.frames.pkts);
    given_ = {};
  }

  /// Gives the region at work away, with `leaving` of the frames received in it and what was
  /// appended. Frames to send go at once; without any, the next region is worth waiting for.
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

  /// Looks for the answer to the last Give, for a bounded time. True: it came.
  bool Await(HeldRegion& region) {
    const uint64_t deadline = rte_get_tsc_cycles() + rte_get_tsc_hz() * kDrainMs / 1000;
    for (uint64_t now = 0; now < deadline; rte_pause()) {
      now = rte_get_tsc_cycles();
      if (!link_.Poll(now, region)) continue;
      TakeUp(region);
      return true;
    }
    return false;
  }

  Link& link_;
  ExceptionPath exception_;
  Given given_;
  RegionWriter writer_;  ///< Of the region at work, which is the host's while working_.
  bool working_ = false;
  WaitingFrames waiting_;
  LateAnswers late_;  ///< Of the region at work.
  FrameTap tap_;
  QueueCounters counters_;
  RegionWalker walker_{writer_, exception_, counters_};
};

}  // namespace sluice::nic
