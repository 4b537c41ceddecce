// SPDX-License-Identifier: BSD-3-Clause
//
// Reserves room for a batch that has been sorted by queue: descriptors in rings, or entries and
// slots in regions. Blocks reserve in batch order.
#pragma once

#include <cstdint>

#include "device/grid/ipu_batch.h"
#include "device/grid/ipu_sort.h"
#include "device/grid/team.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

/// The part of a receive block that knows which queues a batch's frames belong to and how much room
/// the queues have.
class IpuReservation {
 protected:
  static constexpr uint8_t kLeft = kIpuDropped + 1;  ///< The frame was put back.
  static constexpr uint8_t kFault = 0x80;

  uint32_t QueueOf(uint32_t arrival) const { return memory_.queues[arrival] & ~uint32_t{kFault}; }
  uint32_t Segments(uint32_t queue, uint32_t length) const {
    const uint32_t room = settings_.rings[queue].room;
    return length <= room ? 1 : (length + room - 1) / room;
  }
  RingPlace Ring(uint32_t queue) const { return RingPlace(settings_.rings[queue].place); }
  bool IsOnCard(uint32_t queue) const { return (settings_.rings[queue].flags & kRxOnCard) != 0; }
  bool IsLinked(uint32_t queue) const { return (settings_.rings[queue].flags & kRxLinked) != 0; }
  /// Returns the frames of a queue that has a link, and their regions.
  auto Spans(uint32_t queue) const {
    const auto flits = [this](uint32_t first, uint32_t end) {
      return memory_.before[end - 1] + Flits(memory_.lengths[memory_.arrivals[end - 1]]) -
             memory_.before[first];
    };
    return IpuSpanWalk(card_.links[queue], memory_.spans[queue],
                       settings_.rings[queue].flags >> kRxHeadroomShift, memory_.starts[queue],
                       memory_.starts[queue + 1], flits);
  }
  bool HasFrames(uint32_t queue) const {
    return memory_.starts[queue] != memory_.starts[queue + 1];
  }
  /// Returns the number of frames that are not dropped; they come first in sorted order.
  uint32_t ForQueues() const { return memory_.starts[kIpuDropped]; }

  IpuReservation(IpuCard& card, const Team& team, IpuReceiveMemory& memory)
      : card_(card),
        wire_(card.wire),
        shape_(memory.shape),
        settings_(memory.settings),
        team_(team),
        memory_(memory) {}

  /// Reserves descriptors. Batches are reserved in ticket order. Returns how many frames of the
  /// batch are processed; the rest are put back.
  uint32_t Reserve() {
    for (uint32_t look = 0;; ++look) {
      Look();
      if (memory_.agrees == 0) return 0;
      if (memory_.left == 0 || shape_.pause == 0 || look == kPatience) break;
      team_.ForEach(kIpuQueues, [&](uint32_t queue) {
        if (IsLinked(queue) && HasFrames(queue)) card_.links[queue].Unlock();
      });
    }
    uint32_t count = batch_.count;
    if (memory_.left != 0 && shape_.pause != 0) {
      count = kBatchFrames - static_cast<uint32_t>(memory_.left);
    } else if (memory_.left != 0 && settings_.segments != 1) {
      // Drops the frame that needs too many descriptors; later frames may need fewer.
      count = kBatchFrames - static_cast<uint32_t>(memory_.left) + 1;
    }
    Promise(count);
    return count;
  }

  /// Ends the reservation in ticket order. Called by one thread.
  void EndReserve(uint32_t count) {
    if (count != batch_.count && !IsStale(wire_, batch_)) {
      Batch rest = batch_;
      rest.position += count;
      rest.entry = EntryOf(shape_, batch_, count);
      if (rest.entry < batch_.entry) ++rest.lap;
      PutBack(wire_, rest);
    }
    EndTurn(&wire_.reserved, batch_.ticket);
    Add(&card_.counters[WireEvent::kOffered], uint64_t{count});
  }

  IpuCard& card_;
  Wire& wire_;
  const WireShape& shape_;
  const IpuSettings& settings_;
  const Team team_;
  IpuReceiveMemory& memory_;
  Batch batch_{};

 private:
  /// Number of times that room is checked before frames without room are put back.
  static constexpr uint32_t kPatience = 64;

  /// Returns the first sorted frame of a queue for which is_beyond(frame) is true, otherwise the
  /// end of the queue's frames. If is_beyond is true for a frame, it must also be true for all
  /// later frames.
  template <typename F>
  uint32_t FirstOf(uint32_t queue, F is_beyond) const {
    uint32_t first = memory_.starts[queue], last = memory_.starts[queue + 1];
    while (first < last) {
      const uint32_t middle = (first + last) / 2;
      is_beyond(middle) ? last = middle : first = middle + 1;
    }
    return first;
  }
  /// Returns the first sorted frame of `queue` for which the queue has no room, otherwise the end
  /// of the queue's frames.
  uint32_t EndOfRoom(uint32_t queue) const {
    const uint32_t end = memory_.needs[memory_.starts[queue]] + memory_.rooms[queue];
    return FirstOf(queue, [&](uint32_t i) { return memory_.needs[i + 1] > end; });
  }

  /// Reads how many descriptors each queue has posted, and finds the first frame without room.
  void Look() {
    team_.One([&] {
      const bool agrees = !IsStale(wire_, batch_) && Load(&card_.config) == memory_.config;
      memory_.agrees = agrees ? 1 : 0;
      memory_.left = 0;
    });
    // If the settings have changed, the register block may be changing the links without waiting
    // for this batch.
    if (memory_.agrees == 0) return;
    team_.ForEach(kIpuQueues, [&](uint32_t queue) {
      if (!HasFrames(queue)) return;
      if (IsLinked(queue)) return LookAtLink(queue);
      const IpuRing& ring = card_.rx[queue];
      // The tail announces descriptors, so it is loaded last.
      const uint32_t reserved = Load(&ring.reserved), tail = LoadAcquire(&ring.tail);
      const uint32_t room = tail - reserved, most = Ring(queue).entries();
      memory_.bases[queue] = reserved;
      memory_.rooms[queue] = room <= most ? room : 0;
      NoteRoom(queue, EndOfRoom(queue));
    });
  }
  /// Records that the frames of a queue from `end` on, if any, have no room.
  void NoteRoom(uint32_t queue, uint32_t end) {
    if (end == memory_.starts[queue + 1]) return;
    Max(&memory_.left, uint64_t{kBatchFrames - memory_.arrivals[end]});
  }
  /// Locks the link until its room is reserved, or until the next look.
  void LookAtLink(uint32_t queue) {
    while (!card_.links[queue].TryLock()) Relax();
    const uint32_t end = Spans(queue).Look();
    memory_.bases[queue] = 0;
    memory_.rooms[queue] = end - memory_.starts[queue];
    NoteRoom(queue, end);
  }

  /// Reserves descriptors for each of the first `count` frames for which its queue has room.
  void Promise(uint32_t count) {
    team_.ForEach(kIpuQueues, [&](uint32_t queue) {
      const uint32_t first = memory_.starts[queue];
      if (!HasFrames(queue)) return;
      const uint32_t room = EndOfRoom(queue);
      const uint32_t late =
          FirstOf(queue, [&](uint32_t i) { return memory_.arrivals[i] >= count; });
      const uint32_t end = room < late ? room : late;
      memory_.taken[queue] = memory_.needs[end] - memory_.needs[first];
      if (!IsLinked(queue)) {
        return Store(&card_.rx[queue].reserved, memory_.bases[queue] + memory_.taken[queue]);
      }
      const bool full =
          end == room && end != memory_.starts[queue + 1] && memory_.arrivals[end] <= count;
      Spans(queue).Reserve(end, full);
      card_.links[queue].Unlock();
    });
  }
};

}  // namespace sluice::device::grid
