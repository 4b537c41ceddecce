// SPDX-License-Identifier: BSD-3-Clause
//
// State of the Ensō NIC on a card (regs/enso.h, docs/enso-hardware.md). Registers are the state
// itself, as in device/enso/register_file.h.
#pragma once

#include <cstdint>

#include "device/enso/counters.h"
#include "device/grid/card.h"
#include "regs/enso.h"

namespace sluice::device::grid {

using enso::Event;

struct alignas(64) EnsoPipe {
  uint32_t tail;
  uint32_t head;
  uint64_t memory;    ///< Base | notification buffer; 0: disabled.
  uint8_t* ring;      ///< Null if disabled, or if no one range holds the ring.
  uint32_t reserved;  ///< Where the next batch begins; `tail` follows when its bytes are written.
  uint32_t status;    ///< 1: a notification is outstanding.
};

struct alignas(64) EnsoBuffer {
  uint32_t rx_tail;
  uint32_t rx_head;
  uint64_t rx_memory;
  uint32_t tx_tail;
  uint32_t tx_head;
  uint64_t tx_memory;
  uint8_t* rx_ring;
  uint8_t* tx_ring;
  // The block that reads the buffer's slots owns these.
  uint32_t done;    ///< Slots below it are complete.
  uint32_t offset;  ///< Flits of slot `done` that are read.
  uint32_t listed;
  uint32_t produced;  ///< Chunks that are read.
  uint32_t chunk_flits[2];
  // The block that cuts the chunks into frames owns these.
  alignas(64) uint32_t consumed;  ///< Chunks that are checked.
  uint32_t held;                  ///< Flits of a frame whose end is still to come.
};

/// The most flits that a block reads at once.
inline constexpr uint32_t kChunkFlits = 4096;
/// The most chunks of a buffer that are read and not yet checked.
inline constexpr uint32_t kChunks = 2;

/// Returns the length that a frame claims, by the second quad of its first flit, saturated to 16
/// bits.
inline uint16_t LengthOf(Quad quad) {
  const uint32_t total = (quad.low & 0xff) << 8 | (quad.low >> 8 & 0xff);
  return static_cast<uint16_t>(total + 14 < 0xffff ? total + 14 : 0xffff);
}

/// A chunk of a buffer's byte stream, in card memory.
struct alignas(64) EnsoChunk {
  /// The beginning of a frame that ends in `flits`; it occupies the last flits of this array.
  uint8_t held[regs::enso::kMaxTxFrameFlits][kFlitBytes];
  uint8_t flits[kChunkFlits][kFlitBytes];
  uint16_t lengths[kChunkFlits];  ///< Bytes of the frame if one begins at this flit.
};

struct EnsoFlow {
  uint32_t dst_ip;
  uint32_t src_ip;
  uint32_t ports;  ///< As regs::enso::FlowHash takes them.
  uint32_t valid;
  uint32_t pipe;
};

struct EnsoCard : Card {
  static constexpr uint32_t kNoPipe = regs::enso::kMaxPipes;
  static constexpr uint32_t kOversize = regs::enso::kMaxPipes + 1;

  uint32_t pipe_mask = regs::enso::kDefaultPipeFlits - 1;
  uint32_t nb_mask = regs::enso::kDefaultNbEntries - 1;
  uint32_t per_packet = 0;  ///< A notification for every batch, whatever the status.

  uint32_t fallback_count = 0;
  uint32_t fallback_mask = 0;
  uint32_t flows_used = 0;  ///< Sub-tables from here on have no entry.
  uint32_t wedged = 0;      ///< Neither notifications nor completions leave any more.
  uint32_t held = 0;        ///< Frames behind the wedge.
  uint32_t halted = 0;      ///< Transmission is wedged.

  uint32_t listed = 0;  ///< Buffers that send, in `sending`; 0 there: not stored yet.
  uint32_t sending[regs::enso::kMaxNotificationBuffers] = {};  ///< Number of the buffer, plus 1.
  EnsoChunk* chunks = nullptr;                                 ///< kChunks for each buffer.

  EnsoFlow flows[regs::enso::kSubTables][regs::enso::kSubTableRows] = {};
  EnsoPipe pipes[regs::enso::kMaxPipes] = {};
  EnsoBuffer buffers[regs::enso::kMaxNotificationBuffers] = {};

  void Count(Event event, uint64_t amount = 1) {
    Add(&counters.model[static_cast<uint32_t>(event)], amount);
  }
  EnsoChunk& ChunkOf(uint32_t buffer, uint32_t number) {
    return chunks[buffer * kChunks + number % kChunks];
  }
  EnsoBuffer& BufferOf(uint64_t memory) { return buffers[memory & regs::enso::kPipeNbMask]; }
};
static_assert(enso::kEvents <= kMaxModelEvents);

}  // namespace sluice::device::grid
