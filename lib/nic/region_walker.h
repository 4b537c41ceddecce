// SPDX-License-Identifier: BSD-3-Clause
//
// The hot loop of the bilateral interface. Runs an engine over the frames of a region. Used by
// BilateralQueue, which holds the region during the walk.
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
#include "nic/region_row.h"
#include "nic/region_writer.h"
#include "swap/region.h"

namespace sluice::nic {

/// Walks one region at a time. Used by one worker.
class RegionWalker {
 public:
  /// The references must outlive the walker. `writer` must be writing to the region that is walked.
  /// `headroom` is the number of bytes before each frame, as configured for the link.
  RegionWalker(RegionWriter& writer, ExceptionPath& exception, QueueCounters& counters,
               uint32_t headroom)
      : writer_(writer), exception_(exception), counters_(counters), headroom_(headroom) {}
  RegionWalker(const RegionWalker&) = delete;
  RegionWalker& operator=(const RegionWalker&) = delete;

  /// Passes every received frame of the region to the engine. Returns the totals of the forwarded
  /// frames.
  template <packet::QueueEngine Engine>
  FrameTotals Walk(const HeldRegion& region, Engine& engine, uint64_t now) {
    if (region.received == 0) return {};
    unforwarded_ = {};
    __builtin_prefetch(region.base,
                       1);  // The header will be written when the region is given back.
    swap::Entry* const end = region.entries + region.received;
    uint64_t bytes = 0;
    if constexpr (packet::BurstEngine<Engine>) {
      for (swap::Entry* at = region.entries; at < end; at += kBurstFrames) {
        bytes += WalkBurst(region, at, std::min(at + kBurstFrames, end), engine, now);
      }
    } else if (region.received < RegionRow::kGroup) {
      bytes = WalkFew(region, engine, now);
    } else {
      const RegionRow row = RegionRow::Find(region);
      if (row.frames > 0) bytes = WalkRow(region, row, engine, now);
      swap::Entry* const rest = region.entries + row.frames;
      if (rest < end) bytes += WalkFrames(region, rest, end, engine, now);
    }
    const FrameTotals leaving{region.received - unforwarded_.pkts, bytes - unforwarded_.bytes};
    QueueCounters& counters = counters_;  // Loads the reference only once.
    QueueCounters::Add(counters.rx_pkts, region.received);
    QueueCounters::Add(counters.rx_bytes, bytes);
    QueueCounters::Add(counters.tx_pkts, leaving.pkts);
    QueueCounters::Add(counters.tx_bytes, leaving.bytes);
    return leaving;
  }

  /// Returns the number of the frame that the engine is handling, if it is a packet::Sender.
  uint32_t at_work() const { return static_cast<uint32_t>(at_work_ - writer_.region().entries); }

 private:
  /// Prefetch distances in frames and entries, tuned by measurement. All offsets are in one array,
  /// so any distance is possible.
  static constexpr uint32_t kFramesAhead = 24;
  static constexpr uint32_t kEntriesAhead = 64;
  /// Distance in frames at which Prepare is called. By then, the frame itself has been prefetched.
  static constexpr uint32_t kPrepareAhead = 8;
  /// Number of frames that an engine processes in one burst. Copies of their entries fit into the
  /// first-level cache.
  static constexpr uint32_t kBurstFrames = 128;

  /// Handles the frames of a row. Returns the bytes received.
  template <packet::FrameEngine Engine>
  [[gnu::noinline]] uint64_t WalkRow(const HeldRegion region, const RegionRow row, Engine& engine,
                                     uint64_t now) {
    const uint32_t length = swap::EntryLength(row.first);
    const uint64_t step = row.step;
    uint8_t* data = region.base + swap::EntryOffset(row.first);
    uint8_t* const last = data + (row.frames - 1) * step;
    const uint32_t tail = std::min(row.frames, kFramesAhead);  // A multiple of kGroup.
    static_assert(kFramesAhead % RegionRow::kGroup == 0);
    for (uint8_t* group = data; group < data + tail * step; group += RegionRow::kGroup * step) {
#pragma GCC unroll 8
      for (uint32_t i = 0; i < RegionRow::kGroup; ++i) __builtin_prefetch(group + i * step, 1);
    }
    uint64_t ahead = kFramesAhead * step;
    swap::Entry* end = region.entries;
    for (uint32_t left = row.frames - tail;; left = tail) {
      end += left;
      for (; left > 0; --left) {
        __builtin_prefetch(data + ahead, 1);
        if constexpr (packet::PreparingEngine<Engine>) {
          engine.Prepare(std::min(data + kPrepareAhead * step, last), length);
        }
        packet::Frame frame = View(region, data, length);
        if constexpr (packet::Sender<Engine>) at_work_ = end - left;
        const packet::Verdict verdict = engine.Process(frame, now);
        Settle(*(end - left), data, length, frame, verdict);
        data += step;
      }
      if (ahead == 0) break;
      // There are no frames ahead of the tail, so from here on each frame harmlessly prefetches
      // itself.
      ahead = 0;
    }
    return uint64_t{row.frames} * length;
  }

  /// Handles the frames of the entries [first, end), which need not form a row. The NIC writes the
  /// entries, so each entry is read once and validated. Totals are kept per region; only frames
  /// that are not forwarded unchanged need separate accounting. `region` is passed by value so that
  /// it stays in registers. Returns the bytes received.
  template <packet::QueueEngine Engine>
  [[gnu::noinline]] uint64_t WalkFrames(const HeldRegion region, swap::Entry* const first,
                                        swap::Entry* const end, Engine& engine, uint64_t now) {
    const swap::Geometry bounds = RegionWriter::Bounds(region);
    [[maybe_unused]] swap::Entry* const last = end - 1;
    uint64_t bytes = 0;
    const auto tail = std::min<ptrdiff_t>(end - first, kFramesAhead);
    for (swap::Entry* at = first; at < first + tail; ++at) {
      Prefetch(region.base, RegionWriter::Load(*at));
    }
    ptrdiff_t ahead = kFramesAhead;
    swap::Entry* at = first;
    for (swap::Entry* stop = end - tail;; stop = end) {
      for (; at < stop; ++at) {
        __builtin_prefetch(at + kEntriesAhead);
        Prefetch(region.base, RegionWriter::Load(at[ahead]));
        if constexpr (packet::PreparingEngine<Engine>) {
          const swap::Entry next = RegionWriter::Load(*std::min(at + kPrepareAhead, last));
          if (swap::EntryIsSound(next, bounds)) {
            engine.Prepare(region.base + swap::EntryOffset(next), swap::EntryLength(next));
          }
        }
        bytes += HandleEntry(region, bounds, at, engine, now);
      }
      if (stop == end) break;
      // There are no frames ahead of the tail, so from here on each frame harmlessly prefetches
      // itself.
      ahead = 0;
    }
    return bytes;
  }

  /// Like WalkFrames, for a region with few frames, for which the prefetch distances of WalkFrames
  /// would cost more time than they save.
  template <packet::FrameEngine Engine>
  uint64_t WalkFew(const HeldRegion& region, Engine& engine, uint64_t now) {
    const swap::Geometry bounds = RegionWriter::Bounds(region);
    swap::Entry* const end = region.entries + region.received;
    for (swap::Entry* at = region.entries + 1; at < end; ++at) {
      Prefetch(region.base, RegionWriter::Load(*at));
    }
    if constexpr (packet::PreparingEngine<Engine>) {
      for (swap::Entry* at = region.entries; at < end; ++at) {
        const swap::Entry entry = RegionWriter::Load(*at);
        if (!swap::EntryIsSound(entry, bounds)) continue;
        engine.Prepare(region.base + swap::EntryOffset(entry), swap::EntryLength(entry));
      }
    }
    uint64_t bytes = 0;
    for (swap::Entry* at = region.entries; at < end; ++at) {
      bytes += HandleEntry(region, bounds, at, engine, now);
    }
    return bytes;
  }

  /// Validates an entry and passes its frame to the engine. Returns the bytes received.
  template <packet::QueueEngine Engine>
  uint32_t HandleEntry(const HeldRegion& region, const swap::Geometry& bounds, swap::Entry* at,
                       Engine& engine, uint64_t now) {
    const swap::Entry entry = RegionWriter::Load(*at);
    if (!swap::EntryIsSound(entry, bounds)) [[unlikely]] {
      Refuse(*at);
      return 0;
    }
    packet::Frame frame = View(region, entry);
    const uint8_t* const data = frame.data;
    if constexpr (packet::Sender<Engine>) at_work_ = at;
    const packet::Verdict verdict = packet::ProcessFrame(engine, frame, now);
    Settle(*at, data, swap::EntryLength(entry), frame, verdict);
    return swap::EntryLength(entry);
  }

  /// Processes a burst of frames in one call. For a frame that the engine does not read, only the
  /// entry is loaded. If an entry is invalid, walks the burst frame by frame.
  template <packet::BurstEngine Engine>
  uint64_t WalkBurst(const HeldRegion region, swap::Entry* const first, swap::Entry* const end,
                     Engine& engine, uint64_t now) {
    const swap::Geometry bounds = RegionWriter::Bounds(region);
    const auto frames = static_cast<uint32_t>(end - first);
    std::array<swap::Entry, kBurstFrames> entries;
    std::memcpy(entries.data(), first, frames * sizeof(swap::Entry));
    // The NIC may still write to the entries, so only the copies are read from here on.
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
        [&](uint32_t number) { return View(region, entries[number]); },
        [&](uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
          const swap::Entry entry = entries[number];
          Settle(first[number], region.base + swap::EntryOffset(entry), swap::EntryLength(entry),
                 frame, verdict);
          if constexpr (packet::Sender<Engine>) at_work_ = first + number + 1;
        });
    if constexpr (packet::Sender<Engine>) at_work_ = first;
    engine.ProcessBurst(burst, now);
    return bytes;
  }

  /// Prefetches for writing: engines answer in place, and a line that was prefetched for reading
  /// would have to be fetched again. The entry may be invalid, because a prefetch cannot fault.
  static void Prefetch(const uint8_t* base, swap::Entry entry) {
    __builtin_prefetch(base + swap::EntryOffset(entry), 1);
  }

  /// Returns the frame of a valid entry: `length` bytes at `data`.
  packet::Frame View(const HeldRegion& region, uint8_t* data, uint32_t length) const {
    const auto offset = static_cast<uint32_t>(data - region.base);
    return {data, length, Headroom(region.data, offset), RegionWriter::Tailroom(offset + length)};
  }
  packet::Frame View(const HeldRegion& region, swap::Entry entry) const {
    return View(region, region.base + swap::EntryOffset(entry), swap::EntryLength(entry));
  }
  /// Returns the number of writable bytes before the frame at `offset`. These bytes never overlap
  /// the entries, which end at offset `data` of the region.
  uint32_t Headroom(uint32_t data, uint32_t offset) const {
    return std::min(headroom_, offset - data);
  }

  /// Applies the verdict for the frame that arrived as `length` bytes at `data`.
  void Settle(swap::Entry& entry, const uint8_t* data, uint32_t length, const packet::Frame& frame,
              packet::Verdict verdict) {
    if (verdict.action != packet::Action::kForward) [[unlikely]] {
      if (verdict.action == packet::Action::kPass) {
        exception_.Pass(frame.data, frame.length, counters_);
      }
      End(entry, length, verdict);
    } else if (frame.data != data || frame.length != length) {
      Resize(entry, data, length, frame.data, frame.length);
    }
  }

  [[gnu::noinline]] void Refuse(swap::Entry& entry) {
    RegionWriter::Store(entry, 0);
    ++unforwarded_.pkts;
    QueueCounters::Add(counters_.rx_bad_entry, 1);
  }

  /// Counts the verdict for a frame that is not forwarded, and clears its entry.
  [[gnu::noinline]] void End(swap::Entry& entry, uint32_t length, packet::Verdict verdict) {
    RegionWriter::Store(entry, 0);
    ++unforwarded_.pkts;
    unforwarded_.bytes += length;
    if (verdict.action == packet::Action::kConsume) {
      QueueCounters::Add(counters_.consumed_pkts, 1);
    } else if (verdict.action == packet::Action::kDrop) {
      const uint32_t reason = std::min<uint32_t>(verdict.reason, QueueCounters::kMaxReasons - 1);
      QueueCounters::Add(counters_.engine_drops[reason], 1);
    }
  }

  /// Applies an answer of `length` bytes at `data` to the frame that arrived as `arrived_bytes`
  /// bytes at `arrived`. The parameters are passed by value, because a Frame would have to be
  /// stored in memory for every frame.
  [[gnu::noinline]] void Resize(swap::Entry& entry, const uint8_t* arrived, uint32_t arrived_bytes,
                                const uint8_t* data, uint32_t length) {
    const HeldRegion& region = writer_.region();
    const auto offset = static_cast<uint32_t>(arrived - region.base);
    unforwarded_.bytes += arrived_bytes;
    const auto placed = writer_.Replace(entry, swap::MakeEntry(offset, arrived_bytes), data, length,
                                        Headroom(region.data, offset));
    if (placed == RegionWriter::Placed::kPlaced) {
      unforwarded_.bytes -= length;
      return;
    }
    ++unforwarded_.pkts;
    QueueCounters::Add(
        placed == RegionWriter::Placed::kNoRoom ? counters_.tx_full : counters_.tx_unframeable, 1);
  }

  RegionWriter& writer_;
  ExceptionPath& exception_;
  QueueCounters& counters_;
  const uint32_t headroom_;
  const swap::Entry* at_work_ = nullptr;  ///< Entry being handled, if the engine is a Sender.
  FrameTotals unforwarded_;               ///< Totals received minus totals forwarded, modulo 2^64.
};

}  // namespace sluice::nic
