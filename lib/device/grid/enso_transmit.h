// SPDX-License-Identifier: BSD-3-Clause
//
// The first half of the Ensō NIC's transmit path on a card (docs/enso-hardware.md, "Transmitting"):
// a block reads slots of a notification buffer, then the slots' data, and completes the slots.
// Several blocks may serve one buffer: they read its slots one after another, read the data in
// parallel, and complete the slots in order. Other blocks cut the bytes into frames
// (enso_frames.h).
#pragma once

#include <cstdint>

#include "device/grid/enso_notify.h"
#include "device/grid/enso_search.h"
#include "device/grid/enso_steer.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

/// Maximum number of slots that a turn reads.
inline constexpr uint32_t kTurnSlots = 64;

struct EnsoReadMemory {
  uint64_t data[kTurnSlots];       ///< Card address of the slot's data; 0 if unreachable.
  uint64_t addresses[kTurnSlots];  ///< Bus address of the slot's data, as stored in the slot.
  uint32_t bytes[kTurnSlots];
  uint32_t skips[kTurnSlots];  ///< Flits of the slot that earlier turns have read.
  uint32_t ends[kTurnSlots];   ///< Flits of this turn, up to the end of the slot.
  uint32_t slots;              ///< Slots that this turn processes.
  uint32_t complete;           ///< Slots that end in this turn.
  uint32_t flits;              ///< Flits read in this turn.
  bool whole_flits;            ///< All slots contain whole flits at addresses divisible by 16.
  DmaCopy dma;
  EnsoSearchMemory search;
  uint32_t first;  ///< The first slot of this turn.
  uint64_t chunk;  ///< The chunk to which this turn writes.
  SlotWrites<kTurnSlots> writes;
};

class EnsoReader {
 public:
  EnsoReader(EnsoCard& card, const Team& team, EnsoReadMemory& memory)
      : card_(card), team_(team), memory_(memory), nb_mask_(card.nb_mask) {}

  /// Reads a chunk of a buffer with pending slots. `block` is this block's index among the blocks
  /// that read. Returns false if no buffer has pending slots and a free chunk.
  bool Turn(uint32_t block) {
    const auto is_ready = [&](const EnsoBuffer& buffer) {
      const uint32_t tail = Load(&buffer.tx_tail);
      return (tail != Load(&buffer.done) || tail != Load(&buffer.tx_head)) && HasChunk(buffer) &&
             Load(&buffer.reading) == 0;
    };
    const uint64_t found =
        EnsoSearch(card_, team_, memory_.search).Run(block, is_ready, [&](uint32_t number) {
          return Claim(number);
        });
    if (found == 0) return false;
    Serve(static_cast<uint32_t>(found >> 32) - 1, static_cast<uint32_t>(found));
    return true;
  }

 private:
  static constexpr uint32_t kParts = kFlitBytes / sizeof(Quad);

  static bool HasChunk(const EnsoBuffer& buffer) {
    return Load(&buffer.claimed) - LoadAcquire(&buffer.checked) < kChunks - 1;
  }

  /// Claims a buffer's pending slots. Returns the buffer's number plus 1 in the upper half and the
  /// number of pending slots in the lower half, or 0 if there are none. Called by one thread.
  uint64_t Claim(uint32_t number) {
    EnsoBuffer& buffer = card_.buffers[number];
    if (Load(&card_.halted) != 0 || Load(&card_.wedged) != 0 || !TryLock(&buffer.reading)) return 0;
    // The tail announces slots, so it is loaded last.
    const uint32_t head = Load(&buffer.tx_head), tail = LoadAcquire(&buffer.tx_tail);
    memory_.first = Load(&buffer.done);
    const uint32_t pending = (tail - memory_.first) & nb_mask_;
    if (tail != head) {
      card_.Count(Event::kTxSlots, (tail - head) & nb_mask_);
      Store(&buffer.tx_head, tail);
    }
    if (pending != 0 && HasChunk(buffer)) return uint64_t{number + 1} << 32 | pending;
    StoreRelease(&buffer.reading, 0u);
    return 0;
  }

  void Serve(uint32_t number, uint32_t pending) {
    EnsoBuffer& buffer = card_.buffers[number];
    Phases phases(card_, team_, Phase::kSendSlots);
    ReadSlots(buffer, pending < kTurnSlots ? pending : kTurnSlots);
    if (memory_.slots == 0) return;
    const uint64_t chunk = memory_.chunk;
    phases.Next(Phase::kSendBytes);
    if (memory_.flits != 0) ReadBytes(card_.ChunkOf(number, chunk));
    phases.Next(Phase::kSendComplete);
    team_.One([&] {
      AwaitTurn(&buffer.produced, chunk);
      EndTurn(&buffer.produced, chunk);
      AwaitTurn(&buffer.completed, chunk);
    });
    Complete(buffer);
    team_.One([&] { EndTurn(&buffer.completed, chunk); });
    phases.End();
  }

  void ReadSlots(EnsoBuffer& buffer, uint32_t slots) {
    const uint32_t first = memory_.first;
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
          reinterpret_cast<uint64_t>(memory_.dma.Translate(card_.dma, quad.high, memory_.bytes[i]));
      memory_.skips[i] = 0;
    });
    team_.One([&] {
      Add(&card_.counters[Crossing::kDescriptors], uint64_t{slots} * kSlotBytes);
      ChooseFlits(buffer, first, slots);
      if (memory_.slots != 0) {
        memory_.chunk = Load(&buffer.claimed);
        Store(&buffer.chunk_flits[memory_.chunk % kChunks], memory_.flits);
        Store(&buffer.done, (first + memory_.complete) & nb_mask_);
        Store(&buffer.claimed, memory_.chunk + 1);
      }
    });
    team_.Aside([&] { StoreRelease(&buffer.reading, 0u); });
  }

  void ReadConfig(EnsoBuffer& buffer, uint32_t slot) {
    const uint8_t* const at =
        SlotAddress(card_, Load(&buffer.tx_ring), Load(&buffer.tx_memory), slot);
    // The host may have moved the ring since the slot was read.
    at != nullptr ? Configure(card_, at) : card_.Count(Event::kDmaFaults);
  }

  /// Chooses how many slots and flits this turn reads. Called by one thread.
  void ChooseFlits(EnsoBuffer& buffer, uint32_t first, uint32_t slots) {
    const uint32_t room = kChunkFlits;
    uint32_t flits = 0, i = 0;
    memory_.complete = 0;
    memory_.whole_flits = true;
    for (; i < slots && flits < room; ++i) {
      const uint32_t state = memory_.skips[i];
      if (state == kConfig) ReadConfig(buffer, (first + i) & nb_mask_);
      if (state == 0 && memory_.bytes[i] == 0) {
        card_.Count(Event::kTxZeroLength);
        Store(&card_.halted, 1u);
        break;
      }
      if (state == 0 && memory_.data[i] == 0) card_.Count(Event::kDmaFaults);
      uint32_t more = 0;
      if (state == 0 && memory_.data[i] != 0) {
        const uint32_t all = regs::enso::Flits(memory_.bytes[i]);
        // The host may have shortened the slot since the turn that read its beginning.
        memory_.skips[i] = i == 0 ? Least(Load(&buffer.offset), all) : 0;
        more = all - memory_.skips[i];
        if ((memory_.data[i] % sizeof(Quad) | memory_.bytes[i] % kFlitBytes) != 0) {
          memory_.whole_flits = false;
        }
      }
      const bool ends = more <= room - flits;
      flits += ends ? more : room - flits;
      memory_.ends[i] = flits;
      if (!ends) {
        Store(&buffer.offset,
              memory_.skips[i] + (memory_.ends[i] - (i == 0 ? 0 : memory_.ends[i - 1])));
        ++i;
        break;
      }
      Store(&buffer.offset, 0u);
      ++memory_.complete;
    }
    memory_.slots = i;
    memory_.flits = flits;
  }

  /// Returns the slot to which flit `flit` of this turn belongs.
  uint32_t SlotOf(uint32_t flit) const {
    uint32_t first = 0, last = memory_.slots;
    while (first < last) {
      const uint32_t middle = (first + last) / 2;
      memory_.ends[middle] <= flit ? first = middle + 1 : last = middle;
    }
    return first;
  }

  void ReadBytes(EnsoChunk& chunk) {
    uint8_t* const to = chunk.flits[0];
    const auto store = [&](uint32_t part, Quad quad) {
      *reinterpret_cast<Quad*>(to + part * sizeof(Quad)) = quad;
      // A frame's length is in bytes 16 and 17 of its first flit.
      if (part % kParts == 1) chunk.lengths[part / kParts] = LengthOf(quad);
    };
    // Returns the offset within slot `slot` of part `part` of this turn's bytes.
    const auto offset_in = [&](uint32_t slot, uint32_t part) {
      const uint32_t begin = slot == 0 ? 0 : memory_.ends[slot - 1];
      return (memory_.skips[slot] + part / kParts - begin) * kFlitBytes + part % kParts * 16;
    };
    if (memory_.whole_flits) {  // Loads overlap only if there are no branches.
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
    team_.Lead([&] {
      Add(&card_.counters[Crossing::kPayloadFromHost], uint64_t{memory_.flits} * kFlitBytes);
    });
  }

  /// Loads up to 16 bytes at any address.
  static Quad LoadPart(const uint8_t* from, uint32_t bytes) {
    Quad quad{0, 0};
    for (uint32_t i = 0; i < bytes && i < sizeof(Quad); ++i) {
      const uint64_t byte = Load(&from[i]);
      (i < 8 ? quad.low : quad.high) |= byte << (8 * (i % 8));
    }
    return quad;
  }

  /// Completes the slots that have been read to their ends.
  void Complete(EnsoBuffer& buffer) {
    const uint32_t first = memory_.first;
    team_.ForEach(memory_.complete, [&](uint32_t i) {
      const uint32_t slot = (first + i) & nb_mask_;
      uint8_t* const at =
          SlotAddress(card_, Load(&buffer.tx_ring), Load(&buffer.tx_memory), slot, false);
      if (at == nullptr) return;
      memory_.writes.Append(
          {at, {regs::enso::kSignalNone, memory_.addresses[i], memory_.bytes[i]}});
    });
    memory_.writes.Flush(card_, team_);
  }

  static constexpr uint32_t kNothing = ~0u;     ///< The slot is unreachable.
  static constexpr uint32_t kConfig = ~0u - 1;  ///< The slot is a command.

  EnsoCard& card_;
  const Team& team_;
  EnsoReadMemory& memory_;
  const uint32_t nb_mask_;
};

}  // namespace sluice::device::grid
