// SPDX-License-Identifier: BSD-3-Clause
//
// The transmit path of the packetized NIC on a card: a block reads posted descriptors of its
// queues, then the frames that they refer to, completes the descriptors and checks the frames. It
// does not compute checksums, because this wire does not verify them. Requests for segmentation or
// VLAN insertion are counted as bad descriptors.
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/ipu_fifo.h"
#include "device/grid/ipu_sent.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

static_assert(kIpuSendWindow > 2 * regs::ipu::kMaxSegments);

struct IpuTransmitMemory : IpuSentMemory {
  WireShape shape;
  DmaCopy dma;
  // Indexed by queue.
  Quad looks[kIpuQueues];       ///< The first 16 bytes of the queue's IpuRing.
  uint32_t epochs[kIpuQueues];  ///< Epoch to which `heads` belongs; 0 if none yet.
  uint32_t heads[kIpuQueues];
  uint32_t reports;    ///< Descriptors of this turn whose completion has been reported.
  uint32_t confirmed;  ///< Epoch of the current queue, read after the queue was marked busy.
  uint32_t scattered;  ///< Not 0: some frames have several descriptors or unaligned bytes.
  // Indexed by descriptor.
  uint64_t data[kIpuSendWindow];        ///< Address of the descriptor's data; 0 if unreachable.
  uint32_t infos[kIpuSendWindow];       ///< See Info.
  uint16_t firsts[kIpuSendWindow + 1];  ///< First descriptor of each frame.
};

class IpuTransmitter {
 public:
  IpuTransmitter(IpuCard& card, const Team& team, IpuTransmitMemory& memory, uint32_t block)
      : card_(card),
        team_(team),
        memory_(memory),
        block_(block),
        sent_(card, memory.shape, team_, memory, SendStaging(card, block)) {}

  /// Polls each of this block's queues once and sends the posted frames. The queues are distributed
  /// over `blocks` blocks.
  void Turn(uint32_t blocks) {
    if (block_ >= kIpuQueues) return;
    team_.ForEach((kIpuQueues - block_ + blocks - 1) / blocks, [&](uint32_t i) {
      const uint32_t queue = block_ + i * blocks;
      memory_.looks[queue] = LoadQuadAcquire(&card_.tx[queue]);  // Announces descriptors.
      const uint32_t epoch = Epoch(queue);
      if (epoch == memory_.epochs[queue] || epoch % 2 == 0) return;
      memory_.epochs[queue] = epoch;
      memory_.heads[queue] = Load(&card_.tx[queue].head);
    });
    for (uint32_t queue = block_; queue < kIpuQueues; queue += blocks) {
      if (Epoch(queue) % 2 == 0) continue;
      const RingPlace ring(memory_.looks[queue].high);
      uint32_t posted = static_cast<uint32_t>(memory_.looks[queue].low) - memory_.heads[queue];
      if (posted == 0 || posted > ring.entries()) continue;
      Serve(queue, ring, posted < kIpuSendWindow ? posted : kIpuSendWindow);
    }
    team_.Sync();  // The next turn overwrites the words that all threads have read.
  }

 private:
  /// Packed fields of a descriptor: length, end and report flags, whether the descriptor is
  /// rejected, and the minimum frame length that its checksums require.
  class Info {
   public:
    explicit Info(uint32_t word) : word_(word) {}
    static Info Of(uint64_t high) {
      using namespace regs::ipu;
      uint32_t word = static_cast<uint32_t>(high) & (0xffff | kTxEndOfPacket | kTxReport);
      if ((high & (kTxTag | kTxSegment)) != 0) word |= kRefused;
      const auto byte = [high](uint32_t shift) {
        return static_cast<uint32_t>(high >> shift & 0xff);
      };
      const uint32_t header = byte(kTxIpLengthShift), l4 = byte(kTxIpOffsetShift) + header;
      if ((high & kTxIpChecksum) != 0 && header < 20) word |= kRefused;
      uint32_t least = (high & kTxIpChecksum) != 0 ? l4 : 0;
      if ((high & kTxL4Checksum) != 0) least = l4 + byte(kTxL4FieldShift) + 2;
      return Info(word | least << kLeastShift);
    }
    uint32_t word() const { return word_; }
    uint32_t length() const { return word_ & 0xffff; }
    bool ends() const { return (word_ & regs::ipu::kTxEndOfPacket) != 0; }
    bool reports() const { return (word_ & regs::ipu::kTxReport) != 0; }
    bool refused() const { return (word_ & kRefused) != 0; }
    uint32_t least() const { return word_ >> kLeastShift; }

   private:
    static constexpr uint32_t kRefused = 1u << 18, kLeastShift = 19;

    uint32_t word_;
  };
  Info InfoOf(uint32_t descriptor) const { return Info(memory_.infos[descriptor]); }
  uint32_t Epoch(uint32_t queue) const {
    return static_cast<uint32_t>(memory_.looks[queue].low >> 32);
  }

  void Serve(uint32_t queue, RingPlace ring, uint32_t count) {
    Phases phases(card_, team_, Phase::kSendSlots);
    ReadDescriptors(queue, ring, count);
    phases.Next(Phase::kSendCut);
    const uint32_t frames = memory_.confirmed == Epoch(queue) ? FindFrames(count) : 0;
    if (frames == 0) return team_.One([&] { Store(&card_.tx[queue].busy, 0u); });
    Measure(frames);
    phases.Next(Phase::kSendBytes);
    const uint32_t done = memory_.firsts[sent_.frames()];
    ReadFrames(queue, done);
    phases.Next(Phase::kSendComplete);
    Complete(queue, ring, done);
    phases.Next(Phase::kSendCheck);
    sent_.Check();
    phases.End();
    Release(queue, done);
  }

  /// Reads descriptors and marks the queue busy. The register block waits until `busy` is cleared
  /// before it reports a ring as disabled. Conversely, this function detects a ring that was
  /// disabled before `busy` was set.
  void ReadDescriptors(uint32_t queue, RingPlace ring, uint32_t count) {
    const uint32_t head = memory_.heads[queue];
    team_.Aside([&] {
      Exchange(&card_.tx[queue].busy, 1);
      FenceCard();
      memory_.reports = memory_.scattered = 0;
      memory_.confirmed = Add(&card_.tx[queue].epoch, 0u);
    });
    team_.Copy(
        count, [&](uint32_t i) { return LoadQuad(ring.At(head + i)); },
        [&](uint32_t i, Quad descriptor) {
          const Info info = Info::Of(descriptor.high);
          memory_.infos[i] = info.word();
          memory_.data[i] = reinterpret_cast<uint64_t>(
              memory_.dma.Translate(card_.dma, descriptor.low, info.length()));
        });
  }

  /// Lists the frames whose last descriptor is among the first `count` descriptors, and returns
  /// their number. A run of kMaxSegments descriptors without an end flag is also treated as a
  /// frame.
  uint32_t FindFrames(uint32_t count) {
    constexpr uint32_t kMost = regs::ipu::kMaxSegments;
    const auto list = [&](auto ends) {
      team_.ForEach(count, [&](uint32_t i) { memory_.scratch[i] = ends(i) ? 1 : 0; });
      const uint32_t frames = team_.ScanExclusive(memory_.scratch, count);
      team_.ForEach(count, [&](uint32_t i) {
        if (i == 0) memory_.firsts[0] = 0;
        if (ends(i)) memory_.firsts[memory_.scratch[i] + 1] = static_cast<uint16_t>(i + 1);
      });
      return frames;
    };
    const uint64_t open =
        team_.Sum(count, [&](uint32_t i) -> uint64_t { return InfoOf(i).ends() ? 0 : 1; });
    if (open == 0) {
      team_.ForEach(count + 1, [&](uint32_t i) { memory_.firsts[i] = static_cast<uint16_t>(i); });
      return count;
    }
    const uint32_t frames = list([&](uint32_t i) { return InfoOf(i).ends(); });
    const auto is_cut = [&](uint32_t i) {
      return (i - memory_.firsts[memory_.scratch[i]]) % kMost == kMost - 1;
    };
    team_.ForEach(count,
                  [&](uint32_t i) { memory_.orders[i] = InfoOf(i).ends() || is_cut(i) ? 1 : 0; });
    const uint64_t all =
        team_.Sum(count, [&](uint32_t i) -> uint64_t { return memory_.orders[i]; });
    return all == frames ? frames : list([&](uint32_t i) { return memory_.orders[i] != 0; });
  }

  /// Determines the lengths of the frames, and selects as many of the `frames` frames as fit into
  /// the staging memory.
  void Measure(uint32_t frames) {
    using namespace regs::ipu;
    team_.ForEach(frames, [&](uint32_t frame) {
      const uint32_t first = memory_.firsts[frame], end = memory_.firsts[frame + 1];
      uint32_t length = 0;
      bool bad = !InfoOf(end - 1).ends(), fault = false;
      if (end - first != 1 || memory_.data[first] % sizeof(Quad) != 0)
        Store(&memory_.scattered, 1u);
      for (uint32_t i = first; i < end; ++i) {
        length += InfoOf(i).length();
        bad |= InfoOf(i).length() == 0;
        fault |= memory_.data[i] == 0;
      }
      bad |= length < kMinFrameBytes || length > kMaxFrameBytes;
      const bool refused = InfoOf(first).refused() || length < InfoOf(first).least();
      memory_.lengths[frame] = static_cast<uint16_t>(bad || fault || refused ? 0 : length);
      memory_.orders[frame] = !bad && fault ? kStatTxDmaFault : kStatTxBadDescriptor;
    });
    sent_.Measure(frames);
  }

  void ReadFrames(uint32_t queue, uint32_t done) {
    team_.One([&] {
      Store(&card_.tx[queue].reserved, memory_.heads[queue] + done);
      FenceCard();
    });
    if (memory_.scattered != 0) {
      sent_.Read([&](uint32_t frame, uint32_t offset) { return LoadPart(frame, offset); });
    } else {
      sent_.ReadWhole([&](uint32_t frame) {
        return reinterpret_cast<const uint8_t*>(memory_.data[memory_.firsts[frame]]);
      });
    }
  }

  /// Loads 16 bytes of a frame, or fewer at its end.
  Quad LoadPart(uint32_t frame, uint32_t offset) const {
    uint32_t segment = memory_.firsts[frame];
    while (offset >= InfoOf(segment).length()) offset -= InfoOf(segment++).length();
    const auto* const from = reinterpret_cast<const uint8_t*>(memory_.data[segment]) + offset;
    const uint32_t left = InfoOf(segment).length() - offset;
    if (reinterpret_cast<uintptr_t>(from) % sizeof(Quad) == 0 && left >= sizeof(Quad)) {
      return LoadQuad(from);
    }
    const uint32_t end = memory_.firsts[frame + 1];
    if (left >= sizeof(Quad) || segment + 1 == end) {
      return LoadAcross(from, left < sizeof(Quad) ? left : sizeof(Quad));
    }
    return LoadBytes(&memory_.data[segment], &memory_.infos[segment], end - segment, offset);
  }
  /// Loads bytes that span several segments.
  [[gnu::noinline]] static Quad LoadBytes(const uint64_t* data, const uint32_t* infos,
                                          uint32_t segments, uint32_t offset) {
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < sizeof(Quad); ++i, ++offset) {
      while (offset >= Info(*infos).length()) {
        offset -= Info(*infos).length();
        ++data, ++infos;
        if (--segments == 0) return {low, high};
      }
      const uint64_t byte = Load(reinterpret_cast<const uint8_t*>(*data) + offset);
      if (i < 8) low |= byte << 8 * i;
      if (i >= 8) high |= byte << 8 * (i - 8);
    }
    return {low, high};
  }

  /// Completes the descriptors that request a report. Their data must have been read.
  void Complete(uint32_t queue, RingPlace ring, uint32_t done) {
    const uint32_t head = memory_.heads[queue];
    team_.ForEach(done, [&](uint32_t i) {
      if (!InfoOf(i).reports()) return;
      auto* const high = reinterpret_cast<uint64_t*>(ring.At(head + i)) + 1;
      Store(high, regs::ipu::kDone);
      Add(&memory_.reports, 1u);
      FenceSystem();
    });
    team_.One([&] {
      memory_.heads[queue] = head + done;
      Store(&card_.tx[queue].head, head + done);
    });
  }

  void Release(uint32_t queue, uint32_t done) {
    team_.One([&] {
      Store(&card_.tx[queue].busy, 0u);
      Add(&card_.counters[Crossing::kPayloadFromHost], uint64_t{sent_.flits()} * kFlitBytes);
      Add(&card_.counters[Crossing::kDescriptors], uint64_t{done} * regs::ipu::kDescriptorBytes);
      Add(&card_.counters[Crossing::kNotifications], uint64_t{memory_.reports} * sizeof(uint64_t));
    });
  }

  IpuCard& card_;
  const Team team_;
  IpuTransmitMemory& memory_;
  const uint32_t block_;
  IpuSent sent_;
};

}  // namespace sluice::device::grid
