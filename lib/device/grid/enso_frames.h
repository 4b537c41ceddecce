// SPDX-License-Identifier: BSD-3-Clause
//
// The second half of the Ensō NIC's transmit path on a card: a block cuts a buffer's byte stream
// into frames, chunk by chunk, and checks them. Unlike in hardware, each buffer has a separate
// stream: a frame that begins in one buffer does not continue in another. Several blocks may serve
// one buffer: they cut its chunks one after the other, check the frames of different chunks in
// parallel, and record the return of the frames in chunk order.
#pragma once

#include <cstdint>

#include "device/grid/enso_card.h"
#include "device/grid/enso_search.h"
#include "device/grid/loopback.h"
#include "device/grid/phases.h"
#include "device/grid/samples.h"
#include "device/grid/team.h"
#include "device/grid/verifier.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

struct EnsoFrameMemory {
  static constexpr uint32_t kFlits = kChunkFlits + regs::enso::kMaxTxFrameFlits;

  WireShape shape;
  EnsoSearchMemory search;
  uint64_t chunk;            ///< The chunk that this turn processes.
  const uint8_t* stream;     ///< Input of this turn: the held flits followed by the chunk.
  uint32_t held;             ///< Held flits.
  uint32_t total;            ///< Flits of the input.
  uint32_t lap;              ///< The newest lap on the wire.
  uint64_t now_ns;           ///< Time at which the frames were sent.
  uint16_t lengths[kFlits];  ///< Frame length in bytes if a frame begins at this flit.
  uint16_t jumps[kFlits];    ///< First flit of the frame that is 2^n frames later, after n calls of
                             ///< Double.
  uint16_t firsts[kFlits];   ///< First flit of each frame.
  uint8_t begins[kFlits];    ///< 1: a frame begins here.
  uint32_t orders[kFlits];   ///< Number of each frame; see CheckTag.
  uint32_t flows[kFlits];
  uint32_t scratch[kFlits];
};

class EnsoFramer {
 public:
  EnsoFramer(EnsoCard& card, const Team& team, EnsoFrameMemory& memory)
      : card_(card),
        wire_(card.wire),
        shape_(memory.shape),
        team_(team),
        memory_(memory),
        checks_(memory.shape.verify != 0 && memory.shape.tagged != 0) {}

  /// Checks the next chunk of a buffer. `block` is this block's index among the blocks that cut and
  /// check frames. Returns false if no chunk is ready.
  bool Turn(uint32_t block) {
    const auto is_ready = [&](const EnsoBuffer& buffer) {
      return Load(&buffer.produced) != Load(&buffer.cut) && Load(&buffer.cutting) == 0;
    };
    const auto found = static_cast<uint32_t>(
        EnsoSearch(card_, team_, memory_.search).Run(block, is_ready, [&](uint32_t number) {
          return Claim(number) ? number + 1 : 0;
        }));
    if (found == 0) return false;
    Serve(found - 1);
    return true;
  }

 private:
  static constexpr uint32_t kParts = kFlitBytes / sizeof(Quad);
  static constexpr uint32_t kMostFlits = regs::enso::kMaxTxFrameFlits;
  static_assert(kMostFlits <= kLoopFlits);

  /// Claims a buffer's next chunk. Returns false if another block was faster, or if transmission is
  /// wedged. Called by one thread.
  bool Claim(uint32_t number) {
    EnsoBuffer& buffer = card_.buffers[number];
    if (!TryLock(&buffer.cutting)) return false;
    const uint64_t chunk = Load(&buffer.cut);
    if (LoadAcquire(&buffer.produced) == chunk || Load(&card_.halted) != 0) {
      StoreRelease(&buffer.cutting, 0u);
      return false;
    }
    memory_.chunk = chunk;
    memory_.held = Load(&buffer.held);
    memory_.total = memory_.held + Load(&buffer.chunk_flits[chunk % kChunks]);
    memory_.stream = card_.ChunkOf(number, chunk).flits[0] - memory_.held * kFlitBytes;
    return true;
  }

  void Serve(uint32_t number) {
    EnsoBuffer& buffer = card_.buffers[number];
    Phases phases(card_, team_, Phase::kSendCut);
    const uint64_t number_in_stream = memory_.chunk;
    held_ = memory_.held;
    total_ = memory_.total;
    stream_ = memory_.stream;
    const uint32_t frames = CutFrames(card_.ChunkOf(number, number_in_stream));
    KeepRest(card_.ChunkOf(number, number_in_stream + 1));
    team_.One([&] {
      memory_.now_ns = NowNs();
      memory_.lap = Load(&wire_.lap);
      Store(&buffer.held, rest_);
      if (rest_ >= kMostFlits) {
        card_.Count(Event::kTxOversize);
        Store(&card_.halted, 1u);
      }
      Store(&buffer.cut, number_in_stream + 1);
    });
    team_.Aside([&] { StoreRelease(&buffer.cutting, 0u); });
    phases.Next(Phase::kSendCheck);
    const uint32_t lap = memory_.lap;
    const uint64_t bytes = frames != 0 ? Check(frames, memory_.now_ns, lap) : 0;
    phases.Next(Phase::kSendOrder);
    team_.One([&] { AwaitTurn(&buffer.checked, number_in_stream); });
    uint64_t recognised = frames;
    if (frames != 0 && checks_) {
      recognised = RecordReturns(card_, shape_, team_, ToFindings(), frames, lap);
    }
    if (frames != 0 && shape_.looped != 0) {
      LoopFrames(card_, shape_, team_, frames, memory_.orders, memory_.scratch,
                 [&](uint32_t i) { return Frame(i); });
    }
    team_.One([&] { EndTurn(&buffer.checked, number_in_stream); });
    if (frames != 0) Account(frames, bytes, recognised);
    phases.End();
  }

  uint32_t SpanAt(uint32_t flit) const { return regs::enso::Flits(memory_.lengths[flit]); }

  /// Finds the beginnings of frames and returns the number of whole frames. For each flit, `jumps`
  /// contains the flit at which the next frame begins if a frame begins at this flit. Each step
  /// doubles the number of frames that a jump spans.
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
    });
  }

  Returned Frame(uint32_t i) const {
    const uint32_t first = memory_.firsts[i];
    return {stream_ + uint64_t{first} * kFlitBytes, memory_.lengths[first]};
  }

  Findings ToFindings() const { return {memory_.orders, memory_.flows, memory_.scratch}; }

  /// Checks the tags of all frames and the bytes of some. Chunks may be checked in any order.
  /// Returns the number of bytes in the frames.
  uint64_t Check(uint32_t frames, uint64_t now, uint32_t lap) {
    const uint64_t bytes = team_.Sum(frames, [&](uint32_t i) -> uint64_t {
      const Returned frame = Frame(i);
      if (checks_) CheckTag(card_, shape_, frame, now, lap, ToFindings(), i);
      return frame.length;
    });
    if (checks_) {
      CompareSamples(card_, shape_, team_, ToFindings(), frames,
                     [&](uint32_t i) { return Frame(i); });
    }
    if (shape_.tagged == 0 && shape_.looped == 0) {
      RecordFrames(card_, shape_, team_, frames, memory_.orders, memory_.scratch,
                   [&](uint32_t i) { return Frame(i); });
    }
    return bytes;
  }

  void Account(uint64_t frames, uint64_t bytes, uint64_t recognised) {
    team_.Lead([&] {
      card_.Count(Event::kTxFrames, frames);
      card_.Count(Event::kTxBytes, bytes);
      Counters& counters = card_.counters;
      Add(&counters[WireEvent::kReturned], frames);
      Add(&counters[WireEvent::kReturnedBytes], bytes);
      Add(&counters[WireEvent::kRecognised], recognised);
    });
  }

  EnsoCard& card_;
  const Wire& wire_;
  const WireShape& shape_;
  const Team& team_;
  EnsoFrameMemory& memory_;
  const bool checks_;  ///< Whether the tags of frames are checked.
  const uint8_t* stream_ = nullptr;
  uint32_t held_ = 0;   ///< Flits at the beginning that the previous turn held back.
  uint32_t total_ = 0;  ///< Flits of this turn, including the held ones.
  uint32_t rest_ = 0;   ///< Flits of an incomplete frame at the end.
};

}  // namespace sluice::device::grid
