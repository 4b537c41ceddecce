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
#pragma once

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <utility>

#include "net_ipu/rte_pmd_ipu.h"
#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/tap.h"
#include "swap/region.h"

namespace sluice::nic {

/// The host's end of a link, as rte_pmd_ipu.h describes its functions. Production: IpuLink.
template <typename L>
concept SwapLink = requires(L link, const L& constant, rte_pmd_ipu_region& region, uint64_t now) {
  { link.Region(region) } -> std::same_as<bool>;
  { link.Give(/*frames=*/uint32_t{}, /*wait_for_frames=*/true) };
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
    rte_pmd_ipu_region region;
    if (link_.Region(region)) Give(region, {});
  }
  BilateralQueue(const BilateralQueue&) = delete;
  BilateralQueue& operator=(const BilateralQueue&) = delete;

  /// Handles one region, if the NIC has answered. Returns frames.
  template <FrameEngine Engine>
  uint32_t Poll(Engine& engine, uint64_t now) {
    rte_pmd_ipu_region region;
    if (!link_.Poll(now, region)) return 0;
    Settle(region);
    if (tap_.see != nullptr) [[unlikely]] Show(region, TapDirection::kReceived);
    const Totals leaving = Walk(region, engine, now);
    if (tap_.see != nullptr) [[unlikely]] Show(region, TapDirection::kSent);
    Give(region, leaving);
    exception_.Flush(counters_);
    return region.received;
  }

  /// Before the first Poll.
  void set_tap(FrameTap tap) { tap_ = tap; }
  bool LinkUp() const { return link_.LinkUp(); }
  /// Never: a region that is given away is room of its own.
  uint64_t waited_cycles() const { return 0; }
  const QueueCounters& counters() const { return counters_; }

  /// Waits until the NIC has taken the last frames given to it; if it does not, asks for
  /// them back: tx_full. Frames that come instead stay unseen, as in a ring.
  void Drain() {
    if (given_.frames.pkts == 0 || Await()) return;
    link_.Cancel();
    if (!Await()) TakeBack();
  }

 private:
  /// Frames between the one at work and the one whose line is fetched. With all offsets
  /// in one array any distance can be had; chosen by measurement.
  static constexpr uint32_t kFramesAhead = 24;
  static constexpr uint32_t kEntriesAhead = 64;
  /// The same for what the engine needs besides, once the frame itself is there.
  static constexpr uint32_t kPrepareAhead = 8;
  static constexpr uint64_t kDrainMs = 200;

  struct Totals {
    uint64_t pkts = 0;
    uint64_t bytes = 0;
  };
  /// What the NIC has been given and has not answered.
  struct Given {
    const uint8_t* region = nullptr;
    Totals frames;
  };

  /// The hot loop. Entries are the NIC's word: each is read once and checked. The sums are
  /// of the region; only frames with another ending than "forwarded as it came" cost
  /// bookkeeping of their own. `region` by value: registers, not memory. Returns what leaves.
  template <FrameEngine Engine>
  Totals Walk(const rte_pmd_ipu_region region, Engine& engine, uint64_t now) {
    if (region.received == 0) return {};
    const swap::Geometry bounds = Bounds(region);
    swap::Entry* const last = region.entries + region.received - 1;
    uint64_t bytes = 0;
    kept_back_ = {};
    __builtin_prefetch(region.base, 1);  // The header, for Give.
    for (swap::Entry* at = region.entries; at <= std::min(last, region.entries + kFramesAhead - 1);
         ++at) {
      Prefetch(region.base, Load(*at));
    }
    for (swap::Entry* at = region.entries; at <= last; ++at) {
      __builtin_prefetch(at + kEntriesAhead);
      Prefetch(region.base, Load(*std::min(at + kFramesAhead, last)));
      if constexpr (PreparingEngine<Engine>) {
        const swap::Entry ahead = Load(*std::min(at + kPrepareAhead, last));
        if (swap::EntryIsSound(ahead, bounds)) {
          engine.Prepare(region.base + swap::EntryOffset(ahead), swap::EntryLength(ahead));
        }
      }
      const swap::Entry entry = Load(*at);
      if (!swap::EntryIsSound(entry, bounds)) [[unlikely]] {
        Refuse(*at);
        continue;
      }
      uint8_t* const data = region.base + swap::EntryOffset(entry);
      const uint32_t length = swap::EntryLength(entry);
      packet::Frame frame{data, length, Headroom(region.data, entry), Tailroom(entry)};
      const packet::Verdict verdict = engine.Process(frame, now);
      bytes += length;
      if (verdict.action != packet::Action::kForward) [[unlikely]] {
        if (verdict.action == packet::Action::kPass) {
          exception_.Pass(frame.data, frame.length, counters_);
        }
        End(*at, length, verdict);
      } else if (frame.data != data || frame.length != length) [[unlikely]] {
        Resize(*at, entry, frame.data - data, frame.length, Headroom(region.data, entry));
      }
    }
    const Totals leaving{region.received - kept_back_.pkts, bytes - kept_back_.bytes};
    QueueCounters::Add(counters_.rx_pkts, region.received);
    QueueCounters::Add(counters_.rx_bytes, bytes);
    QueueCounters::Add(counters_.tx_pkts, leaving.pkts);
    QueueCounters::Add(counters_.tx_bytes, leaving.bytes);
    return leaving;
  }

  static swap::Entry Load(swap::Entry& entry) {
    return std::atomic_ref(entry).load(std::memory_order_relaxed);
  }
  static void Store(swap::Entry& entry, swap::Entry value) {
    std::atomic_ref(entry).store(value, std::memory_order_relaxed);
  }

  /// With the right to write: engines answer in place, and a line fetched for reading
  /// would be fetched twice. Any entry will do: a fetch cannot fault.
  static void Prefetch(const uint8_t* base, swap::Entry entry) {
    __builtin_prefetch(base + swap::EntryOffset(entry), 1);
  }

  static swap::Geometry Bounds(const rte_pmd_ipu_region& region) {
    return {.regions = 0, .region_bytes = region.bytes, .max_frames = region.capacity};
  }
  /// Room behind a sound entry's frame, to the end of its slot: within the region.
  static uint32_t Tailroom(swap::Entry entry) {
    return -(swap::EntryOffset(entry) + swap::EntryLength(entry)) & (swap::kSlotBytes - 1);
  }
  /// Room before it, which never reaches into the entries. `data`: where they end.
  uint32_t Headroom(uint32_t data, swap::Entry entry) const {
    return std::min(link_.headroom_bytes(), swap::EntryOffset(entry) - data);
  }

  [[gnu::noinline]] void Refuse(swap::Entry& entry) {
    Store(entry, 0);
    ++kept_back_.pkts;
    QueueCounters::Add(counters_.rx_bad_entry, 1);
  }

  /// A frame that does not leave.
  [[gnu::noinline]] void End(swap::Entry& entry, uint32_t length, packet::Verdict verdict) {
    Store(entry, 0);
    ++kept_back_.pkts;
    kept_back_.bytes += length;
    if (verdict.action == packet::Action::kConsume) {
      QueueCounters::Add(counters_.consumed_pkts, 1);
    } else if (verdict.action == packet::Action::kDrop) {
      const uint32_t reason = std::min<uint32_t>(verdict.reason, QueueCounters::kMaxReasons - 1);
      QueueCounters::Add(counters_.engine_drops[reason], 1);
    }
  }

  /// The engine moved the start of what `arrived` describes, or made it `length` long.
  /// Values, not a Frame: that would live in memory, for every frame.
  [[gnu::noinline]] void Resize(swap::Entry& entry, swap::Entry arrived, int64_t moved_bytes,
                                uint32_t length, uint32_t headroom) {
    const uint32_t room = swap::EntryLength(arrived) + Tailroom(arrived);
    const bool within = moved_bytes >= -int64_t{headroom} && moved_bytes + length <= room &&
                        length >= swap::kMinFrameBytes && length <= swap::kMaxFrameBytes;
    if (!within) {
      Store(entry, 0);
      ++kept_back_.pkts;
      kept_back_.bytes += swap::EntryLength(arrived);
      QueueCounters::Add(counters_.tx_unframeable, 1);
      return;
    }
    const auto offset = static_cast<uint32_t>(swap::EntryOffset(arrived) + moved_bytes);
    Store(entry, swap::MakeEntry(offset, length));
    kept_back_.bytes += uint64_t{swap::EntryLength(arrived)} - length;
  }

  /// A region came. If it is the one given away, the NIC did not take it.
  void Settle(const rte_pmd_ipu_region& region) {
    if (region.base == given_.region) [[unlikely]] TakeBack();
    given_ = {};
  }
  [[gnu::noinline]] void TakeBack() {
    QueueCounters::Add(counters_.tx_pkts, -given_.frames.pkts);
    QueueCounters::Add(counters_.tx_bytes, -given_.frames.bytes);
    QueueCounters::Add(counters_.tx_full, given_.frames.pkts);
    given_ = {};
  }

  /// Frames to send go at once; without any, the next region is worth waiting for.
  void Give(const rte_pmd_ipu_region& region, Totals leaving) {
    given_ = {region.base, leaving};
    link_.Give(leaving.pkts > 0 ? region.received : 0, leaving.pkts == 0);
  }

  [[gnu::noinline]] void Show(const rte_pmd_ipu_region& region, TapDirection direction) const {
    for (uint32_t i = 0; i < region.received; ++i) {
      const swap::Entry entry = Load(region.entries[i]);
      if (!swap::EntryIsSound(entry, Bounds(region))) continue;
      tap_.see(tap_.context, direction, region.base + swap::EntryOffset(entry),
               swap::EntryLength(entry));
    }
  }

  /// Looks for the answer to the last Give, for a bounded time. True: it came.
  bool Await() {
    const uint64_t deadline = rte_get_tsc_cycles() + rte_get_tsc_hz() * kDrainMs / 1000;
    rte_pmd_ipu_region region;
    for (uint64_t now = 0; now < deadline; rte_pause()) {
      now = rte_get_tsc_cycles();
      if (!link_.Poll(now, region)) continue;
      Settle(region);
      return true;
    }
    return false;
  }

  Link& link_;
  ExceptionPath exception_;
  Given given_;
  Totals kept_back_;  ///< Of this region: received minus what leaves; modulo 2^64.
  FrameTap tap_;
  QueueCounters counters_;
};

}  // namespace sluice::nic
