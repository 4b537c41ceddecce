// SPDX-License-Identifier: BSD-3-Clause
//
// The receive path of the Ensō NIC on a card: a block takes a batch of frames from the wire, sorts
// it by pipe, reserves room in each pipe, copies the frames, and publishes them. Several blocks do
// so side by side; a batch stands where the CPU's model has a packet (docs/enso-hardware.md,
// "Receiving").
#pragma once

#include <cstdint>

#include "device/grid/enso_notify.h"
#include "device/grid/enso_steer.h"
#include "device/grid/team.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

struct EnsoReceiveMemory {
  Batch batch;
  /// Pipe and place in the batch; sorted by pipe, so that frames of a pipe keep their order.
  uint32_t keys[kBatchFrames];
  uint32_t places[kBatchFrames];  ///< First flit in its pipe; or kDropped.
  uint32_t before[kBatchFrames];  ///< Flits of the sorted frames before it.
  uint16_t owners[kBatchFlits];   ///< Of each flit of the sorted batch: its frame.
  uint32_t slots[kBatchFrames];   ///< Of the first frame of each pipe: its notification, if any.
  uint32_t slot_buffers[kBatchFrames];
  uint8_t* rings[kBatchFrames];  ///< Of each frame: its pipe's; null if no one range holds it.
  uint16_t lengths[kBatchFrames];  ///< In the order of arrival.
};

class EnsoReceiver {
 public:
  EnsoReceiver(EnsoCard& card, const Team& team, EnsoReceiveMemory& memory)
      : card_(card), wire_(card.wire), team_(team), memory_(memory) {}

  /// Takes a batch and delivers it. Returns false if nothing was due.
  bool Turn() {
    team_.One([&] { memory_.batch = TakeBatch(card_, wire_); });
    batch_ = memory_.batch;
    team_.Sync();
    if (batch_.count == 0) return false;
    Steer();
    const bool reserved = Reserve();
    if (reserved) Copy();
    team_.One([&] { AwaitTurn(&wire_.published, batch_.ticket); });
    if (reserved) Publish();
    team_.One([&] { EndTurn(&wire_.published, batch_.ticket); });
    if (reserved) Account();
    return true;
  }

 private:
  static constexpr uint32_t kDropped = ~0u;
  static constexpr uint32_t kNone = ~0u;
  /// Looks for room before a batch is put back.
  static constexpr uint32_t kPatience = 64;

  uint32_t PipeAt(uint32_t sorted) const { return memory_.keys[sorted] / kBatchFrames; }
  uint32_t FrameAt(uint32_t sorted) const { return memory_.keys[sorted] % kBatchFrames; }
  uint32_t LengthAt(uint32_t sorted) const { return memory_.lengths[FrameAt(sorted)]; }
  uint32_t FlitsAt(uint32_t sorted) const { return regs::enso::Flits(LengthAt(sorted)); }
  const RingFrame& Frame(uint32_t arrival) const {
    return wire_.frames[(batch_.start + arrival) % wire_.entries];
  }
  bool IsFirst(uint32_t sorted) const {
    return sorted == 0 || PipeAt(sorted) != PipeAt(sorted - 1);
  }
  /// The first sorted frame whose pipe is not below `pipe`.
  uint32_t FirstOf(uint32_t pipe) const {
    uint32_t first = 0, last = batch_.count;
    while (first < last) {
      const uint32_t middle = (first + last) / 2;
      (PipeAt(middle) < pipe) ? first = middle + 1 : last = middle;
    }
    return first;
  }
  /// Flits of the sorted frames [first, last).
  uint32_t FlitsOf(uint32_t first, uint32_t last) const {
    return (last == batch_.count ? flits_ : memory_.before[last]) - memory_.before[first];
  }

  void Steer() {
    const uint32_t count = batch_.count;
    uint32_t padded = 2;
    while (padded < count) padded *= 2;
    team_.ForEach(padded, [&](uint32_t i) {
      if (i >= count) {
        memory_.keys[i] = kNone;
        return;
      }
      const uint64_t number = batch_.start + i;
      const auto entry = static_cast<uint32_t>(number % wire_.entries);
      Stamp(wire_, entry, number);
      const RingFrame& frame = wire_.frames[entry];
      const bool oversize = frame.length > regs::enso::kMaxRxFlits * kFlitBytes;
      const uint32_t pipe = oversize ? EnsoCard::kOversize : PipeOf(card_, frame.data);
      memory_.keys[i] = pipe * kBatchFrames + i;
      memory_.lengths[i] = static_cast<uint16_t>(frame.length);
    });
    const uint32_t pipe = PipeAt(0);
    const uint64_t others =
        team_.Sum(count, [&](uint32_t i) -> uint64_t { return PipeAt(i) != pipe ? 1 : 0; });
    if (others != 0) team_.Sort(memory_.keys, padded);
    team_.ForEach(count, [&](uint32_t i) { memory_.before[i] = FlitsAt(i); });
    flits_ = team_.ScanExclusive(memory_.before, count);
  }

  /// A frame may be written to the pipe: one of several flits needs a notification buffer, too.
  bool IsEnabled(const EnsoPipe& pipe, uint32_t flits) const {
    const uint64_t memory = Load(&pipe.memory);
    return memory != 0 && (flits == 1 || Load(&card_.BufferOf(memory).rx_memory) != 0);
  }
  uint32_t Room(const EnsoPipe& pipe) const {
    return (Load(&pipe.head) - Load(&pipe.reserved) - 1) & card_.pipe_mask;
  }

  /// Passes the first point. False if the batch was put back.
  bool Reserve() {
    team_.One([&] { AwaitTurn(&wire_.reserved, batch_.ticket); });
    const bool present =
        team_.Agree([&] { return Load(&wire_.epoch) == batch_.epoch ? 1 : 0; }) != 0;
    const bool fits = present && (wire_.pause == 0 || AwaitRoom());
    if (fits) Place();
    team_.One([&] {
      if (present && !fits) PutBack(wire_, batch_);
      EndTurn(&wire_.reserved, batch_.ticket);
      if (fits) Add(&card_.counters[WireEvent::kOffered], uint64_t{batch_.count});
    });
    return fits;
  }

  bool AwaitRoom() {
    for (uint32_t i = 0; i < kPatience; ++i) {
      const uint64_t full = team_.Sum(batch_.count, [&](uint32_t first) -> uint64_t {
        const uint32_t id = PipeAt(first);
        if (!IsFirst(first) || id >= regs::enso::kMaxPipes) return 0;
        const EnsoPipe& pipe = card_.pipes[id];
        if (!IsEnabled(pipe, FlitsAt(first))) return 0;
        return Room(pipe) < FlitsOf(first, FirstOf(id + 1)) ? 1 : 0;
      });
      if (full == 0) return true;
    }
    return false;
  }

  /// Decides where each frame goes.
  void Place() {
    team_.ForEach(batch_.count, [&](uint32_t i) {
      if (!IsFirst(i)) return;
      const uint32_t id = PipeAt(i), last = FirstOf(id + 1), flits = FlitsOf(i, last);
      memory_.slots[i] = kNone;
      if (id >= regs::enso::kMaxPipes) return PlaceEach(i, last);
      EnsoPipe& pipe = card_.pipes[id];
      if (!IsEnabled(pipe, 2) || Room(pipe) < flits || Load(&card_.wedged) != 0) {
        return PlaceEach(i, last);
      }
      memory_.slots[i] = Load(&pipe.reserved);
      Store(&pipe.reserved, (memory_.slots[i] + flits) & card_.pipe_mask);
    });
    team_.ForEach(batch_.count, [&](uint32_t i) {
      const uint32_t id = PipeAt(i), first = FirstOf(id);
      if (memory_.slots[first] != kNone) {
        memory_.places[i] = (memory_.slots[first] + FlitsOf(first, i)) & card_.pipe_mask;
      }
      memory_.rings[i] = memory_.places[i] == kDropped ? nullptr : Load(&card_.pipes[id].ring);
    });
  }

  /// Places the frames of one pipe where not all of them can be written. One thread.
  void PlaceEach(uint32_t first, uint32_t last) {
    const uint32_t id = PipeAt(first);
    if (id >= regs::enso::kMaxPipes) {
      for (uint32_t i = first; i < last; ++i) memory_.places[i] = kDropped;
      card_.Count(id == EnsoCard::kOversize ? Event::kRxOversize : Event::kRxNoFallback,
                  last - first);
      return;
    }
    EnsoPipe& pipe = card_.pipes[id];
    const uint32_t reserved = Load(&pipe.reserved);
    const uint32_t room = Room(pipe);
    uint32_t taken = 0;
    for (uint32_t i = first; i < last; ++i) {
      const uint32_t flits = FlitsAt(i);
      const bool enabled = IsEnabled(pipe, flits);
      if (enabled && flits <= room - taken && Load(&card_.wedged) == 0) {
        memory_.places[i] = (reserved + taken) & card_.pipe_mask;
        taken += flits;
      } else {
        memory_.places[i] = kDropped;
        Drop(pipe, enabled, flits);
      }
    }
    Store(&pipe.reserved, (reserved + taken) & card_.pipe_mask);
  }

  void Drop(EnsoPipe& pipe, bool enabled, uint32_t flits) {
    if (Load(&card_.wedged) != 0) {
      const bool holds = Add(&card_.held, 1u) < regs::enso::kPacketBuffers;
      return card_.Count(holds ? Event::kRxStuck : Event::kRxNoPacketBuffer);
    }
    FramesDropped(card_, pipe);
    if (enabled) return card_.Count(Event::kRxPipeFull);
    card_.Count(Load(&pipe.memory) == 0 ? Event::kRxPipeDisabled : Event::kRxNbDisabled);
    // The engine skips only the first flit of what it may not write.
    if (flits > 1 && Exchange(&card_.wedged, 1) == 0) card_.Count(Event::kWedged);
  }

  void Copy() {
    team_.ForEach(batch_.count, [&](uint32_t i) {
      const uint32_t flits = FlitsAt(i);
      for (uint32_t flit = 0; flit < flits; ++flit) {
        memory_.owners[memory_.before[i] + flit] = static_cast<uint16_t>(i);
      }
    });
    constexpr uint32_t kParts = kFlitBytes / sizeof(Quad);
    team_.Copy(
        flits_ * kParts,
        [&](uint32_t part) {
          const uint32_t flit = part / kParts, owner = memory_.owners[flit];
          const uint8_t* const data = Frame(FrameAt(owner)).data;
          return LoadQuad(data + (flit - memory_.before[owner]) * kFlitBytes +
                          part % kParts * sizeof(Quad));
        },
        [&](uint32_t part, Quad quad) {
          const uint32_t flit = part / kParts, owner = memory_.owners[flit];
          if (memory_.places[owner] == kDropped) return;
          const uint32_t at =
              (memory_.places[owner] + flit - memory_.before[owner]) & card_.pipe_mask;
          const uint64_t offset = uint64_t{at} * kFlitBytes;
          uint8_t* const ring = memory_.rings[owner];
          uint8_t* const to = ring != nullptr ? ring + offset : Reach(card_, PipeAt(owner), offset);
          if (to != nullptr) {
            StoreQuad(to + part % kParts * sizeof(Quad), quad);
          } else if (part % kParts == 0) {
            card_.Count(Event::kDmaFaults);
          }
        });
    team_.ForEach(kTeamThreads, [&](uint32_t) { FenceSystem(); });
    const auto sum = [&](auto of) {
      return team_.Sum(batch_.count, [&](uint32_t i) -> uint64_t {
        return memory_.places[i] != kDropped ? of(i) : 0;
      });
    };
    frames_ = sum([](uint32_t) { return 1; });
    bytes_ = sum([&](uint32_t i) { return LengthAt(i); });
    written_flits_ = sum([&](uint32_t i) { return FlitsAt(i); });
  }

  /// A flit of a ring of which only parts may be reachable.
  [[gnu::noinline]] static uint8_t* Reach(const EnsoCard& card, uint32_t pipe, uint64_t offset) {
    const uint64_t bus = Load(&card.pipes[pipe].memory) & ~regs::enso::kPipeNbMask;
    return card.dma.Translate(bus + offset, kFlitBytes);
  }

  void Publish() {
    const uint32_t count = batch_.count;
    team_.ForEach(count, [&](uint32_t i) {
      memory_.slots[i] = kNone;
      if (!IsFirst(i) || PipeAt(i) >= regs::enso::kMaxPipes) return;
      uint32_t end = FirstOf(PipeAt(i) + 1);  // Behind the last frame that was written.
      while (end != i && memory_.places[end - 1] == kDropped) --end;
      if (end == i) return;
      const uint32_t tail = (memory_.places[end - 1] + FlitsAt(end - 1)) & card_.pipe_mask;
      FramesAccepted(card_, PipeAt(i), tail, &memory_.slots[i], &memory_.slot_buffers[i]);
    });
    notes_ = team_.Sum(
        count, [&](uint32_t i) -> uint64_t { return memory_.slots[i] != kNone ? 1 : 0; });
    if (notes_ == 0) return;
    team_.ForEach(4 * count, [&](uint32_t i) {
      const uint32_t sorted = i / 4, slot = memory_.slots[sorted];
      if (slot == kNone) return;
      const EnsoBuffer& buffer = card_.buffers[memory_.slot_buffers[sorted]];
      uint8_t* const at = SlotAddress(card_, Load(&buffer.rx_ring), Load(&buffer.rx_memory), slot,
                                      i % 4 == 0);
      if (at == nullptr) return;
      const SlotWrite write = Notification(card_, at, PipeAt(sorted));
      WriteSlotPart(at, 3 - i % 4, write.words[0], write.words[1], write.words[2]);
    });
  }

  void Account() {
    team_.One([&] {
      card_.Count(Event::kRxFrames, frames_);
      card_.Count(Event::kRxBytes, bytes_);
      card_.Count(Event::kRxNotifications, notes_);
      Add(&card_.counters[Crossing::kPayloadToHost], written_flits_ * kFlitBytes);
      Add(&card_.counters[Crossing::kNotifications], notes_ * kSlotBytes);
    });
  }

  EnsoCard& card_;
  Wire& wire_;
  const Team& team_;
  EnsoReceiveMemory& memory_;
  Batch batch_{};
  uint32_t flits_ = 0;
  // Of the batch, as it is delivered.
  uint64_t frames_ = 0, bytes_ = 0, written_flits_ = 0, notes_ = 0;
};

}  // namespace sluice::device::grid
