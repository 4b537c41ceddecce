// SPDX-License-Identifier: BSD-3-Clause
//
// The second half of the Ensō NIC's transmit path on a card: a block cuts chunks of a buffer's byte
// stream into frames and checks them. Unlike in hardware, each buffer has a separate stream: a
// frame that begins in one buffer does not continue in another.
#pragma once

#include <cstdint>

#include "device/grid/enso_card.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"
#include "device/grid/verifier.h"

namespace sluice::device::grid {

struct EnsoFrameMemory {
  static constexpr uint32_t kFlits = kChunkFlits + regs::enso::kMaxTxFrameFlits;

  WireShape shape;
  uint32_t next;             ///< Index at which the next search of the buffers begins.
  const uint8_t* stream;     ///< Input of this turn: the held flits followed by the chunk.
  uint32_t total;            ///< Flits of the input.
  uint16_t lengths[kFlits];  ///< Frame length in bytes if a frame begins at this flit.
  uint16_t jumps[kFlits];    ///< First flit of the frame 2^n frames later, after n calls of Double.
  uint16_t firsts[kFlits];   ///< First flit of each frame.
  uint8_t begins[kFlits];    ///< 1: a frame begins here.
  uint32_t orders[kFlits];   ///< Number of each frame; see CheckTag.
  uint32_t scratch[kFlits];
};

class EnsoFramer {
 public:
  EnsoFramer(EnsoCard& card, const Team& team, EnsoFrameMemory& memory)
      : card_(card), wire_(card.wire), shape_(memory.shape), team_(team), memory_(memory) {}

  /// Checks the next chunk of one of the buffers that block `block` of `blocks` serves. Returns
  /// false if no chunk is ready.
  bool Turn(uint32_t block, uint32_t blocks) {
    const auto found = static_cast<uint32_t>(team_.Agree([&] { return Find(block, blocks); }));
    if (found == 0) return false;
    Serve(found - 1);
    return true;
  }

 private:
  static constexpr uint32_t kParts = kFlitBytes / sizeof(Quad);
  static constexpr uint32_t kMostFlits = regs::enso::kMaxTxFrameFlits;

  /// Returns the number, plus 1, of a buffer with an unchecked chunk; 0 if no buffer has one.
  /// Called by one thread.
  uint32_t Find(uint32_t block, uint32_t blocks) {
    if (Load(&card_.halted) != 0) return 0;
    const uint32_t listed = Load(&card_.listed);
    if (block >= listed) return 0;
    const uint32_t own = (listed - block + blocks - 1) / blocks;  // Buffers of this block.
    for (uint32_t i = 0; i < own; ++i) {
      const uint32_t at = (memory_.next + i) % own;
      const uint32_t number = Load(&card_.sending[block + at * blocks]);
      if (number == 0) continue;
      const EnsoBuffer& buffer = card_.buffers[number - 1];
      if (Load(&buffer.produced) == Load(&buffer.consumed)) continue;
      memory_.next = at + 1;
      return number;
    }
    return 0;
  }

  void Serve(uint32_t number) {
    EnsoBuffer& buffer = card_.buffers[number];
    Phases phases(card_, team_, Phase::kSendCut);
    team_.ForEach(kTeamThreads, [&](uint32_t) { FenceCard(); });
    const uint32_t consumed = buffer.consumed;
    const EnsoChunk& chunk = card_.ChunkOf(number, consumed);
    held_ = buffer.held;
    total_ = held_ + buffer.chunk_flits[consumed % kChunks];
    stream_ = chunk.flits[0] - held_ * kFlitBytes;
    team_.One([&] {
      memory_.stream = stream_;
      memory_.total = total_;
    });
    const uint32_t frames = CutFrames(chunk);
    phases.Next(Phase::kSendCheck);
    if (frames != 0) Check(frames);
    KeepRest(card_.ChunkOf(number, consumed + 1));
    team_.One([&] {
      buffer.held = rest_;
      if (rest_ >= kMostFlits) {
        card_.Count(Event::kTxOversize);
        Store(&card_.halted, 1u);
      }
      FenceCard();
      Store(&buffer.consumed, consumed + 1);
    });
    phases.End();
  }

  uint32_t SpanAt(uint32_t flit) const { return regs::enso::Flits(memory_.lengths[flit]); }

  /// Finds the beginnings of frames and returns the number of whole frames. For each flit, `jumps`
  /// contains the first flit of the next frame, assuming that a frame begins at this flit. Each
  /// step doubles the number of frames that a jump spans.
  uint32_t CutFrames(const EnsoChunk& chunk) {
    const uint64_t longer = team_.Sum(total_, [&](uint32_t i) -> uint64_t {
      memory_.lengths[i] = i < held_ ? LengthOf(LoadPlain(stream_ + i * kFlitBytes + sizeof(Quad)))
                                     : chunk.lengths[i - held_];
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
    // The last frame may be incomplete.
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

  /// Copies the beginning of an incomplete frame to the space before the next chunk's bytes.
  void KeepRest(EnsoChunk& next) {
    if (rest_ == 0 || rest_ > kMostFlits) return;
    const uint8_t* const from = stream_ + uint64_t{total_ - rest_} * kFlitBytes;
    uint8_t* const to = next.flits[0] - rest_ * kFlitBytes;
    team_.ForEach(rest_ * kParts, [&](uint32_t i) {
      *reinterpret_cast<Quad*>(to + i * sizeof(Quad)) = LoadPlain(from + i * sizeof(Quad));
      FenceCard();
    });
  }

  Returned Frame(uint32_t i) const {
    const uint32_t first = memory_.firsts[i];
    return {stream_ + uint64_t{first} * kFlitBytes, memory_.lengths[first]};
  }

  /// Counts and checks `frames` frames.
  void Check(uint32_t frames) {
    const auto lap = static_cast<uint32_t>(team_.Agree([&] { return Load(&wire_.lap); }));
    const uint64_t now = team_.Agree([] { return NowNs(); });
    // Packs three sums into one word: recognised frames, late frames, and bytes in the upper half.
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
    if (shape_.verify != 0) {
      JudgeFrames(card_, shape_, team_, memory_.orders, frames, memory_.scratch, lap,
                  sums >> kLateBit & 0xffff, [&](uint32_t i) { return Frame(i); });
    }
    team_.Lead([&] {
      const uint64_t bytes = sums >> kBytesBit;
      card_.Count(Event::kTxFrames, frames);
      card_.Count(Event::kTxBytes, bytes);
      Counters& counters = card_.counters;
      Add(&counters[WireEvent::kReturned], uint64_t{frames});
      Add(&counters[WireEvent::kReturnedBytes], bytes);
      Add(&counters[WireEvent::kRecognised], sums & 0xffff);
    });
  }

  EnsoCard& card_;
  const Wire& wire_;
  const WireShape& shape_;
  const Team& team_;
  EnsoFrameMemory& memory_;
  const uint8_t* stream_ = nullptr;
  uint32_t held_ = 0;   ///< Flits at the beginning, held back by the previous turn.
  uint32_t total_ = 0;  ///< Flits of this turn, including the held ones.
  uint32_t rest_ = 0;   ///< Flits of an incomplete frame at the end.
};

}  // namespace sluice::device::grid
