// SPDX-License-Identifier: BSD-3-Clause
//
// The receive path of the Ensō NIC on a card: a block gets a batch of frames from the wire, sorts
// it by pipe, reserves room in each pipe, copies the frames and publishes them. Several blocks run
// in parallel. A batch is treated like a packet in the CPU model (docs/enso-hardware.md,
// "Receiving").
#pragma once

#include <cstdint>

#include "device/grid/enso_notify.h"
#include "device/grid/enso_steer.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

struct EnsoReceiveMemory {
  WireShape shape;
  Batch batch;
  // Indexed by group, which is the sorted frames of one pipe.
  uint8_t* rings[kBatchFrames];  ///< Ring of the pipe; null if no single range contains it.
  uint32_t slots[kBatchFrames];  ///< Reserved flit (set by Fits), then notification slot (set by
                                 ///< Publish).
  uint16_t firsts[kBatchFrames + 1];  ///< The group's first sorted frame.
  uint16_t buffers[kBatchFrames];     ///< Notification buffer of the pipe.
  // Indexed by sorted frame.
  /// Pipe and index in the batch. Sorting is by pipe and keeps the frames of a pipe in order.
  uint32_t keys[kBatchFrames];
  /// First flit of each frame in its pipe, possibly with the flag kSkipped; kDropped if the frame
  /// is dropped.
  uint32_t places[kBatchFrames];
  uint32_t before[kBatchFrames];  ///< Flits of the sorted frames before this one.
  uint16_t groups[kBatchFrames];
  // Indexed by arrival.
  uint32_t sources[kBatchFrames];  ///< RingFrame::flit.
  uint16_t lengths[kBatchFrames];
  uint16_t owners[kBatchFlits];  ///< Index of the sorted frame to which each flit belongs.
};

class EnsoReceiver {
 public:
  /// Creates receive block `block` of `blocks`.
  EnsoReceiver(EnsoCard& card, const Team& team, EnsoReceiveMemory& memory, uint32_t block,
               uint32_t blocks)
      : card_(card),
        wire_(card.wire),
        shape_(memory.shape),
        team_(team),
        memory_(memory),
        block_(block),
        blocks_(blocks),
        pipe_mask_(card.pipe_mask) {}

  /// Fetches a batch and delivers it. Returns false if it is another block's turn or no frame is
  /// due.
  bool Turn() {
    team_.One([&] { memory_.batch = FetchBatch(card_, wire_, shape_, block_, blocks_); });
    batch_ = memory_.batch;
    team_.Sync();
    if (batch_.count == 0) return false;
    Phases phases(card_, team_, Phase::kReceiveSteer);
    Steer();
    phases.Next(Phase::kReceiveReserve);
    const bool reserved = Reserve();
    phases.Next(Phase::kReceiveCopy);
    if (reserved) Copy();
    phases.Next(Phase::kReceivePublish);
    team_.One([&] { AwaitTurn(&wire_.published, batch_.ticket); });
    if (reserved) Publish();
    team_.One([&] { EndPublish(wire_, shape_, batch_, reserved ? batch_.count : 0); });
    phases.End();
    if (reserved) Account();
    return true;
  }

 private:
  static constexpr uint32_t kDropped = ~0u;
  /// Flag in `places`: the frame's data is not written, although the tail advances over it.
  /// kDropped includes this flag.
  static constexpr uint32_t kSkipped = 1u << 31;
  static constexpr uint32_t kNone = ~0u;
  /// Number of times that room is checked before a batch is put back.
  static constexpr uint32_t kPatience = 64;

  uint32_t PipeAt(uint32_t sorted) const { return memory_.keys[sorted] / kBatchFrames; }
  uint32_t FrameAt(uint32_t sorted) const { return memory_.keys[sorted] % kBatchFrames; }
  uint32_t LengthAt(uint32_t sorted) const { return memory_.lengths[FrameAt(sorted)]; }
  uint32_t FlitsAt(uint32_t sorted) const { return regs::enso::Flits(LengthAt(sorted)); }
  uint32_t PipeOfGroup(uint32_t group) const { return PipeAt(memory_.firsts[group]); }
  /// Returns the total number of flits in the sorted frames [first, last).
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
      const RingFrame frame = shape_.frames[EntryOf(shape_, batch_, i)];
      const bool oversize = frame.length > regs::enso::kMaxRxFlits * kFlitBytes;
      const uint32_t pipe = oversize
                                ? EnsoCard::kOversize
                                : PipeOf(card_, shape_.data + uint64_t{frame.flit} * kFlitBytes);
      Stamp(shape_, batch_, i, frame);
      memory_.keys[i] = pipe * kBatchFrames + i;
      memory_.lengths[i] = static_cast<uint16_t>(frame.length);
      memory_.sources[i] = frame.flit;
    });
    const uint32_t pipe = PipeAt(0);
    const bool one_pipe =
        team_.Sum(count, [&](uint32_t i) -> uint64_t { return PipeAt(i) != pipe ? 1 : 0; }) == 0;
    if (!one_pipe) team_.Sort(memory_.keys, padded);
    FindGroups(one_pipe);
  }

  /// Lists the groups of sorted frames, and adds up their flits.
  void FindGroups(bool one_pipe) {
    const uint32_t count = batch_.count;
    const auto is_first = [&](uint32_t i) { return i == 0 || PipeAt(i) != PipeAt(i - 1); };
    groups_ = 1;
    if (!one_pipe) {
      team_.ForEach(count, [&](uint32_t i) { memory_.places[i] = is_first(i) ? 1 : 0; });
      groups_ = team_.ScanExclusive(memory_.places, count);
    }
    team_.ForEach(count, [&](uint32_t i) {
      memory_.before[i] = FlitsAt(i);
      const uint32_t group = one_pipe ? 0 : memory_.places[i] + (is_first(i) ? 0 : ~0u);
      memory_.groups[i] = static_cast<uint16_t>(group);
      if (i == 0) memory_.firsts[groups_] = static_cast<uint16_t>(count);
      if (!is_first(i)) return;
      memory_.firsts[group] = static_cast<uint16_t>(i);
      const uint32_t id = PipeAt(i);
      if (id >= regs::enso::kMaxPipes) return;
      memory_.buffers[group] = static_cast<uint16_t>(BufferOf(Load(&card_.pipes[id].memory)));
    });
    flits_ = team_.ScanExclusive(memory_.before, count);
  }

  /// Returns whether a frame may be written to the pipe. A frame of several flits also requires a
  /// notification buffer.
  bool IsEnabled(const EnsoPipe& pipe, uint32_t flits) const {
    const uint64_t memory = Load(&pipe.memory);
    return memory != 0 && (flits == 1 || HasBuffer(memory));
  }
  static uint32_t BufferOf(uint64_t memory) {
    return static_cast<uint32_t>(memory & regs::enso::kPipeNbMask);
  }
  bool HasBuffer(uint64_t memory) const { return Load(&card_.BufferOf(memory).rx_memory) != 0; }
  uint32_t Room(const EnsoPipe& pipe) const {
    return (Load(&pipe.head) - Load(&pipe.reserved) - 1) & pipe_mask_;
  }

  /// Runs the reservation, in ticket order. Returns false if the batch was put back.
  bool Reserve() {
    bool fits = team_.Agree([&]() -> uint64_t {
      AwaitTurn(&wire_.reserved, batch_.ticket);
      return IsStale(wire_, batch_) ? 0 : 1;
    }) != 0;
    if (fits) {
      uint32_t looks = 0;
      while (!Fits() && ++looks != kPatience) {
      }
      fits = looks != kPatience;
      if (fits) Place();
      if (!fits) team_.One([&] { PutBack(wire_, batch_); });
    }
    team_.Aside([&] { EndTurn(&wire_.reserved, batch_.ticket); });
    return fits;
  }

  /// Checks the room in each pipe. Sets slots[] of the pipe's group to EnsoPipe::reserved if all of
  /// its frames fit and can be written, otherwise to kNone. Returns false if frames must wait.
  bool Fits() {
    const uint64_t full = team_.Sum(groups_, [&](uint32_t group) -> uint64_t {
      memory_.slots[group] = kNone;
      const uint32_t id = PipeOfGroup(group);
      if (id >= regs::enso::kMaxPipes) return 0;
      const EnsoPipe& pipe = card_.pipes[id];
      // Usually still the pipe's buffer. These loads overlap.
      const uint32_t buffer = memory_.buffers[group];
      const uint64_t memory = Load(&pipe.memory), usual = Load(&card_.buffers[buffer].rx_memory);
      const uint32_t reserved = Load(&pipe.reserved), head = Load(&pipe.head),
                     wedged = Load(&card_.wedged);
      memory_.rings[group] = Load(&pipe.ring);
      memory_.buffers[group] = static_cast<uint16_t>(BufferOf(memory));
      const bool has_buffer = BufferOf(memory) == buffer ? usual != 0 : HasBuffer(memory);
      if (memory == 0 || wedged != 0 || !has_buffer) return 0;
      const uint32_t room = (head - reserved - 1) & pipe_mask_;
      if (room < FlitsOf(memory_.firsts[group], memory_.firsts[group + 1])) return shape_.pause;
      memory_.slots[group] = reserved & pipe_mask_;
      return 0;
    });
    return full == 0;
  }

  /// Reserves room and sets the destination of each frame.
  void Place() {
    team_.ForEach(groups_, [&](uint32_t group) {
      const uint32_t first = memory_.firsts[group], last = memory_.firsts[group + 1];
      if (memory_.slots[group] == kNone) return PlaceEach(first, last);
      Store(&card_.pipes[PipeAt(first)].reserved,
            (memory_.slots[group] + FlitsOf(first, last)) & pipe_mask_);
    });
  }

  /// Places the frames of one pipe one by one, because not all of them can be written. Called by
  /// one thread.
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
        memory_.places[i] = (reserved + taken) & pipe_mask_;
        taken += flits;
        if (!HasBuffer(Load(&pipe.memory))) {
          memory_.places[i] |= kSkipped;
          card_.Count(Event::kRxNbDisabled);
        }
      } else {
        memory_.places[i] = kDropped;
        Drop(pipe, enabled, flits);
      }
    }
    Store(&pipe.reserved, (reserved + taken) & pipe_mask_);
  }

  void Drop(EnsoPipe& pipe, bool enabled, uint32_t flits) {
    if (Load(&card_.wedged) != 0) {
      const bool holds = Add(&card_.held, 1u) < regs::enso::kPacketBuffers;
      return card_.Count(holds ? Event::kRxStuck : Event::kRxNoPacketBuffer);
    }
    if (enabled) return card_.Count(Event::kRxPipeFull);
    card_.Count(Load(&pipe.memory) == 0 ? Event::kRxPipeDisabled : Event::kRxNbDisabled);
    // For a frame that must not be written, the engine can skip only the first flit; further flits
    // wedge it.
    if (flits > 1 && Exchange(&card_.wedged, 1) == 0) card_.Count(Event::kWedged);
  }

  void Copy() {
    team_.ForEach(batch_.count, [&](uint32_t i) {
      const uint32_t group = memory_.groups[i], base = memory_.slots[group];
      if (base != kNone) {
        memory_.places[i] = (base + FlitsOf(memory_.firsts[group], i)) & pipe_mask_;
      }
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
          const uint32_t at = memory_.sources[FrameAt(owner)] + flit - memory_.before[owner];
          return LoadQuad(shape_.data + uint64_t{at} * kFlitBytes + part % kParts * sizeof(Quad));
        },
        [&](uint32_t part, Quad quad) {
          const uint32_t flit = part / kParts, owner = memory_.owners[flit];
          if ((memory_.places[owner] & kSkipped) != 0) return;
          const uint32_t at = (memory_.places[owner] + flit - memory_.before[owner]) & pipe_mask_;
          const uint64_t offset = uint64_t{at} * kFlitBytes;
          uint8_t* const ring = memory_.rings[memory_.groups[owner]];
          uint8_t* const to = ring != nullptr ? ring + offset : Reach(card_, PipeAt(owner), offset);
          if (to != nullptr) {
            StoreQuad(to + part % kParts * sizeof(Quad), quad);
          } else if (part % kParts == 0) {
            card_.Count(Event::kDmaFaults);
          }
        });
    team_.FenceStores(flits_ * kParts);
  }

  /// Returns the address of a flit in a ring that may be only partly reachable; null if the flit is
  /// unreachable.
  static uint8_t* Reach(const EnsoCard& card, uint32_t pipe, uint64_t offset) {
    const uint64_t bus = Load(&card.pipes[pipe].memory) & ~regs::enso::kPipeNbMask;
    return card.dma.Translate(bus + offset, kFlitBytes);
  }

  /// Stores the tail of each pipe and writes notifications.
  void Publish() {
    notes_ = team_.Sum(groups_, [&](uint32_t group) -> uint64_t {
      memory_.slots[group] = kNone;
      const uint32_t first = memory_.firsts[group], id = PipeAt(first);
      if (id >= regs::enso::kMaxPipes) return 0;
      uint32_t end = memory_.firsts[group + 1];  // One past the last frame that was written.
      while (end != first && memory_.places[end - 1] == kDropped) --end;
      // A drop is reported only if nothing of the batch was written to the pipe.
      if (end == first) {
        FramesDropped(card_, id, FlitsAt(first));
        return 0;
      }
      const uint32_t tail = (memory_.places[end - 1] + FlitsAt(end - 1)) & pipe_mask_;
      memory_.slots[group] = FramesAccepted(card_, id, tail, memory_.buffers[group]);
      return memory_.slots[group] != kNone ? 1 : 0;
    });
    if (notes_ == 0) return;
    team_.ForEach(4 * groups_, [&](uint32_t i) {
      const uint32_t group = i / 4;
      if (memory_.slots[group] == kNone) return;
      const EnsoBuffer& buffer = card_.buffers[memory_.buffers[group]];
      uint8_t* const at = SlotAddress(card_, Load(&buffer.rx_ring), Load(&buffer.rx_memory),
                                      memory_.slots[group], i % 4 == 0);
      if (at == nullptr) return;
      const SlotWrite write = Notification(card_, at, PipeOfGroup(group));
      WriteSlotPart(at, 3 - i % 4, write.words[0], write.words[1], write.words[2]);
    });
  }

  void Account() {
    // Packs three sums into one word: frames, flits, and bytes in the upper half.
    constexpr uint32_t kFlitsBit = 16, kBytesBit = 32;
    const uint64_t sums = team_.Sum(batch_.count, [&](uint32_t i) -> uint64_t {
      if ((memory_.places[i] & kSkipped) != 0) return 0;
      return 1 | uint64_t{FlitsAt(i)} << kFlitsBit | uint64_t{LengthAt(i)} << kBytesBit;
    });
    const uint64_t frames = sums & 0xffff, flits = sums >> kFlitsBit & 0xffff,
                   bytes = sums >> kBytesBit;
    team_.One([&] {
      Add(&card_.counters[WireEvent::kOffered], uint64_t{batch_.count});
      card_.Count(Event::kRxFrames, frames);
      card_.Count(Event::kRxBytes, bytes);
      card_.Count(Event::kRxNotifications, notes_);
      Add(&card_.counters[Crossing::kPayloadToHost], flits * kFlitBytes);
      Add(&card_.counters[Crossing::kNotifications], notes_ * kSlotBytes);
    });
  }

  EnsoCard& card_;
  Wire& wire_;
  const WireShape& shape_;
  const Team& team_;
  EnsoReceiveMemory& memory_;
  const uint32_t block_, blocks_;
  const uint32_t pipe_mask_;
  Batch batch_{};
  uint32_t groups_ = 0;
  uint32_t flits_ = 0;
  uint64_t notes_ = 0;
};

}  // namespace sluice::device::grid
