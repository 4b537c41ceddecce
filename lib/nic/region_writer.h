// SPDX-License-Identifier: BSD-3-Clause
//
// Writes frames into a region that the worker holds: answers that do not fit where the frame lay,
// and frames that the engine sends by itself. Both go behind all that lies there:
//
//   base         data                        free                bytes
//    v            v                           v                   v
//    | header,    | received frames, each in  | appended frames   |
//    | entries    | slots of its own          | go here           |
//
// Entries are offset and length of a frame; length 0: it does not leave (swap/region.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "nic/frame_queue.h"
#include "nic/held_region.h"
#include "swap/region.h"

namespace sluice::nic {

/// Used by one worker.
class RegionWriter {
 public:
  /// How a frame fared.
  enum class Placed : uint8_t { kPlaced, kNoRoom, kUnframeable };

  /// From now on `region` is written, which the worker holds until it gives it away.
  void Begin(const HeldRegion& region) {
    region_ = region;
    used_ = region.received;
    free_ = 0;
    appended_ = {};
    moved_.clear();
  }
  const HeldRegion& region() const { return region_; }
  /// Those received, and behind them what was appended.
  uint32_t entries() const { return used_; }
  const FrameTotals& appended() const { return appended_; }

  static swap::Entry Load(swap::Entry& entry) {
    return std::atomic_ref(entry).load(std::memory_order_relaxed);
  }
  static void Store(swap::Entry& entry, swap::Entry value) {
    std::atomic_ref(entry).store(value, std::memory_order_relaxed);
  }
  static swap::Geometry Bounds(const HeldRegion& region) {
    return {.regions = 0, .region_bytes = region.bytes, .max_frames = region.capacity};
  }
  /// Room behind a sound entry's frame, to the end of its slot: within the region.
  static uint32_t Tailroom(swap::Entry entry) {
    return -(swap::EntryOffset(entry) + swap::EntryLength(entry)) & (swap::kSlotBytes - 1);
  }
  static bool LengthIsSound(uint32_t length) {
    return length - swap::kMinFrameBytes <= swap::kMaxFrameBytes - swap::kMinFrameBytes;
  }
  /// Whether a region can hold a frame of `length` at all.
  bool CouldHold(uint32_t length) const { return length <= region_.bytes - region_.data; }

  /// Makes room for a frame behind all others. Its first byte, to be written; null: no room.
  uint8_t* Add(uint32_t length) {
    if (used_ == region_.capacity) return nullptr;
    const uint32_t offset = Allocate(length);
    if (offset == 0) return nullptr;
    Store(region_.entries[used_++], swap::MakeEntry(offset, length));
    ++appended_.pkts;
    appended_.bytes += length;
    return region_.base + offset;
  }
  /// Puts a frame there. Returns false if there is no room.
  bool Append(const uint8_t* frame, uint32_t length) {
    uint8_t* const to = Add(length);
    if (to != nullptr) std::memcpy(to, frame, length);
    return to != nullptr;
  }
  /// The same for a frame that leaves before received frame `number`, which never decreases.
  bool AppendBefore(uint32_t number, const uint8_t* frame, uint32_t length) {
    if (!Append(frame, length)) return false;
    moved_.push_back({region_.entries + number, Load(region_.entries[used_ - 1])});
    return true;
  }
  /// Once all received frames have an ending: puts what leaves before some of them there.
  void Order() {
    if (!moved_.empty()) [[unlikely]]
      MoveForward();
  }

  /// The engine answered what `arrived` describes with `length` bytes at `data`: elsewhere in the
  /// room it had, `headroom` bytes before it among them, or in a buffer of its own, which is
  /// copied. What was not placed does not leave.
  Placed Replace(swap::Entry& entry, swap::Entry arrived, const uint8_t* data, uint32_t length,
                 uint32_t headroom) {
    uint32_t offset = 0;
    const Placed placed = Locate(arrived, data, length, headroom, offset);
    Store(entry, placed == Placed::kPlaced ? swap::MakeEntry(offset, length) : 0);
    return placed;
  }

  /// Once all frames have an ending: entries of those that do not leave make room, and so do
  /// their bytes behind the last one that does.
  void CloseHoles() {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < used_; ++i) {
      const swap::Entry entry = Load(region_.entries[i]);
      if (swap::EntryLength(entry) > 0) Store(region_.entries[kept++], entry);
    }
    used_ = kept;
    free_ = 0;
  }

  /// Removes received frame `number`. Returns its bytes, valid while nothing is written to the
  /// region; empty: it does not leave.
  std::span<const uint8_t> Remove(uint32_t number) {
    const swap::Entry entry = Load(region_.entries[number]);
    Store(region_.entries[number], 0);
    if (!swap::EntryIsSound(entry, Bounds(region_))) return {};
    return {region_.base + swap::EntryOffset(entry), swap::EntryLength(entry)};
  }

  /// Calls see(data, length) for each frame that leaves.
  template <typename See>
  void ForEachFrame(See see) const {
    for (uint32_t i = 0; i < used_; ++i) {
      const swap::Entry entry = Load(region_.entries[i]);
      if (!swap::EntryIsSound(entry, Bounds(region_))) continue;
      see(region_.base + swap::EntryOffset(entry), swap::EntryLength(entry));
    }
  }

 private:
  /// A frame that was appended, and the received one before which it leaves.
  struct Moved {
    swap::Entry* before;
    swap::Entry entry;
  };

  /// From the back to the front, so that each entry is moved once: the last `moved_` of all were
  /// appended, in the order in which they leave.
  [[gnu::noinline]] void MoveForward() {
    swap::Entry* to = region_.entries + used_;
    swap::Entry* from = to - moved_.size();
    while (!moved_.empty()) {
      if (from > moved_.back().before) {
        Store(*--to, Load(*--from));
      } else {
        Store(*--to, moved_.back().entry);
        moved_.pop_back();
      }
    }
  }

  Placed Locate(swap::Entry arrived, const uint8_t* data, uint32_t length, uint32_t headroom,
                uint32_t& offset) {
    const uint32_t arrived_at = swap::EntryOffset(arrived);
    const uint32_t room = swap::EntryLength(arrived) + Tailroom(arrived);
    // Modulo 2^64: what lies before the region is far behind it.
    const uint64_t at =
        reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(region_.base);
    if (!LengthIsSound(length)) return Placed::kUnframeable;
    if (at >= region_.bytes) {
      offset = length <= room ? arrived_at : Allocate(length);
      if (offset == 0) return Placed::kNoRoom;
      std::memcpy(region_.base + offset, data, length);
      return Placed::kPlaced;
    }
    offset = static_cast<uint32_t>(at);
    const bool within = at + headroom >= arrived_at && at + length <= arrived_at + room;
    return within ? Placed::kPlaced : Placed::kUnframeable;
  }

  /// Takes `length` bytes behind all that lies in the region. Returns their offset; 0: there are
  /// too few.
  uint32_t Allocate(uint32_t length) {
    if (free_ == 0) free_ = EndOfFrames();
    if (length > region_.bytes - free_) return 0;
    return std::exchange(free_, SlotEnd(free_ + length));
  }
  /// The NIC fills a region from front to back, but need not: all entries are looked at.
  [[gnu::noinline]] uint32_t EndOfFrames() const {
    uint32_t end = region_.data;
    ForEachFrame([&](const uint8_t* data, uint32_t length) {
      end = std::max(end, SlotEnd(static_cast<uint32_t>(data - region_.base) + length));
    });
    return end;
  }
  /// Both ends of a region are on slots: at most its end, if `end` is.
  static uint32_t SlotEnd(uint32_t end) {
    return (end + swap::kSlotBytes - 1) & ~(swap::kSlotBytes - 1);
  }

  HeldRegion region_{};
  uint32_t used_ = 0;
  uint32_t free_ = 0;  ///< Offset behind everything that lies in it; 0: not looked for yet.
  FrameTotals appended_;
  std::vector<Moved> moved_;  ///< Grows when it must, and keeps its memory.
};

}  // namespace sluice::nic
