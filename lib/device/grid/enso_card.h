// SPDX-License-Identifier: BSD-3-Clause
//
// State of the Ensō NIC on a card (regs/enso.h, docs/enso-hardware.md). As in
// device/enso/register_file.h, the registers are the only copy of the state.
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
  uint8_t* ring;      ///< Null if disabled, or if no single range contains the ring.
  uint32_t reserved;  ///< First flit of the next batch; `tail` follows once the data is written.
  uint32_t status;    ///< 1: a notification is outstanding.
};

/// Maximum number of flits that a block reads at once.
inline constexpr uint32_t kChunkFlits = 4096;
/// Number of chunks per buffer. One of them is always free, to receive the rest of the previous
/// chunk.
inline constexpr uint32_t kChunks = 8;

struct alignas(64) EnsoBuffer {
  uint32_t rx_tail;
  uint32_t rx_head;
  uint64_t rx_memory;
  uint32_t tx_tail;
  uint32_t tx_head;
  uint64_t tx_memory;
  uint8_t* rx_ring;
  uint8_t* tx_ring;
  uint32_t listed;
  // Owned by the block that holds `reading`.
  alignas(64) uint32_t reading;  ///< 1 while a block reads slots.
  uint32_t done;                 ///< All slots before this one are complete or are being completed
                                 ///< by a block.
  uint32_t offset;               ///< Flits of slot `done` that have been read.
  uint32_t chunk_flits[kChunks];
  uint64_t claimed;  ///< Chunks whose bytes have been read or are being read.
  // These counts advance in chunk order.
  uint64_t produced;   ///< Chunks whose bytes have been read.
  uint64_t completed;  ///< Chunks whose slots have been completed.
  // Owned by the block that holds `cutting`.
  alignas(64) uint32_t cutting;  ///< 1 while a block cuts a chunk into frames.
  uint32_t held;                 ///< Flits of an incomplete frame.
  uint64_t cut;                  ///< Chunks that have been cut.
  uint64_t checked;              ///< Chunks whose frames have been checked; advances in order.
};

/// Returns the frame length that the second quad of the first flit contains, saturated to 16 bits.
inline uint16_t LengthOf(Quad quad) {
  const uint32_t total = (quad.low & 0xff) << 8 | (quad.low >> 8 & 0xff);
  return static_cast<uint16_t>(total + 14 < 0xffff ? total + 14 : 0xffff);
}

/// A chunk of a buffer's byte stream, in card memory.
struct alignas(64) EnsoChunk {
  /// The beginning of a frame that ends in `flits`. It occupies the last flits of this array.
  uint8_t held[regs::enso::kMaxTxFrameFlits][kFlitBytes];
  uint8_t flits[kChunkFlits][kFlitBytes];
  uint16_t lengths[kChunkFlits];  ///< Frame length in bytes if a frame begins at this flit.
};

struct EnsoFlow {
  uint32_t dst_ip;
  uint32_t src_ip;
  uint32_t ports;  ///< In the format of regs::enso::FlowHash.
  uint32_t valid;
  uint32_t pipe;
};

struct EnsoCard : Card {
  static constexpr uint32_t kNoPipe = regs::enso::kMaxPipes;
  static constexpr uint32_t kOversize = regs::enso::kMaxPipes + 1;

  uint32_t pipe_mask = regs::enso::kDefaultPipeFlits - 1;
  uint32_t nb_mask = regs::enso::kDefaultNbEntries - 1;
  uint32_t per_packet = 0;  ///< 1: every batch causes a notification, regardless of the status.

  uint32_t fallback_count = 0;
  uint32_t fallback_mask = 0;
  uint32_t flows_used = 0;  ///< Number of leading sub-tables that may have entries.
  uint32_t wedged = 0;      ///< 1: notifications and completions are no longer written.
  uint32_t held = 0;        ///< Frames held because of the wedge.
  uint32_t halted = 0;      ///< 1: transmission is wedged.

  /// Number of entries in `sending`. A counted entry may still be 0 while it is being stored.
  uint32_t listed = 0;
  /// Buffers that send: each entry is a buffer's number plus 1.
  uint32_t sending[regs::enso::kMaxNotificationBuffers] = {};
  EnsoChunk* chunks = nullptr;  ///< kChunks chunks per buffer.

  EnsoFlow flows[regs::enso::kSubTables][regs::enso::kSubTableRows] = {};
  EnsoPipe pipes[regs::enso::kMaxPipes] = {};
  EnsoBuffer buffers[regs::enso::kMaxNotificationBuffers] = {};

  void Count(Event event, uint64_t amount = 1) {
    Add(&counters.model[static_cast<uint32_t>(event)], amount);
  }
  EnsoChunk& ChunkOf(uint32_t buffer, uint64_t number) {
    return chunks[buffer * kChunks + number % kChunks];
  }
  EnsoBuffer& BufferOf(uint64_t memory) { return buffers[memory & regs::enso::kPipeNbMask]; }
};
static_assert(enso::kEvents <= kMaxModelEvents);

}  // namespace sluice::device::grid
