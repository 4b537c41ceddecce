// SPDX-License-Identifier: BSD-3-Clause
//
// Writes frames into a region that the worker holds: answers that do not fit in place, and frames
// that the engine sends by itself. Both are appended after all other frames:
//
//   base         data                        free                bytes
//    v            v                           v                   v
//    | header,    | received frames, each in  | appended frames   |
//    | entries    | separate slots            | go here           |
//
// An entry contains the offset and length of a frame; length 0 means that it is not sent
// (swap/region.h).
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

/// Writes to one region at a time. Used by one worker.
class RegionWriter {
 public:
  /// Result of trying to place a frame.
  enum class Placed : uint8_t { kPlaced, kNoRoom, kUnframeable };

  /// Starts to write to `region`. The worker must hold it until it gives the region back.
  void Begin(const HeldRegion& region) {
    region_ = region;
    used_ = region.received;
    free_ = 0;
    appended_ = {};
    moved_.clear();
  }
  const HeldRegion& region() const { return region_; }
  /// Returns the number of entries in use: those of received and appended frames, minus the entries
  /// that CloseHoles has freed.
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
  /// Returns the room after the frame of a valid entry, where the frame ends at offset `end`: the
  /// bytes up to the end of the frame's slot, which is inside the region.
  static uint32_t Tailroom(uint32_t end) { return -end & (swap::kSlotBytes - 1); }
  static bool LengthIsSound(uint32_t length) {
    return length - swap::kMinFrameBytes <= swap::kMaxFrameBytes - swap::kMinFrameBytes;
  }
  /// Returns whether an empty region has room for a frame of `length`.
  bool CouldHold(uint32_t length) const { return length <= region_.bytes - region_.data; }

  /// Appends an entry for a frame of `length` bytes. Returns the address at which to write the
  /// frame, or null if the frame does not fit.
  uint8_t* Add(uint32_t length) {
    if (used_ == region_.capacity) return nullptr;
    const uint32_t offset = Allocate(length);
    if (offset == 0) return nullptr;
    Store(region_.entries[used_++], swap::MakeEntry(offset, length));
    ++appended_.pkts;
    appended_.bytes += length;
    return region_.base + offset;
  }
  /// Appends a copy of a frame. Returns false if it does not fit.
  bool Append(const uint8_t* frame, uint32_t length) {
    uint8_t* const to = Add(length);
    if (to != nullptr) std::memcpy(to, frame, length);
    return to != nullptr;
  }
  /// Appends a copy of a frame that must be sent before received frame `number`. Returns false if
  /// it does not fit. `number` must not decrease between calls.
  bool AppendBefore(uint32_t number, const uint8_t* frame, uint32_t length) {
    if (!Append(frame, length)) return false;
    moved_.push_back({region_.entries + number, Load(region_.entries[used_ - 1])});
    return true;
  }
  /// Moves the entries that AppendBefore added to their final positions. Called when all received
  /// frames have been handled.
  void Order() {
    if (!moved_.empty()) [[unlikely]]
      MoveForward();
  }

  /// Places an answer of `length` bytes at `data` to the frame that `arrived` describes. `data`
  /// points to the frame's room, including the `headroom` bytes before it, or to a buffer of the
  /// engine, which is copied. If the answer cannot be placed, the frame is not sent.
  Placed Replace(swap::Entry& entry, swap::Entry arrived, const uint8_t* data, uint32_t length,
                 uint32_t headroom) {
    uint32_t offset = 0;
    const Placed placed = Locate(arrived, data, length, headroom, offset);
    Store(entry, placed == Placed::kPlaced ? swap::MakeEntry(offset, length) : 0);
    return placed;
  }

  /// Frees the entries of frames that are not sent, and the bytes after the last frame that is
  /// sent. Called when all frames have been handled.
  void CloseHoles() {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < used_; ++i) {
      const swap::Entry entry = Load(region_.entries[i]);
      if (swap::EntryLength(entry) > 0) Store(region_.entries[kept++], entry);
    }
    used_ = kept;
    free_ = 0;
  }

  /// Removes received frame `number`. Returns its bytes, which are valid until the next write to
  /// the region, or an empty span if the frame is not to be sent.
  std::span<const uint8_t> Remove(uint32_t number) {
    const swap::Entry entry = Load(region_.entries[number]);
    Store(region_.entries[number], 0);
    if (!swap::EntryIsSound(entry, Bounds(region_))) return {};
    return {region_.base + swap::EntryOffset(entry), swap::EntryLength(entry)};
  }

  /// Calls see(data, length) for each frame to be sent.
  template <typename See>
  void ForEachFrame(See see) const {
    for (uint32_t i = 0; i < used_; ++i) {
      const swap::Entry entry = Load(region_.entries[i]);
      if (!swap::EntryIsSound(entry, Bounds(region_))) continue;
      see(region_.base + swap::EntryOffset(entry), swap::EntryLength(entry));
    }
  }

 private:
  /// An appended frame and the received frame that it must precede.
  struct Moved {
    swap::Entry* before;
    swap::Entry entry;
  };

  /// Walks from back to front, so that each entry is moved once. The last moved_.size() entries are
  /// the appended ones, in sending order.
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
    const uint32_t arrived_bytes = swap::EntryLength(arrived);
    const uint32_t room = arrived_bytes + Tailroom(arrived_at + arrived_bytes);
    // Modulo 2^64, so an address before the region yields a large value.
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

  /// Allocates `length` bytes after all other frames. Returns their offset, or 0 if there is no
  /// room.
  uint32_t Allocate(uint32_t length) {
    if (free_ == 0) free_ = EndOfFrames();
    if (length > region_.bytes - free_) return 0;
    return std::exchange(free_, SlotEnd(free_ + length));
  }
  /// The NIC usually fills a region from front to back but is not required to, so all entries are
  /// read.
  [[gnu::noinline]] uint32_t EndOfFrames() const {
    uint32_t end = region_.data;
    ForEachFrame([&](const uint8_t* data, uint32_t length) {
      end = std::max(end, SlotEnd(static_cast<uint32_t>(data - region_.base) + length));
    });
    return end;
  }
  /// Rounds up to the end of a slot. Region ends are slot-aligned, so the result stays in the
  /// region if `end` does.
  static uint32_t SlotEnd(uint32_t end) {
    return (end + swap::kSlotBytes - 1) & ~(swap::kSlotBytes - 1);
  }

  HeldRegion region_{};
  uint32_t used_ = 0;
  uint32_t free_ = 0;  ///< Offset after all frames, or 0 until it is computed.
  FrameTotals appended_;
  std::vector<Moved> moved_;  ///< Keeps its memory between regions.
};

}  // namespace sluice::nic
