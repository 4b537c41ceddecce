// SPDX-License-Identifier: BSD-3-Clause
//
// Opens a region link on a card and continues from the state in its memory, like
// swap::NicLink::Open. Runs on the control path, on one thread. Nothing that it reads is trusted.
#pragma once

#include <bit>
#include <cstdint>

#include "device/grid/ipu_card.h"

namespace sluice::device::grid {

class IpuLinkOpener {
 public:
  IpuLinkOpener(IpuCard& card, uint32_t queue)
      : card_(card), link_(card.links[queue]), end_(link_.end) {}

  /// Opens the link that the registers describe. Returns false, and leaves its memory unchanged, if
  /// the memory is unaligned, not mapped or contains no valid link.
  bool Open() {
    uint8_t* const memory = Find();
    if (memory == nullptr) return false;
    end_.memory = memory;
    const swap::Message own = ReadLine(offsetof(swap::LinkHeader, nic_line));
    const swap::Message host = ReadLine(offsetof(swap::LinkHeader, host_line));
    const uint64_t owners = swap::OwnersAfter(
        LoadQuad(memory + offsetof(swap::LinkHeader, owners)).low, host, own, end_.geometry);
    if (!swap::IsOneRegion(owners, end_.geometry)) return false;
    const uint16_t epoch = Load(&link_.epoch);
    end_.responder() = swap::Resumable(own) ? swap::Responder::Resume(swap::kTwoMessage, epoch, own)
                                            : swap::Responder(swap::kTwoMessage, epoch, 1);
    end_.Post();
    Recover(owners);
    return true;
  }

  /// Returns the settings with which receive blocks write to the link.
  IpuRxSettings Settings() const {
    const swap::Geometry& geometry = end_.geometry;
    const uint32_t headroom = geometry.headroom_bytes / kFlitBytes;
    const uint32_t data = geometry.region_bytes - geometry.DataOffset();
    // Batches are limited to the number of frames for which the NIC always has room, rounded down
    // to a power of two.
    const uint32_t frames =
        (geometry.regions - 1) *
        Least(geometry.max_frames, data / kFlitBytes / (headroom + card_.wire.shape.largest));
    const RingPlace place(end_.memory, std::bit_floor(frames == 0 ? 1 : frames));
    return {place.word(), Least(swap::kMaxFrameBytes, data - geometry.headroom_bytes),
            kRxLinked | headroom << kRxHeadroomShift};
  }

 private:
  /// Returns the memory of a valid link, and stores the link's address, size and geometry. The host
  /// may store to the registers at the same time, so each is read only once.
  uint8_t* Find() {
    end_.bus = Load(&link_.base);
    end_.bytes = Load(&link_.bytes);
    if (end_.bus % regs::ipu::kPageBytes != 0 || end_.bytes < swap::kRegionsOffset) {
      return nullptr;
    }
    uint8_t* const memory = card_.dma.Translate(end_.bus, end_.bytes);
    if (memory == nullptr || reinterpret_cast<uintptr_t>(memory) % alignof(swap::LinkHeader) != 0) {
      return nullptr;
    }
    const Quad first = LoadQuad(memory), second = LoadQuad(memory + sizeof(Quad));
    static_assert(offsetof(swap::LinkHeader, geometry) == sizeof(uint64_t));
    end_.geometry = {static_cast<uint32_t>(first.high), static_cast<uint32_t>(first.high >> 32),
                     static_cast<uint32_t>(second.low), static_cast<uint32_t>(second.low >> 32)};
    if (first.low != swap::kLinkMagic || end_.geometry.Error() != nullptr ||
        swap::LinkMemory::BytesFor(end_.geometry) > end_.bytes) {
      return nullptr;
    }
    return memory;
  }

  swap::Message ReadLine(size_t offset) const {
    bar::Line line;
    for (uint32_t i = 0; i < IpuLinkEnd::kQuads; ++i) {
      const Quad quad = LoadQuad(end_.memory + offset + i * sizeof(Quad));
      line.word[2 * i] = quad.low;
      line.word[2 * i + 1] = quad.high;
    }
    return swap::Decode(line);
  }

  /// Sorts the NIC's regions by the state in which an earlier device left them.
  void Recover(uint64_t owners) {
    const uint32_t regions = end_.geometry.regions;
    end_.mine = ~uint64_t{0} >> (swap::kMaxRegions - regions) & ~owners;
    link_.lock = link_.open = link_.frames = link_.flits = link_.reserved = link_.head = 0;
    link_.supplied = end_.given = 0;
    for (Quad& quad : end_.heard) quad = {0, 0};
    end_.sending = IpuLinkEnd::kNone;
    end_.waits = IpuLinkEnd::kNothing;
    end_.look_again = 1;
    end_.sequence = 0;
    link_.starts[0] = 0;
    uint64_t sequences[swap::kMaxRegions] = {};
    uint64_t empty = 0;
    for (uint32_t id = 0; id < regions; ++id) {
      if ((end_.mine & swap::RegionBit(id)) == 0) continue;
      const Quad first = LoadQuad(end_.Region(id));
      const auto kind = static_cast<swap::RegionKind>(static_cast<uint32_t>(first.low));
      const auto count = static_cast<uint32_t>(first.low >> 32);
      const auto cursor = static_cast<uint32_t>(first.high);
      const bool filled = count > 0 && count <= end_.geometry.max_frames;
      if (filled && kind == swap::RegionKind::kToSend && cursor < count &&
          end_.sending == IpuLinkEnd::kNone) {
        end_.sending = id;
        end_.send_at = cursor;
        end_.send_count = count;
      } else if (filled && kind == swap::RegionKind::kReceived) {
        sequences[id] = LoadQuad(end_.Region(id) + sizeof(Quad)).low;
        if (sequences[id] >= end_.sequence) end_.sequence = sequences[id] + 1;
        Insert(id, count, sequences);
      } else {
        empty |= swap::RegionBit(id);
      }
    }
    CountFull();
    for (; empty != 0; empty &= empty - 1) {
      const auto id = static_cast<uint32_t>(std::countr_zero(empty));
      end_.Empty(id);
      link_.Supply(id);
    }
  }

  /// Inserts a region that contains frames into the queue, in the order of sequence numbers. Until
  /// CountFull, starts[] contains, for each position, the number of frames in the previous region.
  void Insert(uint32_t id, uint32_t count, const uint64_t* sequences) {
    uint32_t at = link_.supplied++;
    for (; at != 0 && sequences[id] < sequences[link_.regions[at - 1]]; --at) {
      link_.regions[at] = link_.regions[at - 1];
      link_.StartOf(at + 1) = link_.StartOf(at);
    }
    link_.regions[at] = static_cast<uint8_t>(id);
    link_.StartOf(at + 1) = count;
  }
  void CountFull() {
    link_.open = link_.supplied;
    for (uint32_t at = 0; at < link_.open; ++at) link_.StartOf(at + 1) += link_.StartOf(at);
    link_.reserved = link_.head = link_.StartOf(link_.open);
  }

  IpuCard& card_;
  IpuLink& link_;
  IpuLinkEnd& end_;
};

}  // namespace sluice::device::grid
