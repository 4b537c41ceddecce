// SPDX-License-Identifier: BSD-3-Clause
//
// Frames that the host sends: a block copies them to its area of card memory, then counts and
// checks them. Used by all blocks that send frames, for rings as well as for regions.
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/ipu_fifo.h"
#include "device/grid/loopback.h"
#include "device/grid/team.h"
#include "device/grid/verifier.h"

namespace sluice::device::grid {

/// Limits per queue and turn: descriptors or entries read, and flits of the frames sent. Both are
/// large enough for the longest frame.
inline constexpr uint32_t kIpuSendWindow = kBatchFrames;
inline constexpr uint32_t kIpuSendFlits = kBatchFlits;
static_assert(kIpuSendFlits * kFlitBytes <= kIpuStagingBytes &&
              kIpuSendFlits * kFlitBytes > regs::ipu::kMaxFrameBytes &&
              kLoopFlits * kFlitBytes >= regs::ipu::kMaxFrameBytes);

/// Indexed by frame, except for `owners`.
struct IpuSentMemory {
  uint16_t lengths[kIpuSendWindow];  ///< Length of the frame; 0: it is not sent.
  uint32_t before[kIpuSendWindow];   ///< Flits of the frames before this one.
  /// For a frame that is not sent: the Statistic that counts the reason, or kNoOrder. For a frame
  /// that is sent: its number, once it has been checked (verifier.h).
  uint32_t orders[kIpuSendWindow];
  uint32_t flows[kIpuSendWindow];
  uint32_t scratch[kIpuSendWindow];
  uint16_t owners[kIpuSendFlits];  ///< Index of the frame to which each flit belongs.
  // Not indexed:
  uint64_t now_ns;  ///< Time at which the frames were read.
  uint32_t lap;     ///< The newest lap on the wire at that time.
};

/// Loads bytes at an unaligned address. The bus reads whole quads, which contain the bytes.
inline Quad LoadAcross(const uint8_t* from, uint32_t bytes) {
  const auto odd = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % sizeof(Quad));
  Quad quad = LoadQuad(from - odd);
  if (odd != 0) {
    Quad next{0, 0};
    if (odd + bytes > sizeof(Quad)) next = LoadQuad(from - odd + sizeof(Quad));
    const uint64_t words[4] = {quad.low, quad.high, next.low, next.high};
    const uint32_t shift = odd % 8 * 8;
    const auto word = [&](uint64_t low, uint64_t high) {
      return shift == 0 ? low : low >> shift | high << (64 - shift);
    };
    quad = odd < 8 ? Quad{word(words[0], words[1]), word(words[1], words[2])}
                   : Quad{word(words[1], words[2]), word(words[2], words[3])};
  }
  return Truncate(quad, bytes);
}

/// The frames of one turn. All threads of the block must call each method.
class IpuSent {
 public:
  /// `staging` must have room for kIpuStagingBytes bytes.
  IpuSent(IpuCard& card, const WireShape& shape, const Team& team, IpuSentMemory& memory,
          uint8_t* staging)
      : card_(card), shape_(shape), team_(team), memory_(memory), staging_(staging) {}

  uint32_t frames() const { return frames_; }
  uint32_t flits() const { return flits_; }

  /// Selects as many of `count` frames as fit into the staging memory. The frames' lengths must be
  /// set.
  void Measure(uint32_t count) {
    team_.ForEach(count,
                  [&](uint32_t frame) { memory_.before[frame] = Flits(memory_.lengths[frame]); });
    flits_ = team_.ScanExclusive(memory_.before, count);
    frames_ = count;
    if (flits_ <= kIpuSendFlits) return;
    const auto fits = [&](uint32_t frame) {
      return memory_.before[frame] + Flits(memory_.lengths[frame]) <= kIpuSendFlits;
    };
    frames_ = static_cast<uint32_t>(
        team_.Sum(count, [&](uint32_t frame) -> uint64_t { return fits(frame) ? 1 : 0; }));
    flits_ = memory_.before[frames_];
  }

  /// Copies the selected frames into the staging memory. load(frame, offset) must return 16 bytes
  /// of a frame, padded with zeros at its end.
  template <typename LoadFn>
  void Read(LoadFn load) {
    FindOwners();
    team_.Copy(
        flits_ * kParts,
        [&](uint32_t part) {
          const uint32_t frame = memory_.owners[part / kParts], offset = OffsetOf(part, frame);
          return offset < memory_.lengths[frame] ? load(frame, offset) : Quad{0, 0};
        },
        [&](uint32_t part, Quad quad) { Put(part, quad); });
    Date();
  }

  /// Like Read, but each frame must be contiguous and 16-byte aligned: data_of(frame) returns its
  /// address. Without branches, the loads overlap. The bus reads whole quads.
  template <typename DataOf>
  void ReadWhole(DataOf data_of) {
    FindOwners();
    team_.Copy(
        flits_ * kParts,
        [&](uint32_t part) {
          const uint32_t frame = memory_.owners[part / kParts], offset = OffsetOf(part, frame);
          const uint32_t last = (memory_.lengths[frame] - 1u) / sizeof(Quad) * sizeof(Quad);
          return LoadQuad(data_of(frame) + (offset < last ? offset : last));
        },
        [&](uint32_t part, Quad quad) {
          const uint32_t frame = memory_.owners[part / kParts], offset = OffsetOf(part, frame);
          const uint32_t length = memory_.lengths[frame];
          Put(part, offset < length ? Truncate(quad, length - offset) : Quad{0, 0});
        });
    Date();
  }

  /// Counts and checks the frames.
  void Check() {
    const uint32_t lap = memory_.lap;
    const uint64_t now = memory_.now_ns;
    const Findings findings{memory_.orders, memory_.flows, memory_.scratch};
    // Packs two sums into one word: bytes, and sent frames in the upper half.
    constexpr uint32_t kSentBit = 32;
    const bool checks = shape_.verify != 0 && shape_.tagged != 0;
    const uint64_t sums = team_.Sum(frames_, [&](uint32_t i) -> uint64_t {
      const Returned frame = Frame(i);
      if (frame.length == 0) {
        const auto reason = static_cast<regs::ipu::Statistic>(memory_.orders[i]);
        if (reason < regs::ipu::kStatisticCount) card_.Count(reason);
        memory_.orders[i] = kNoOrder;
        return 0;
      }
      if (checks) CheckTag(card_, shape_, frame, now, lap, findings, i);
      return frame.length | uint64_t{1} << kSentBit;
    });
    const uint64_t bytes = static_cast<uint32_t>(sums), sent = sums >> kSentBit;
    uint64_t recognised = sent;
    if (checks) {
      CompareSamples(card_, shape_, team_, findings, frames_, [&](uint32_t i) { return Frame(i); });
      recognised = RecordReturns(card_, shape_, team_, findings, frames_, lap);
    }
    KeepFrames(card_, shape_, team_, frames_, memory_.orders, memory_.scratch,
               [&](uint32_t i) { return Frame(i); });
    team_.Lead([&] {
      card_.Count(regs::ipu::kStatTxFrames, sent);
      card_.Count(regs::ipu::kStatTxBytes, bytes);
      Counters& counters = card_.counters;
      Add(&counters[WireEvent::kReturned], sent);
      Add(&counters[WireEvent::kReturnedBytes], bytes);
      Add(&counters[WireEvent::kRecognised], recognised);
    });
  }

 private:
  static constexpr uint32_t kParts = kFlitBytes / sizeof(Quad);

  uint32_t OffsetOf(uint32_t part, uint32_t frame) const {
    return static_cast<uint32_t>((part / kParts - memory_.before[frame]) * kFlitBytes +
                                 part % kParts * sizeof(Quad));
  }
  void Put(uint32_t part, Quad quad) {
    *reinterpret_cast<Quad*>(staging_ + uint64_t{part} * sizeof(Quad)) = quad;
  }
  void FindOwners() {
    team_.ForEach(frames_, [&](uint32_t frame) {
      const uint32_t flits = Flits(memory_.lengths[frame]);
      for (uint32_t flit = 0; flit < flits; ++flit) {
        memory_.owners[memory_.before[frame] + flit] = static_cast<uint16_t>(frame);
      }
    });
  }
  void Date() {
    team_.One([&] {
      memory_.now_ns = NowNs();
      memory_.lap = Load(&card_.wire.lap);
    });
  }
  Returned Frame(uint32_t i) const {
    return {staging_ + uint64_t{memory_.before[i]} * kFlitBytes, memory_.lengths[i]};
  }

  IpuCard& card_;
  const WireShape& shape_;
  const Team& team_;
  IpuSentMemory& memory_;
  uint8_t* const staging_;
  uint32_t frames_ = 0, flits_ = 0;
};

}  // namespace sluice::device::grid
