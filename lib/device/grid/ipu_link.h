// SPDX-License-Identifier: BSD-3-Clause
//
// State of a region link on a card (swap/nic_link.h describes the NIC's end). All regions of the
// NIC, except one that is being sent, are in a queue: first the closed regions, which contain
// received frames, then the open one, then free ones. Receive blocks write frames directly to the
// regions in host memory. They reserve room in the order of their batches, and close a region when
// a frame does not fit. The exchange block gives the queue's first region to the host once all
// frames with reserved space in the region are complete. It appends the regions whose frames it has
// sent.
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bar/window.h"
#include "device/grid/memory.h"
#include "swap/link_memory.h"
#include "swap/responder.h"

namespace sluice::device::grid {

/// The NIC's end of a link. Region-queue positions and frame numbers are free-running.
struct alignas(16) IpuLinkEnd {
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint32_t kQuads = sizeof(bar::Line) / sizeof(Quad);

  // Constant while the link is enabled.
  uint8_t* memory;
  uint64_t bus, bytes;  ///< The memory's bus address and size, as the host stored them at Open.
  swap::Geometry geometry;

  // Used by the exchange block, which works on a copy in its shared memory.
  alignas(16) Quad heard[kQuads];  ///< The last line of the host that was processed.
  uint64_t mine;                   ///< Regions that the NIC owns, one bit per region.
  uint64_t sequence;               ///< Sequence number of the next region that will be supplied.
  uint32_t given;                  ///< Queue position of the next region for the host.
  uint32_t sending, send_at, send_count;
  enum : uint32_t { kNothing, kForRegion, kForFrames } waits;  ///< What the host's offer waits for.
  uint32_t look_again;  ///< 1: the same line must be processed again.
  alignas(swap::Responder) unsigned char responder_bytes[sizeof(swap::Responder)];

  swap::Responder& responder() { return *reinterpret_cast<swap::Responder*>(responder_bytes); }
  uint8_t* Region(uint32_t id) const {
    return memory + swap::kRegionsOffset + size_t{id} * geometry.region_bytes;
  }

  /// Marks a region as empty in the region's header, so that a later device does not find old
  /// frames in it.
  void Empty(uint32_t id) {
    uint8_t* const header = Region(id);
    StoreQuad(header, {static_cast<uint32_t>(swap::RegionKind::kReceived), 0});
    Store(reinterpret_cast<uint64_t*>(header + offsetof(swap::RegionHeader, sequence)), sequence++);
  }
  /// If this end's line has changed, stores it in host memory; word 0 last.
  void Post() {
    if (!responder().ConsumeUpdate()) return;
    const bar::Line line = swap::Encode(responder().line());
    uint8_t* const to = memory + offsetof(swap::LinkHeader, nic_line);
    for (uint32_t i = kQuads - 1; i != 0; --i) {
      StoreQuad(to + i * sizeof(Quad), {line.word[2 * i], line.word[2 * i + 1]});
    }
    FenceSystem();
    PublishQuad(to, {line.word[0], line.word[1]});
  }
};
static_assert(sizeof(IpuLinkEnd) % sizeof(uint64_t) == 0);

struct alignas(64) IpuLink {
  // Values stored by the host. Used by the register block.
  uint64_t base;
  uint64_t bytes;
  uint16_t epoch;

  alignas(64) IpuLinkEnd end;

  // Protected by `lock`, which a receive block holds from Look until its reservation. The first
  // frame of a region is stored before `open`.
  alignas(64) uint32_t lock;
  uint32_t open;      ///< Position of the open region; `supplied` if there is none.
  uint32_t frames;    ///< Frames reserved in the open region.
  uint32_t flits;     ///< 64-byte slots reserved in the open region.
  uint32_t reserved;  ///< Number of the next frame.
  uint32_t starts[swap::kMaxRegions];  ///< Indexed by position: number of the region's first frame.

  alignas(64) uint32_t head;           ///< End of the complete frames. Stored by receive blocks.
  alignas(64) uint32_t supplied;       ///< End of the queue. Stored by the exchange block.
  uint8_t regions[swap::kMaxRegions];  ///< Indexed by position: the region.

  uint8_t RegionAt(uint32_t position) const { return Load(&regions[position % swap::kMaxRegions]); }
  uint32_t& StartOf(uint32_t position) { return starts[position % swap::kMaxRegions]; }

  /// Closes the open region. The caller must hold the lock.
  void Close() {
    const uint32_t next = Load(&open) + 1;
    Store(&StartOf(next), Load(&reserved));
    FenceCard();
    Store(&open, next);
    Store(&frames, 0u);
    Store(&flits, 0u);
  }
  bool TryLock() {
    if (CompareExchange(&lock, 0, 1) != 0) return false;
    FenceCard();
    return true;
  }
  void Unlock() {
    FenceCard();
    Store(&lock, 0u);
  }

  /// Appends an emptied region to the queue.
  void Supply(uint32_t id) {
    FenceSystem();
    const uint32_t position = Load(&supplied);
    Store(&regions[position % swap::kMaxRegions], static_cast<uint8_t>(id));
    FenceCard();
    Store(&supplied, position + 1);
  }
};
static_assert(offsetof(swap::RegionHeader, kind) == 0 && offsetof(swap::RegionHeader, count) == 4 &&
              offsetof(swap::RegionHeader, cursor) == 8 &&
              offsetof(swap::RegionHeader, sequence) == sizeof(Quad));

}  // namespace sluice::device::grid
