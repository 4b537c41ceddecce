// SPDX-License-Identifier: BSD-3-Clause
//
// Runs an engine over the frames of a region: the heart of the bilateral interface. Used by
// BilateralQueue, which holds the region meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/held_region.h"
#include "nic/region_writer.h"
#include "swap/region.h"

namespace sluice::nic {

/// Used by one worker.
class RegionWalker {
 public:
  /// All outlive it. `writer` is at work on the region that is walked.
  RegionWalker(RegionWriter& writer, ExceptionPath& exception, QueueCounters& counters)
      : writer_(writer), exception_(exception), counters_(counters) {}
  RegionWalker(const RegionWalker&) = delete;
  RegionWalker& operator=(const RegionWalker&) = delete;

  /// Gives every received frame of the region to the engine. Returns what leaves of them.
  /// `headroom`: bytes before each frame, as the link has it.
  template <QueueEngine Engine>
  FrameTotals Walk(const HeldRegion& region, uint32_t headroom, Engine& engine, uint64_t now) {
    if (region.received == 0) return {};
    kept_back_ = {};
    headroom_ = headroom;
    __builtin_prefetch(region.base, 1);  // The header, for when it is given away.
    swap::Entry* const end = region.entries + region.received;
    uint64_t bytes = 0;
    if constexpr (BurstEngine<Engine>) {
      for (swap::Entry* at = region.entries; at < end; at += kBurstFrames) {
        bytes += WalkBurst(region, at, std::min(at + kBurstFrames, end), engine, now);
      }
    } else {
      bytes = WalkFrames(region, region.entries, end, engine, now);
    }
    const FrameTotals leaving{region.received - kept_back_.pkts, bytes - kept_back_.bytes};
    QueueCounters::Add(counters_.rx_pkts, region.received);
    QueueCounters::Add(counters_.rx_bytes, bytes);
    QueueCounters::Add(counters_.tx_pkts, leaving.pkts);
    QueueCounters::Add(counters_.tx_bytes, leaving.bytes);
    return leaving;
  }

  /// Number of the frame that the engine handles, if it is a packet::Sender.
  uint32_t at_work() const { return static_cast<uint32_t>(at_work_ - writer_.region().entries); }

 private:
  /// Frames between the one at work and the one whose line is fetched. With all offsets
  /// in one array any distance is possible; chosen by measurement.
  static constexpr uint32_t kFramesAhead = 24;
  static constexpr uint32_t kEntriesAhead = 64;
  /// The same for what the engine needs besides, once the frame itself is there.
  static constexpr uint32_t kPrepareAhead = 8;
  /// Frames that an engine sees at once: copies of their entries stay in the cache.
  static constexpr uint32_t kBurstFrames = 128;

  /// The hot loop. Entries are the NIC's word: each is read once and checked. The sums are
  /// of the region; only frames with another ending than "forwarded as it came" cost
  /// bookkeeping of their own. `region` by value: registers, not memory. Returns the bytes.
  template <QueueEngine Engine>
  uint64_t WalkFrames(const HeldRegion region, swap::Entry* const first, swap::Entry* const end,
                      Engine& engine, uint64_t now) {
    const swap::Geometry bounds = RegionWriter::Bounds(region);
    swap::Entry* const last = end - 1;
    uint64_t bytes = 0;
    for (swap::Entry* at = first; at <= std::min(last, first + kFramesAhead - 1); ++at) {
      Prefetch(region.base, RegionWriter::Load(*at));
    }
    for (swap::Entry* at = first; at <= last; ++at) {
      __builtin_prefetch(at + kEntriesAhead);
      Prefetch(region.base, RegionWriter::Load(*std::min(at + kFramesAhead, last)));
      if constexpr (PreparingEngine<Engine>) {
        const swap::Entry ahead = RegionWriter::Load(*std::min(at + kPrepareAhead, last));
        if (swap::EntryIsSound(ahead, bounds)) {
          engine.Prepare(region.base + swap::EntryOffset(ahead), swap::EntryLength(ahead));
        }
      }
      const swap::Entry entry = RegionWriter::Load(*at);
      if (!swap::EntryIsSound(entry, bounds)) [[unlikely]] {
        Refuse(*at);
        continue;
      }
      packet::Frame frame = View(region.base, region.data, entry);
      if constexpr (packet::Sender<Engine>) at_work_ = at;
      const packet::Verdict verdict = packet::ProcessFrame(engine, frame, now);
      bytes += swap::EntryLength(entry);
      Settle(*at, entry, region.base, frame, verdict);
    }
    return bytes;
  }

  /// Some frames at once. Of a frame that the engine does not look at, the entry alone is loaded.
  /// A NIC that lies about one of them gets them walked frame by frame.
  template <BurstEngine Engine>
  uint64_t WalkBurst(const HeldRegion region, swap::Entry* const first, swap::Entry* const end,
                     Engine& engine, uint64_t now) {
    const swap::Geometry bounds = RegionWriter::Bounds(region);
    const auto frames = static_cast<uint32_t>(end - first);
    std::array<swap::Entry, kBurstFrames> entries;
    std::memcpy(entries.data(), first, frames * sizeof(swap::Entry));
    // The NIC may write to them yet: from here on, only what was copied is looked at.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const auto arrived = std::span(std::as_const(entries)).first(frames);
    if (!swap::EntriesAreSound(arrived, bounds)) [[unlikely]] {
      return WalkFrames(region, first, end, engine, now);
    }
    uint32_t bytes = 0, longest = 0;
    for (const swap::Entry entry : arrived) {
      bytes += swap::EntryLength(entry);
      longest = std::max(longest, swap::EntryLength(entry));
    }
    packet::FoundBurst burst(
        frames, packet::BurstTotals{bytes, longest},
        [&](uint32_t number) { return View(region.base, region.data, entries[number]); },
        [&](uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
          Settle(first[number], entries[number], region.base, frame, verdict);
          if constexpr (packet::Sender<Engine>) at_work_ = first + number + 1;
        });
    if constexpr (packet::Sender<Engine>) at_work_ = first;
    engine.ProcessBurst(burst, now);
    return bytes;
  }

  /// With the right to write: engines answer in place, and a line fetched for reading
  /// would be fetched twice. Any entry will do: a fetch cannot fault.
  static void Prefetch(const uint8_t* base, swap::Entry entry) {
    __builtin_prefetch(base + swap::EntryOffset(entry), 1);
  }

  /// What a sound entry describes. `data`: offset where the region's entries end.
  packet::Frame View(uint8_t* base, uint32_t data, swap::Entry entry) const {
    return {base + swap::EntryOffset(entry), swap::EntryLength(entry), Headroom(data, entry),
            RegionWriter::Tailroom(entry)};
  }
  /// Room before a frame, which never reaches into the entries.
  uint32_t Headroom(uint32_t data, swap::Entry entry) const {
    return std::min(headroom_, swap::EntryOffset(entry) - data);
  }

  /// Sees to the ending of what `arrived` describes.
  void Settle(swap::Entry& entry, swap::Entry arrived, const uint8_t* base,
              const packet::Frame& frame, packet::Verdict verdict) {
    const uint32_t length = swap::EntryLength(arrived);
    if (verdict.action != packet::Action::kForward) [[unlikely]] {
      if (verdict.action == packet::Action::kPass) {
        exception_.Pass(frame.data, frame.length, counters_);
      }
      End(entry, length, verdict);
    } else if (frame.data != base + swap::EntryOffset(arrived) || frame.length != length) {
      Resize(entry, arrived, frame.data, frame.length);
    }
  }

  [[gnu::noinline]] void Refuse(swap::Entry& entry) {
    RegionWriter::Store(entry, 0);
    ++kept_back_.pkts;
    QueueCounters::Add(counters_.rx_bad_entry, 1);
  }

  /// A frame that does not leave.
  [[gnu::noinline]] void End(swap::Entry& entry, uint32_t length, packet::Verdict verdict) {
    RegionWriter::Store(entry, 0);
    ++kept_back_.pkts;
    kept_back_.bytes += length;
    if (verdict.action == packet::Action::kConsume) {
      QueueCounters::Add(counters_.consumed_pkts, 1);
    } else if (verdict.action == packet::Action::kDrop) {
      const uint32_t reason = std::min<uint32_t>(verdict.reason, QueueCounters::kMaxReasons - 1);
      QueueCounters::Add(counters_.engine_drops[reason], 1);
    }
  }

  /// The engine answered what `arrived` describes with `length` bytes at `data`.
  /// Values, not a Frame: that would live in memory, for every frame.
  [[gnu::noinline]] void Resize(swap::Entry& entry, swap::Entry arrived, const uint8_t* data,
                                uint32_t length) {
    kept_back_.bytes += swap::EntryLength(arrived);
    const auto placed =
        writer_.Replace(entry, arrived, data, length, Headroom(writer_.region().data, arrived));
    if (placed == RegionWriter::Placed::kPlaced) {
      kept_back_.bytes -= length;
      return;
    }
    ++kept_back_.pkts;
    QueueCounters::Add(
        placed == RegionWriter::Placed::kNoRoom ? counters_.tx_full : counters_.tx_unframeable, 1);
  }

  RegionWriter& writer_;
  ExceptionPath& exception_;
  QueueCounters& counters_;
  uint32_t headroom_ = 0;
  const swap::Entry* at_work_ = nullptr;  ///< While an engine walks that sends frames of its own.
  FrameTotals kept_back_;                 ///< Received minus what leaves; modulo 2^64.
};

}  // namespace sluice::nic
