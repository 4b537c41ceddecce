// SPDX-License-Identifier: BSD-3-Clause
//
// The transmit path of the Ensō NIC on a card (docs/enso-hardware.md, "Transmitting"): a block reads
// the slots of its notification buffers, then their bytes, cuts the bytes into frames, checks the
// frames and completes the slots. Each buffer's bytes are a stream of their own here: a frame that
// begins in one buffer does not go on in another.
#pragma once

#include <cstdint>

#include "device/grid/enso_notify.h"
#include "device/grid/enso_steer.h"
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
  uint64_t data[kTurnSlots];       ///< Where the card reads the slot's bytes; 0: nowhere.
  uint64_t addresses[kTurnSlots];  ///< As the slot has it.
  uint32_t bytes[kTurnSlots];
  uint32_t skips[kTurnSlots];       ///< Flits of the slot that were read before.
  uint32_t ends[kTurnSlots];        ///< Flits of this turn up to the slot's end.
  uint32_t slots;                   ///< Slots with something to do.
  uint32_t complete;                ///< Those among them that end in this turn.
  uint32_t flits;                   ///< Read in this turn.
  SlotWrites<kTurnSlots> writes;
  uint16_t spans[kStreamFlits];     ///< Flits of the frame if one begins at this flit.
  uint16_t jumps[kStreamFlits];     ///< Where the 2^n-th frame from here begins.
  uint8_t begins[kStreamFlits];     ///< 1: a frame begins here.
  uint16_t firsts[kStreamFlits];    ///< First flit of each frame.
  uint32_t orders[kStreamFlits / 4];
  uint32_t scratch[kStreamFlits / 4];
};

class EnsoTransmitter {
 public:
  EnsoTransmitter(EnsoCard& card, const Team& team, EnsoTransmitMemory& memory)
      : card_(card), wire_(card.wire), team_(team), memory_(memory) {}

  /// Looks once at each buffer of transmit block `block` among `blocks`. Returns false if there was
  /// nothing to do.
  bool Turn(uint32_t block, uint32_t blocks) {
    const auto listed = static_cast<uint32_t>(team_.Agree([&] { return Load(&card_.listed); }));
    bool any = false;
    for (uint32_t i = block; i < listed; i += blocks) {
      const auto number = static_cast<uint32_t>(team_.Agree([&] { return Load(&card_.sending[i]); }));
      if (number != 0) any |= Serve(number - 1);
    }
    return any;
  }

 private:
  static constexpr uint32_t kParts = kFlitBytes / sizeof(Quad);

  bool Serve(uint32_t number) {
    EnsoBuffer& buffer = card_.buffers[number];
    staging_ = card_.staging + uint64_t{number} * kStagingBytes;
    const auto pending = static_cast<uint32_t>(team_.Agree([&]() -> uint64_t {
      if (Load(&card_.halted) != 0 || Load(&card_.wedged) != 0) return 0;
      const uint32_t tail = Load(&buffer.tx_tail);
      const uint32_t fetched = (tail - Load(&buffer.tx_head)) & card_.nb_mask;
      if (fetched != 0) card_.Count(Event::kTxSlots, fetched);
      Store(&buffer.tx_head, tail);
      return (tail - Load(&buffer.done)) & card_.nb_mask;
    }));
    if (pending == 0) return false;
    ReadSlots(buffer, pending < kTurnSlots ? pending : kTurnSlots);
    if (memory_.slots == 0) return false;
    ReadBytes(buffer);
    CutFrames(buffer);
    Complete(buffer);
    return true;
  }

  void ReadSlots(EnsoBuffer& buffer, uint32_t slots) {
    const uint32_t first = Load(&buffer.done);
    team_.ForEach(slots, [&](uint32_t i) {
      const uint32_t slot = (first + i) & card_.nb_mask;
      const uint8_t* const at = SlotAddress(card_, Load(&buffer.tx_ring), Load(&buffer.tx_memory), slot);
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
      memory_.data[i] = reinterpret_cast<uint64_t>(card_.dma.Translate(quad.high, memory_.bytes[i]));
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
    for (; i < slots && flits < room; ++i) {
      const uint32_t state = memory_.skips[i];
      if (state == kConfig) Configure(card_, SlotAddress(card_, buffer.tx_ring, buffer.tx_memory, (first + i) & card_.nb_mask));
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
    team_.Copy(
        memory_.flits * kParts,
        [&](uint32_t part) {
          const uint32_t flit = part / kParts, slot = SlotOf(flit);
          const uint32_t begin = slot == 0 ? 0 : memory_.ends[slot - 1];
          const uint32_t offset =
              (memory_.skips[slot] + flit - begin) * kFlitBytes + part % kParts * sizeof(Quad);
          const auto* const from = reinterpret_cast<const uint8_t*>(memory_.data[slot]) + offset;
          if (offset + sizeof(Quad) <= memory_.bytes[slot] &&
              reinterpret_cast<uintptr_t>(from) % sizeof(Quad) == 0) {
            return LoadQuad(from);
          }
          return LoadPart(from, offset < memory_.bytes[slot] ? memory_.bytes[slot] - offset : 0);
        },
        [&](uint32_t part, Quad quad) {
          *reinterpret_cast<Quad*>(to + part * sizeof(Quad)) = quad;
        });
    team_.One([&] {
      Add(&card_.counters[Crossing::kPayloadFromHost], uint64_t{memory_.flits} * kFlitBytes);
    });
  }

  /// Bytes at an odd address, or the last ones of a slot.
  [[gnu::noinline]] static Quad LoadPart(const uint8_t* from, uint32_t bytes) {
    Quad quad{0, 0};
    for (uint32_t i = 0; i < bytes && i < sizeof(Quad); ++i) {
      const uint64_t byte = Load(&from[i]);
      (i < 8 ? quad.low : quad.high) |= byte << (8 * (i % 8));
    }
    return quad;
  }

  uint32_t LengthAt(uint32_t flit) const {
    const uint8_t* const at = staging_ + uint64_t{flit} * kFlitBytes + 16;
    return (uint32_t{at[0]} << 8 | at[1]) + 14;
  }

  /// Finds where frames begin: each flit knows where the next frame would begin if one began there;
  /// the distance doubles with each step.
  void CutFrames(EnsoBuffer& buffer) {
    const uint32_t flits = buffer.held + memory_.flits;
    team_.ForEach(flits, [&](uint32_t i) {
      const uint32_t span = regs::enso::Flits(LengthAt(i));
      memory_.spans[i] = static_cast<uint16_t>(span);
      const bool goes_on = span <= regs::enso::kMaxTxFrameFlits && i + span < flits;
      memory_.jumps[i] = static_cast<uint16_t>(goes_on ? i + span : flits);
      memory_.begins[i] = i == 0;
    });
    const uint64_t longer =
        team_.Sum(flits, [&](uint32_t i) -> uint64_t { return memory_.spans[i] != 1 ? 1 : 0; });
    if (longer == 0) {
      team_.ForEach(flits, [&](uint32_t i) { memory_.begins[i] = 1; });
    } else {
      for (uint32_t step = 1; step < flits; step *= 2) Double(flits);
    }
    Number(buffer, flits);
  }

  void Double(uint32_t flits) {
    team_.ForEach(flits, [&](uint32_t i) {
      const uint32_t next = memory_.jumps[i];
      memory_.firsts[i] = next < flits ? memory_.jumps[next] : static_cast<uint16_t>(flits);
      if (memory_.begins[i] != 0 && next < flits) memory_.begins[next] = 2;
    });
    team_.ForEach(flits, [&](uint32_t i) {
      memory_.jumps[i] = memory_.firsts[i];
      memory_.begins[i] = memory_.begins[i] != 0;
    });
  }

  /// Lists the whole frames, checks them, and keeps the beginning of one that is not whole.
  void Number(EnsoBuffer& buffer, uint32_t flits) {
    constexpr uint32_t kMost = kStreamFlits / 4;
    const auto is_whole = [&](uint32_t i) {
      return memory_.begins[i] != 0 && memory_.spans[i] <= regs::enso::kMaxTxFrameFlits &&
             i + memory_.spans[i] <= flits;
    };
    for (uint32_t first = 0; first < flits; first += kMost) {
      const uint32_t count = flits - first < kMost ? flits - first : kMost;
      team_.ForEach(count, [&](uint32_t i) { memory_.scratch[i] = is_whole(first + i) ? 1 : 0; });
      const uint32_t here = team_.ScanExclusive(memory_.scratch, count);
      team_.ForEach(count, [&](uint32_t i) {
        if (is_whole(first + i)) memory_.firsts[memory_.scratch[i]] = static_cast<uint16_t>(first + i);
      });
      Check(here);
    }
    // The last frame that begins, if it is not whole.
    const uint64_t rest = team_.Sum(flits, [&](uint32_t i) -> uint64_t {
      return memory_.begins[i] != 0 && !is_whole(i) ? flits - i : 0;
    });
    const auto held = static_cast<uint32_t>(rest);
    team_.One([&] {
      buffer.held = held;
      if (held >= regs::enso::kMaxTxFrameFlits) {
        card_.Count(Event::kTxOversize);
        Store(&card_.halted, 1u);
      }
    });
    if (held == 0 || held == flits) return;
    const uint8_t* const from = staging_ + uint64_t{flits - held} * kFlitBytes;
    team_.Copy(
        held * kParts, [&](uint32_t i) { return LoadPlain(from + i * sizeof(Quad)); },
        [&](uint32_t i, Quad quad) { *reinterpret_cast<Quad*>(staging_ + i * sizeof(Quad)) = quad; });
  }

  Returned Frame(uint32_t i) const {
    const uint32_t first = memory_.firsts[i];
    return {staging_ + uint64_t{first} * kFlitBytes, LengthAt(first)};
  }

  /// Counts and checks `frames` frames.
  void Check(uint32_t frames) {
    if (frames == 0) return;
    const uint64_t now = team_.Agree([] { return NowNs(); });
    const uint64_t bytes =
        team_.Sum(frames, [&](uint32_t i) -> uint64_t { return Frame(i).length; });
    uint64_t known = frames, reordered = 0;
    if (wire_.verify != 0) {
      team_.ForEach(frames,
                    [&](uint32_t i) { memory_.orders[i] = CheckTag(card_, wire_, Frame(i), now); });
      known = team_.Sum(frames,
                        [&](uint32_t i) -> uint64_t { return memory_.orders[i] != kNoOrder; });
      reordered = CountReordered(wire_, team_, memory_.orders, frames, memory_.scratch);
      for (uint32_t i = wire_.verify - 1; i < frames; i += wire_.verify) {
        if (memory_.orders[i] != kNoOrder) Compare(Frame(i));
      }
    }
    team_.One([&] {
      card_.Count(Event::kTxFrames, frames);
      card_.Count(Event::kTxBytes, bytes);
      Counters& counters = card_.counters;
      Add(&counters[WireEvent::kReturned], uint64_t{frames});
      Add(&counters[WireEvent::kReturnedBytes], bytes);
      Add(&counters[WireEvent::kRecognised], known);
      if (reordered != 0) Add(&counters[WireEvent::kReordered], reordered);
    });
  }

  void Compare(const Returned& frame) {
    const bool unchanged = IsUnchanged(wire_, team_, frame);
    team_.One([&] {
      Add(&card_.counters[WireEvent::kVerified], uint64_t{1});
      if (!unchanged) Add(&card_.counters[WireEvent::kCorrupted], uint64_t{1});
    });
  }

  /// Overwrites the slots that were read to their ends.
  void Complete(EnsoBuffer& buffer) {
    const uint32_t first = buffer.done;
    team_.One([&] { memory_.writes.count = 0; });
    team_.ForEach(memory_.complete, [&](uint32_t i) {
      const uint32_t slot = (first + i) & card_.nb_mask;
      uint8_t* const at =
          SlotAddress(card_, Load(&buffer.tx_ring), Load(&buffer.tx_memory), slot, false);
      if (at == nullptr) return;
      memory_.writes.Append(
          {at, {regs::enso::kSignalNone, memory_.addresses[i], memory_.bytes[i]}});
    });
    memory_.writes.Flush(card_, team_);
    team_.One([&] { Store(&buffer.done, (first + memory_.complete) & card_.nb_mask); });
  }

  static constexpr uint32_t kNothing = ~0u;     ///< The slot cannot be reached.
  static constexpr uint32_t kConfig = ~0u - 1;  ///< The slot is a command.

  EnsoCard& card_;
  Wire& wire_;
  const Team& team_;
  EnsoTransmitMemory& memory_;
  uint8_t* staging_ = nullptr;
};

}  // namespace sluice::device::grid
