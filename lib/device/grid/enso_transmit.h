// SPDX-License-Identifier: BSD-3-Clause
//
// The transmit path of the Ensō NIC on a card (docs/enso-hardware.md, "Transmitting"): a block
// reads the slots of its notification buffers, then their bytes, cuts the bytes into frames, checks
// the frames and completes the slots. Each buffer's bytes are a stream of their own here: a frame
// that begins in one buffer does not go on in another.
#pragma once

#include <cstdint>

#include "device/grid/enso_notify.h"
#include "device/grid/enso_steer.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"
#include "device/grid/verifier.h"

namespace sluice::device::grid {

/// Flits that a turn works on: those held of a frame, and those that are read.
inline constexpr uint32_t kStreamFlits = 4096;
/// Slots that a turn reads.
inline constexpr uint32_t kTurnSlots = 64;
/// Card memory of each notification buffer.
inline constexpr uint32_t kStagingBytes = (kStreamFlits + 1) * kFlitBytes;

struct EnsoTransmitMemory {
  WireShape shape;
  uint64_t data[kTurnSlots];       ///< Where the card reads the slot's bytes; 0: nowhere.
  uint64_t addresses[kTurnSlots];  ///< As the slot has it.
  uint32_t bytes[kTurnSlots];
  uint32_t skips[kTurnSlots];  ///< Flits of the slot that were read before.
  uint32_t ends[kTurnSlots];   ///< Flits of this turn up to the slot's end.
  uint32_t slots;              ///< Slots with something to do.
  uint32_t complete;           ///< Those among them that end in this turn.
  uint32_t flits;              ///< Read in this turn.
  bool whole_flits;            ///< All slots consist of aligned flits.
  uint32_t next;               ///< Where the next look at the buffers begins.
  SlotWrites<kTurnSlots> writes;
  uint16_t lengths[kStreamFlits];  ///< Bytes of the frame if one begins at this flit.
  uint16_t jumps[kStreamFlits];    ///< Where the 2^n-th frame from here begins.
  uint16_t firsts[kStreamFlits];   ///< First flit of each frame.
  uint8_t begins[kStreamFlits];    ///< 1: a frame begins here.
  uint32_t orders[kStreamFlits];   ///< Of each frame; see CheckTag.
  alignas(16) uint32_t scratch[kStreamFlits];
};

class EnsoTransmitter {
 public:
  EnsoTransmitter(EnsoCard& card, const Team& team, EnsoTransmitMemory& memory)
      : card_(card),
        wire_(card.wire),
        shape_(memory.shape),
        team_(team),
        memory_(memory),
        nb_mask_(card.nb_mask) {}

  /// Serves the next buffer with something to do, among those of transmit block `block` among
  /// `blocks`. Returns false if there is none.
  bool Turn(uint32_t block, uint32_t blocks) {
    const uint64_t found = team_.Agree([&] { return Find(block, blocks); });
    if (found == 0) return false;
    Serve(static_cast<uint32_t>(found >> 32) - 1, static_cast<uint32_t>(found));
    return true;
  }

 private:
  static constexpr uint32_t kParts = kFlitBytes / sizeof(Quad);

  /// The number of a buffer plus 1, and the slots that are pending there; 0: there is none. One
  /// thread.
  uint64_t Find(uint32_t block, uint32_t blocks) {
    if (Load(&card_.halted) != 0 || Load(&card_.wedged) != 0) return 0;
    const uint32_t listed = Load(&card_.listed);
    if (block >= listed) return 0;
    const uint32_t own = (listed - block + blocks - 1) / blocks;  // Of this block.
    for (uint32_t i = 0; i < own; ++i) {
      const uint32_t at = (memory_.next + i) % own;
      const uint32_t number = Load(&card_.sending[block + at * blocks]);
      if (number == 0) continue;
      EnsoBuffer& buffer = card_.buffers[number - 1];
      const uint32_t tail = Load(&buffer.tx_tail), head = Load(&buffer.tx_head);
      const uint32_t pending = (tail - Load(&buffer.done)) & nb_mask_;
      if (tail != head) {
        card_.Count(Event::kTxSlots, (tail - head) & nb_mask_);
        Store(&buffer.tx_head, tail);
      }
      if (pending == 0) continue;
      memory_.next = at + 1;
      return uint64_t{number} << 32 | pending;
    }
    return 0;
  }

  void Serve(uint32_t number, uint32_t pending) {
    EnsoBuffer& buffer = card_.buffers[number];
    staging_ = card_.staging + uint64_t{number} * kStagingBytes;
    Phases phases(card_, team_, Phase::kSendSlots);
    ReadSlots(buffer, pending < kTurnSlots ? pending : kTurnSlots);
    if (memory_.slots == 0) return;
    phases.Next(Phase::kSendBytes);
    ReadBytes(buffer);
    phases.Next(Phase::kSendCut);
    const uint32_t frames = CutFrames(buffer);
    phases.Next(Phase::kSendCheck);
    if (frames != 0) Check(frames);
    phases.Next(Phase::kSendComplete);
    KeepRest(buffer);
    Complete(buffer);
    phases.End();
  }

  void ReadSlots(EnsoBuffer& buffer, uint32_t slots) {
    const uint32_t first = Load(&buffer.done);
    team_.ForEach(slots, [&](uint32_t i) {
      const uint32_t slot = (first + i) & nb_mask_;
      const uint8_t* const at =
          SlotAddress(card_, Load(&buffer.tx_ring), Load(&buffer.tx_memory), slot);
      memory_.bytes[i] = 0;
      memory_.addresses[i] = memory_.data[i] = 0;
      memory_.skips[i] = kNothing;
      if (at == nullptr) return;
      const Quad quad = LoadQuad(at);
      const Quad second = LoadQuad(at + sizeof(Quad));
      memory_.addresses[i] = quad.high;
      memory_.bytes[i] = static_cast<uint32_t>(second.low) & 0xf'ffff;
      if (quad.low == regs::enso::kSignalConfig) {
        memory_.skips[i] = kConfig;
        return;
      }
      memory_.data[i] =
          reinterpret_cast<uint64_t>(card_.dma.Translate(quad.high, memory_.bytes[i]));
      memory_.skips[i] = 0;
    });
    team_.One([&] {
      Add(&card_.counters[Crossing::kDescriptors], uint64_t{slots} * kSlotBytes);
      ChooseFlits(buffer, first, slots);
    });
  }

  /// How far this turn goes. One thread.
  void ChooseFlits(EnsoBuffer& buffer, uint32_t first, uint32_t slots) {
    const uint32_t room = kStreamFlits - buffer.held;
    uint32_t flits = 0, i = 0;
    memory_.complete = 0;
    memory_.whole_flits = true;
    for (; i < slots && flits < room; ++i) {
      const uint32_t state = memory_.skips[i];
      if (state == kConfig)
        Configure(card_,
                  SlotAddress(card_, buffer.tx_ring, buffer.tx_memory, (first + i) & nb_mask_));
      if (state == 0 && memory_.bytes[i] == 0) {
        card_.Count(Event::kTxZeroLength);
        Store(&card_.halted, 1u);
        break;
      }
      if (state == 0 && memory_.data[i] == 0) card_.Count(Event::kDmaFaults);
      uint32_t more = 0;
      if (state == 0 && memory_.data[i] != 0) {
        memory_.skips[i] = i == 0 ? buffer.offset : 0;
        more = regs::enso::Flits(memory_.bytes[i]) - memory_.skips[i];
        if ((memory_.data[i] % sizeof(Quad) | memory_.bytes[i] % kFlitBytes) != 0) {
          memory_.whole_flits = false;
        }
      }
      const bool ends = more <= room - flits;
      flits += ends ? more : room - flits;
      memory_.ends[i] = flits;
      if (!ends) {
        buffer.offset = memory_.skips[i] + (memory_.ends[i] - (i == 0 ? 0 : memory_.ends[i - 1]));
        ++i;
        break;
      }
      buffer.offset = 0;
      ++memory_.complete;
    }
    memory_.slots = i;
    memory_.flits = flits;
  }

  /// The slot whose bytes flit `flit` of this turn is.
  uint32_t SlotOf(uint32_t flit) const {
    uint32_t first = 0, last = memory_.slots;
    while (first < last) {
      const uint32_t middle = (first + last) / 2;
      memory_.ends[middle] <= flit ? first = middle + 1 : last = middle;
    }
    return first;
  }

  void ReadBytes(const EnsoBuffer& buffer) {
    uint8_t* const to = staging_ + uint64_t{buffer.held} * kFlitBytes;
    const auto store = [&](uint32_t part, Quad quad) {
      *reinterpret_cast<Quad*>(to + part * sizeof(Quad)) = quad;
      // Bytes 16 and 17 of a flit.
      if (part % kParts == 1) memory_.lengths[buffer.held + part / kParts] = LengthOf(quad);
    };
    // Lengths of what the last turn kept: other buffers were served since.
    if (buffer.held != 0) {
      team_.ForEach(buffer.held, [&](uint32_t i) {
        memory_.lengths[i] = LengthOf(LoadPlain(staging_ + i * kFlitBytes + sizeof(Quad)));
      });
    }
    // Part `part` of this turn's bytes in its slot.
    const auto offset_in = [&](uint32_t slot, uint32_t part) {
      const uint32_t begin = slot == 0 ? 0 : memory_.ends[slot - 1];
      return (memory_.skips[slot] + part / kParts - begin) * kFlitBytes + part % kParts * 16;
    };
    if (memory_.whole_flits) {  // No branch between two loads: they are under way together.
      team_.Copy(
          memory_.flits * kParts,
          [&](uint32_t part) {
            const uint32_t slot = SlotOf(part / kParts);
            return LoadQuad(reinterpret_cast<const uint8_t*>(memory_.data[slot]) +
                            offset_in(slot, part));
          },
          store);
    } else {
      team_.ForEach(memory_.flits * kParts, [&](uint32_t part) {
        const uint32_t slot = SlotOf(part / kParts), offset = offset_in(slot, part);
        store(part, LoadPart(reinterpret_cast<const uint8_t*>(memory_.data[slot]) + offset,
                             offset < memory_.bytes[slot] ? memory_.bytes[slot] - offset : 0));
      });
    }
    team_.One([&] {
      Add(&card_.counters[Crossing::kPayloadFromHost], uint64_t{memory_.flits} * kFlitBytes);
    });
  }

  /// Bytes at an odd address, or the last ones of a slot.
  static Quad LoadPart(const uint8_t* from, uint32_t bytes) {
    Quad quad{0, 0};
    for (uint32_t i = 0; i < bytes && i < sizeof(Quad); ++i) {
      const uint64_t byte = Load(&from[i]);
      (i < 8 ? quad.low : quad.high) |= byte << (8 * (i % 8));
    }
    return quad;
  }

  /// The length that a frame claims, by the second quad of its first flit; longer ones than a frame
  /// can be are equally bad.
  static uint16_t LengthOf(Quad quad) {
    const uint32_t total = (quad.low & 0xff) << 8 | (quad.low >> 8 & 0xff);
    return static_cast<uint16_t>(total + 14 < 0xffff ? total + 14 : 0xffff);
  }
  uint32_t SpanAt(uint32_t flit) const { return regs::enso::Flits(memory_.lengths[flit]); }

  /// Finds where frames begin: each flit knows where the next frame would begin if one began there;
  /// the distance doubles with each step. Returns the number of whole frames.
  uint32_t CutFrames(const EnsoBuffer& buffer) {
    total_ = buffer.held + memory_.flits;
    const uint64_t longer = team_.Sum(total_, [&](uint32_t i) -> uint64_t {
      const uint32_t span = SpanAt(i);
      memory_.jumps[i] =
          static_cast<uint16_t>(i + span < total_ && span <= kMostFlits ? i + span : total_);
      memory_.begins[i] = i == 0;
      memory_.firsts[i] = static_cast<uint16_t>(i);
      return span != 1 ? 1 : 0;
    });
    if (longer == 0) {
      rest_ = 0;
      return total_;
    }
    for (uint32_t step = 1; step < total_; step *= 2) Double();
    team_.ForEach(total_, [&](uint32_t i) { memory_.scratch[i] = IsWhole(i) ? 1 : 0; });
    const uint32_t frames = team_.ScanExclusive(memory_.scratch, total_);
    // The last frame that begins may not be whole.
    rest_ = static_cast<uint32_t>(team_.Sum(total_, [&](uint32_t i) -> uint64_t {
      if (IsWhole(i)) memory_.firsts[memory_.scratch[i]] = static_cast<uint16_t>(i);
      return memory_.begins[i] != 0 && !IsWhole(i) ? total_ - i : 0;
    }));
    return frames;
  }

  bool IsWhole(uint32_t i) const {
    return memory_.begins[i] != 0 && SpanAt(i) <= kMostFlits && i + SpanAt(i) <= total_;
  }

  void Double() {
    team_.ForEach(total_, [&](uint32_t i) {
      const uint32_t next = memory_.jumps[i];
      memory_.firsts[i] = next < total_ ? memory_.jumps[next] : static_cast<uint16_t>(total_);
      if (memory_.begins[i] != 0 && next < total_) memory_.begins[next] = 1;
    });
    team_.ForEach(total_, [&](uint32_t i) { memory_.jumps[i] = memory_.firsts[i]; });
  }

  /// Keeps the beginning of a frame whose end is still to come.
  void KeepRest(EnsoBuffer& buffer) {
    team_.One([&] {
      buffer.held = rest_;
      if (rest_ < kMostFlits) return;
      card_.Count(Event::kTxOversize);
      Store(&card_.halted, 1u);
    });
    if (rest_ == 0 || rest_ == total_) return;
    // By way of shared memory: the two places may overlap.
    auto* const quads = reinterpret_cast<Quad*>(memory_.scratch);
    static_assert(kMostFlits * kFlitBytes <= sizeof(memory_.scratch));
    const uint8_t* const from = staging_ + uint64_t{total_ - rest_} * kFlitBytes;
    team_.ForEach(rest_ * kParts,
                  [&](uint32_t i) { quads[i] = LoadPlain(from + i * sizeof(Quad)); });
    team_.ForEach(rest_ * kParts, [&](uint32_t i) {
      *reinterpret_cast<Quad*>(staging_ + i * sizeof(Quad)) = quads[i];
    });
  }

  Returned Frame(uint32_t i) const {
    const uint32_t first = memory_.firsts[i];
    return {staging_ + uint64_t{first} * kFlitBytes, memory_.lengths[first]};
  }

  /// Counts and checks `frames` frames.
  void Check(uint32_t frames) {
    const auto lap = static_cast<uint32_t>(team_.Agree([&] { return Load(&wire_.lap); }));
    const uint64_t now = team_.Agree([] { return NowNs(); });
    // Counts of known and of late frames, and bytes above them.
    constexpr uint32_t kLateBit = 16, kBytesBit = 32;
    const uint64_t sums = team_.Sum(frames, [&](uint32_t i) -> uint64_t {
      const Returned frame = Frame(i);
      uint64_t sum = uint64_t{frame.length} << kBytesBit | 1;
      if (shape_.verify == 0) return sum;
      bool late = false;
      memory_.orders[i] = CheckTag(card_, shape_, frame, now, lap, &late);
      if (late) sum |= 1u << kLateBit;
      return memory_.orders[i] != kNoOrder ? sum : sum - 1;
    });
    uint64_t reordered = sums >> kLateBit & 0xffff, compared = 0, changed = 0;
    if (shape_.verify != 0) {
      reordered =
          CountReordered(shape_, team_, memory_.orders, frames, memory_.scratch, lap, reordered);
      // One frame in so many, if its tag is right.
      const uint32_t samples = frames / shape_.verify;
      const auto at = [&](uint32_t i) { return i * shape_.verify + shape_.verify - 1; };
      compared = samples == 0 ? 0 : team_.Sum(samples, [&](uint32_t i) -> uint64_t {
        return memory_.orders[at(i)] != kNoOrder ? 1 : 0;
      });
      if (compared != 0) {
        changed = CountChanged(shape_, team_, samples, memory_.scratch, [&](uint32_t i) {
          return memory_.orders[at(i)] != kNoOrder ? Frame(at(i)) : Returned{nullptr, 0};
        });
      }
    }
    team_.Lead([&] {
      const uint64_t bytes = sums >> kBytesBit;
      card_.Count(Event::kTxFrames, frames);
      card_.Count(Event::kTxBytes, bytes);
      Counters& counters = card_.counters;
      Add(&counters[WireEvent::kReturned], uint64_t{frames});
      Add(&counters[WireEvent::kReturnedBytes], bytes);
      Add(&counters[WireEvent::kRecognised], sums & 0xffff);
      Add(&counters[WireEvent::kVerified], compared);
      if (reordered != 0) Add(&counters[WireEvent::kReordered], reordered);
      if (changed != 0) Add(&counters[WireEvent::kCorrupted], changed);
    });
  }

  /// Overwrites the slots that were read to their ends.
  void Complete(EnsoBuffer& buffer) {
    const uint32_t first = buffer.done;
    team_.One([&] { memory_.writes.count = 0; });
    team_.ForEach(memory_.complete, [&](uint32_t i) {
      const uint32_t slot = (first + i) & nb_mask_;
      uint8_t* const at =
          SlotAddress(card_, Load(&buffer.tx_ring), Load(&buffer.tx_memory), slot, false);
      if (at == nullptr) return;
      memory_.writes.Append(
          {at, {regs::enso::kSignalNone, memory_.addresses[i], memory_.bytes[i]}});
    });
    memory_.writes.Flush(card_, team_);
    team_.One([&] { Store(&buffer.done, (first + memory_.complete) & nb_mask_); });
  }

  static constexpr uint32_t kNothing = ~0u;     ///< The slot cannot be reached.
  static constexpr uint32_t kConfig = ~0u - 1;  ///< The slot is a command.

  static constexpr uint32_t kMostFlits = regs::enso::kMaxTxFrameFlits;

  EnsoCard& card_;
  const Wire& wire_;
  const WireShape& shape_;
  const Team& team_;
  EnsoTransmitMemory& memory_;
  const uint32_t nb_mask_;
  uint8_t* staging_ = nullptr;
  uint32_t total_ = 0;  ///< Flits of this turn, with those held.
  uint32_t rest_ = 0;   ///< Flits at its end of a frame that is not whole.
};

}  // namespace sluice::device::grid
