// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a queue's received frames to the line that the host has loaded, or will load next
// (coherent::FrameWriter). All threads take part: every 16 bytes of the line are one bus write.
#pragma once

#include <cstdint>

#include "coherent/frames.h"
#include "device/grid/endpoint_batch.h"
#include "device/grid/fifo_end.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

class EndpointFiller {
 public:
  EndpointFiller(IpuCard& card, IpuEndpoint& endpoint, const Team& team, EndpointMemory& memory,
                 EndpointState& state, uint32_t queue)
      : card_(card),
        endpoint_(endpoint),
        team_(team),
        memory_(memory),
        state_(state),
        fifo_(card, queue),
        headroom_(state.geometry.headroom_bytes) {}

  /// Writes waiting frames as long as they fit, and removes them from `look`. Delivers the line if
  /// a load is pending.
  void Run(EndpointLook& look) {
    const uint32_t tail = look.tail, count = state_.count;
    uint32_t frames = look.head - tail;
    if (frames > kLineFrames - count) frames = kLineFrames - count;
    frames = Place(tail, frames);
    const uint32_t words = memory_.starts[frames];
    if (frames != 0) Write(tail, frames, words);
    team_.One([&] {
      if (look.head != tail + frames) state_.full = 1;
      if (frames == 0) return;
      look.tail = tail + frames;
      state_.written += words * kWord;
      state_.count += frames;
      fifo_.Release(tail + frames);
      EndpointEnd(card_, state_).Answer();
    });
  }

 private:
  static constexpr uint32_t kWord = sizeof(uint64_t);
  static constexpr uint32_t kQuadWords = sizeof(Quad) / kWord;
  /// Number of words in a line before its payload. The last of them is ControlLine::data.
  static constexpr uint32_t kHeadWords = kLinePayload / kWord;

  enum class Content : uint8_t {
    kOther,  ///< Must not be written.
    kSpare,  ///< May be written.
    kData,
  };
  struct Word {
    Content content;
    uint64_t value;
  };

  /// Finds the positions of `frames` records. Returns how many of them fit.
  uint32_t Place(uint32_t tail, uint32_t frames) {
    team_.ForEach(frames, [&](uint32_t i) {
      const uint32_t length = fifo_.Length(tail + i);
      memory_.lengths[i] = length;
      memory_.starts[i] = coherent::RecordBytes(length, headroom_) / kWord;
    });
    const uint32_t all = team_.ScanExclusive(memory_.starts, frames);
    team_.One([&] { memory_.starts[frames] = all; });
    const uint32_t room = (state_.fill_bytes - state_.written) / kWord;
    if (all <= room) return frames;
    return static_cast<uint32_t>(team_.Sum(
        frames, [&](uint32_t i) -> uint64_t { return memory_.starts[i + 1] <= room ? 1 : 0; }));
  }

  void Write(uint32_t tail, uint32_t frames, uint32_t words) {
    using coherent::Pair;
    const uint64_t number =
        state_.pair(Pair::kReceive).number + (state_.Waits(Pair::kReceive) ? 0 : 1);
    uint8_t* const line = state_.Line(Pair::kReceive, number);
    const uint32_t written = state_.written / kWord, first = kHeadWords + written;
    uint16_t* const places = endpoint_.places[number & 1] + state_.count;
    const uint32_t begin = first / kQuadWords;
    const uint32_t quads = (first + words + kQuadWords - 1) / kQuadWords - begin;
    team_.ForEach(quads + frames, [&](uint32_t i) {
      if (i >= quads) {
        const uint32_t frame = i - quads;
        return Store(&places[frame], static_cast<uint16_t>(written + memory_.starts[frame]));
      }
      const uint32_t at = (begin + i) * kQuadWords;
      const Word low = WordAt(tail, frames, at - first, words);
      const Word high = WordAt(tail, frames, at + 1 - first, words);
      auto* const to = reinterpret_cast<uint64_t*>(line) + at;
      const bool data = low.content == Content::kData || high.content == Content::kData;
      if (data && low.content != Content::kOther && high.content != Content::kOther) {
        return StoreQuad(to, {low.value, high.value});
      }
      if (low.content == Content::kData) Store(to, low.value);
      if (high.content == Content::kData) Store(to + 1, high.value);
    });
    const uint64_t bytes =
        team_.Sum(frames, [&](uint32_t i) -> uint64_t { return memory_.lengths[i]; });
    team_.Lead([&] {
      Add(&card_.counters[Crossing::kPayloadToHost], bytes);
      Add(&card_.counters[Crossing::kNotifications], uint64_t{frames} * kWord);
    });
    team_.ForEach(kTeamThreads, [&](uint32_t) { FenceSystem(); });
  }

  /// Returns word `at` of the written records, which have `words` words in total.
  Word WordAt(uint32_t tail, uint32_t frames, uint32_t at, uint32_t words) const {
    if (at >= words) return {Content::kOther, 0};
    const uint32_t frame = LastUpTo(memory_.starts, frames, at);
    const uint32_t within = at - memory_.starts[frame];
    const uint32_t before = coherent::RecordBytes(0, headroom_) / kWord;
    const uint32_t length = memory_.lengths[frame];
    if (within == 0) {
      return {Content::kData, coherent::Record{.stride = static_cast<uint16_t>(
                                                   coherent::RecordBytes(length, headroom_)),
                                               .offset = static_cast<uint16_t>(before * kWord),
                                               .length = static_cast<uint16_t>(length)}
                                  .Word()};
    }
    if (within < before) return {Content::kSpare, 0};
    const uint32_t offset = (within - before) * kWord, left = length - offset;
    const uint8_t* const data = fifo_.Data(tail + frame) + offset;
    const uint64_t word = Load(reinterpret_cast<const uint64_t*>(data));
    return {Content::kData, left < kWord ? word & ((uint64_t{1} << 8 * left) - 1) : word};
  }

  IpuCard& card_;
  IpuEndpoint& endpoint_;
  const Team& team_;
  EndpointMemory& memory_;
  EndpointState& state_;
  const FifoEnd fifo_;
  const uint32_t headroom_;
};

}  // namespace sluice::device::grid
