// SPDX-License-Identifier: BSD-3-Clause
//
// The reference for lib/swap: two plain rings of region ids in shared memory, one per direction,
// and one word per side with the regions that it holds. The regions, the frames and the order of
// stores in regions are the same as in lib/swap. Only the exchange differs: it consists of two
// messages instead of one swap.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "swap/filler.h"
#include "swap/nic_link.h"

namespace sluice::swap::test {

/// A ring of region ids. The ids in [head, tail) are in flight.
struct IdRing {
  static constexpr uint32_t kEntries = 64;

  bool empty() const { return Load(head) == Load(tail); }
  void Push(uint32_t id) {
    Store(ids[tail % kEntries], id);
    Store(tail, tail + 1);
  }
  uint32_t Front() const { return Load(ids[head % kEntries]); }
  void Pop() { Store(head, head + 1); }

  static uint32_t Load(const uint32_t& word) {
    return std::atomic_ref(const_cast<uint32_t&>(word)).load(std::memory_order_acquire);
  }
  static void Store(uint32_t& word, uint32_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }

  uint32_t head;
  uint32_t tail;
  uint32_t ids[kEntries];
};

struct RingHeader {
  Geometry geometry;
  IdRing to_nic;
  IdRing to_host;
  uint32_t host_holds;  ///< Bit mask of the regions that the host holds.
  uint32_t nic_holds;
};

inline RingHeader& Header(std::span<uint8_t> memory) {
  return *reinterpret_cast<RingHeader*>(memory.data());
}
inline Region RingRegion(std::span<uint8_t> memory, uint32_t id) {
  return {id, memory.data() + 4096 + size_t{id} * Header(memory).geometry.region_bytes};
}

/// The host's end, with the interface of HostLink.
class RingHost {
 public:
  explicit RingHost(std::span<uint8_t> memory) : memory_(memory) {
    if (Header(memory).host_holds != 0) {
      Hold(static_cast<uint32_t>(std::countr_zero(Header(memory).host_holds)), 0);
    }
  }
  bool holding() const { return holding_; }
  const Region& region() const { return region_; }
  uint32_t received() const { return received_; }
  uint16_t epoch() const { return epoch_; }
  bool Cancel() { return false; }
  void Reset() { ++epoch_; }

  void Give(uint32_t frames, bool) {
    RegionHeader& header = region_.header();
    header.cursor = 0;
    header.count = frames;
    header.kind = frames == 0 ? RegionKind::kFree : RegionKind::kToSend;
    Header(memory_).to_nic.Push(region_.id);
    IdRing::Store(Header(memory_).host_holds, Header(memory_).host_holds & ~(1u << region_.id));
    holding_ = false;
  }
  bool Poll(uint64_t) {
    IdRing& ring = Header(memory_).to_host;
    if (holding_ || ring.empty()) return false;
    const uint32_t id = ring.Front();
    ring.Pop();
    IdRing::Store(Header(memory_).host_holds, Header(memory_).host_holds | 1u << id);
    Hold(id, RingRegion(memory_, id).header().count);
    return true;
  }

 private:
  void Hold(uint32_t id, uint32_t received) {
    region_ = RingRegion(memory_, id);
    received_ = received;
    holding_ = true;
  }

  std::span<uint8_t> memory_;
  Region region_;
  uint32_t received_ = 0;
  bool holding_ = false;
  uint16_t epoch_ = 1;
};

/// The NIC's end, with the interface of NicLink.
class RingNic {
 public:
  explicit RingNic(std::span<uint8_t> memory) : memory_(memory) {
    std::vector<std::pair<uint64_t, uint32_t>> full;
    for (uint32_t left = Header(memory).nic_holds; left != 0; left &= left - 1) {
      const auto id = static_cast<uint32_t>(std::countr_zero(left));
      const RegionHeader& header = RingRegion(memory, id).header();
      if (header.kind == RegionKind::kToSend && header.cursor < header.count) {
        sending_.push_back(id);
      } else if (header.kind == RegionKind::kReceived && header.count > 0) {
        full.emplace_back(header.sequence, id);
        sequence_ = std::max(sequence_, header.sequence + 1);
      } else {
        Free(id);
      }
    }
    std::sort(full.begin(), full.end());
    for (const auto& [sequence, id] : full) full_.push_back(id);
  }

  uint8_t* Reserve(uint32_t length) {
    if (filler_.Fits(length)) return filler_.Next();
    if (filler_) full_.push_back(filler_.region());
    filler_ = Filler();
    if (free_.empty()) return nullptr;
    const Region region = RingRegion(memory_, free_.back());
    free_.pop_back();
    region.header().count = 0;
    region.header().sequence = sequence_++;
    std::atomic_ref(region.header().kind).store(RegionKind::kReceived, std::memory_order_release);
    filler_ = Filler(region, Header(memory_).geometry);
    return filler_.Next();
  }
  void Publish(uint32_t length) { filler_.Publish(length); }

  uint32_t DequeueFrames(FrameToSend* frames, uint32_t max) {
    if (sending_.empty()) return 0;
    const Region region = RingRegion(memory_, sending_.front());
    RegionHeader& header = region.header();
    const uint32_t begin = header.cursor;
    const uint32_t end = std::min(header.count, begin + max);
    if (begin == end) {
      sending_.pop_front();
      Free(region.id);
      return 0;
    }
    IdRing::Store(header.cursor, end);
    uint32_t taken = 0;
    for (uint32_t i = begin; i < end; ++i) {
      const Entry entry = region.entries()[i];
      if (!EntryIsSound(entry, Header(memory_).geometry)) continue;
      frames[taken++] = {region.base + EntryOffset(entry), EntryLength(entry)};
    }
    return taken;
  }

  /// Accepts a region from the host and gives it another region. Returns whether an exchange
  /// occurred.
  bool Serve() {
    RingHeader& header = Header(memory_);
    if (header.to_nic.empty() || !sending_.empty()) return false;
    if (full_.empty() && filler_) {
      full_.push_back(filler_.region());
      filler_ = Filler();
    }
    if (full_.empty() && !free_.empty()) {
      full_.push_back(free_.back());
      free_.pop_back();
    }
    if (full_.empty()) return false;
    const uint32_t taken = header.to_nic.Front();
    header.to_nic.Pop();
    IdRing::Store(header.nic_holds, header.nic_holds | 1u << taken);
    if (RingRegion(memory_, taken).header().count > 0) {
      sending_.push_back(taken);
    } else {
      Free(taken);
    }
    header.to_host.Push(full_.front());
    IdRing::Store(header.nic_holds, header.nic_holds & ~(1u << full_.front()));
    full_.pop_front();
    return true;
  }

 private:
  void Free(uint32_t id) {
    RingRegion(memory_, id).header().count = 0;
    RingRegion(memory_, id).header().kind = RegionKind::kFree;
    free_.push_back(id);
  }

  std::span<uint8_t> memory_;
  std::deque<uint32_t> full_;
  std::deque<uint32_t> sending_;
  std::vector<uint32_t> free_;
  Filler filler_;
  uint64_t sequence_ = 0;
};

struct PlainRings {
  using Host = RingHost;
  using Nic = RingNic;

  static size_t BytesFor(const Geometry& geometry) {
    return 4096 + size_t{geometry.regions} * geometry.region_bytes;
  }
  static void Format(std::span<uint8_t> memory, const Geometry& geometry) {
    Header(memory).geometry = geometry;
    Header(memory).host_holds = 1;
    Header(memory).nic_holds = (1u << geometry.regions) - 2;
  }
  static std::unique_ptr<Host> OpenHost(std::span<uint8_t> memory) {
    return std::make_unique<Host>(memory);
  }
  static std::unique_ptr<Nic> OpenNic(std::span<uint8_t> memory, uint16_t) {
    return std::make_unique<Nic>(memory);
  }
  static uint64_t Rejected(const Host&) { return 0; }
  static uint64_t InDoubt(const Host&) { return 0; }
  static Region RegionOf(std::span<uint8_t> memory, uint32_t id) { return RingRegion(memory, id); }

  static std::vector<uint32_t> Owners(std::span<uint8_t> memory) {
    const RingHeader& header = Header(memory);
    std::vector<uint32_t> counts(header.geometry.regions);
    for (uint32_t id = 0; id < counts.size(); ++id) {
      counts[id] = (header.host_holds >> id & 1) + (header.nic_holds >> id & 1);
    }
    for (const IdRing* ring : {&header.to_nic, &header.to_host}) {
      for (uint32_t i = ring->head; i != ring->tail; ++i) ++counts[ring->ids[i % IdRing::kEntries]];
    }
    return counts;
  }
  static uint64_t HostWorksIn(std::span<uint8_t> memory) { return Header(memory).host_holds; }
};

}  // namespace sluice::swap::test
