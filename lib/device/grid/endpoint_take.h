// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the lines that a host has returned to an endpoint on a card, finds the frames in their
// records and passes them to the wire. Each byte is read only once, into card memory; all checks
// use this copy.
#pragma once

#include <cstdint>

#include "coherent/frames.h"
#include "device/grid/endpoint_batch.h"
#include "device/grid/ipu_sent.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

class EndpointTaker {
 public:
  EndpointTaker(IpuCard& card, const IpuEndpoint& endpoint, const Team& team,
                EndpointMemory& memory, IpuSentMemory& sent, const EndpointState& state,
                EndpointCopies& copies, const WireShape& shape, uint8_t* staging)
      : card_(card),
        endpoint_(endpoint),
        team_(team),
        memory_(memory),
        sent_(sent),
        state_(state),
        copies_(copies),
        shape_(shape),
        staging_(staging) {}

  /// Reads the returned lines, receive pair first. After that, the NIC may write to them.
  void Take() {
    team_.One([&] { memory_.frames = 0; });
    Take(coherent::Pair::kReceive);
    Take(coherent::Pair::kTransmit);
  }

  /// Sends the frames in the lines that were read.
  void Send() {
    const uint32_t frames = memory_.frames;
    for (uint32_t first = 0; first < frames;) first += Send(first, frames - first);
    const uint64_t bytes =
        team_.Sum(frames, [&](uint32_t i) -> uint64_t { return memory_.bytes[i]; });
    team_.Lead([&] {
      Add(&card_.counters[Crossing::kPayloadFromHost], bytes);
      if (crossed_ > bytes) Add(&card_.counters[Crossing::kDescriptors], crossed_ - bytes);
    });
  }

 private:
  /// Number of payload bytes of a transmit line that are read together with its control word,
  /// before its length is known.
  static constexpr uint32_t kGuess = 4096;

  const uint8_t* Payload(coherent::Pair pair) const {
    return copies_.lines[static_cast<uint32_t>(pair)] + kLinePayload;
  }

  void Take(coherent::Pair pair) {
    using namespace coherent;
    const EndpointTake take = memory_.takes[static_cast<uint32_t>(pair)];
    if (take.taken == 0) return;
    const uint32_t capacity = state_.geometry.LineCapacity();
    const uint32_t guess =
        take.orphan != 0 ? 0 : Least(pair == Pair::kReceive ? take.bytes : kGuess, capacity);
    const uint32_t first = Read(pair, take.number, 0, guess);
    const coherent::Control control = coherent::Control::Of(
        *reinterpret_cast<const uint64_t*>(copies_.lines[static_cast<uint32_t>(pair)]));
    const uint32_t room = control.in_buffer ? 0 : capacity;
    const bool valid = control.number == static_cast<uint32_t>(take.number) &&
                       coherent::IsReturn(control.kind) && control.length <= room;
    if (valid && control.kind == Kind::kNoReply) return;
    if (!valid || control.kind != Kind::kFrames) {
      return team_.Lead([&] { card_.Count(regs::ipu::kStatLineBadRecord); });
    }
    if (take.orphan != 0) {
      return team_.Lead([&] { card_.Count(regs::ipu::kStatLineOrphans, control.count); });
    }
    if (control.length > guess) Read(pair, take.number, first, control.length);
    Walk(pair, take, control.length, control.count);
    Collect(pair, control.length);
  }

  /// Copies a line from its 16-byte unit `first` up to the end of its `payload` payload bytes.
  /// Returns the end.
  uint32_t Read(coherent::Pair pair, uint64_t number, uint32_t first, uint32_t payload) {
    const uint8_t* const line = state_.Line(pair, number);
    uint8_t* const to = copies_.lines[static_cast<uint32_t>(pair)];
    const auto end =
        static_cast<uint32_t>((kLinePayload + payload + sizeof(Quad) - 1) / sizeof(Quad));
    if (end <= first) return first;
    crossed_ += uint64_t{end - first} * sizeof(Quad);
    team_.Copy(
        end - first, [&](uint32_t i) { return LoadQuad(line + (first + i) * sizeof(Quad)); },
        [&](uint32_t i, Quad quad) {
          *reinterpret_cast<Quad*>(to + (first + i) * sizeof(Quad)) = quad;
        });
    return end;
  }

  /// Lists the valid records of a line and counts an invalid one, as coherent::FrameWalker does. If
  /// the host has kept the strides, the positions of all records are known: the strides are those
  /// that the card wrote or, in a granted line, all equal. Otherwise one thread walks the records.
  void Walk(coherent::Pair pair, const EndpointTake& take, uint32_t length, uint32_t count) {
    using coherent::Record;
    constexpr uint32_t kUnknown = ~0u;
    const uint8_t* const payload = Payload(pair);
    const auto head = [payload](uint32_t at) {
      return *reinterpret_cast<const uint64_t*>(payload + at);
    };
    const uint32_t stride = length >= coherent::kRecordBytes ? Record::Of(head(0)).stride : 0;
    const auto expected = [&](uint32_t i) -> uint32_t {
      if (pair == coherent::Pair::kTransmit) return i * stride;
      return i < take.frames ? 8u * Load(&endpoint_.places[take.number & 1][i]) : kUnknown;
    };
    const auto is_sound = [&](Record record, uint32_t at) {
      return record.Sound() && record.stride <= length - at;
    };
    const uint64_t others = team_.Sum(count, [&](uint32_t i) -> uint64_t {
      const uint32_t at = expected(i);
      if (at % 8 != 0 || at >= length || length - at < coherent::kRecordBytes) return 1;
      const uint64_t word = head(at);
      const Record record = Record::Of(word);
      memory_.records[i] = word;
      memory_.places[i] = at;
      if (!is_sound(record, at)) return 1;
      return i + 1 == count || at + record.stride == expected(i + 1) ? 0 : 1;
    });
    team_.One([&] {
      memory_.walked = count;
      if (others == 0) return;
      uint32_t at = 0;
      for (uint32_t i = 0; i < count; ++i) {
        const bool inside = length - at >= coherent::kRecordBytes;
        if (inside) memory_.records[i] = head(at);
        memory_.places[i] = at;
        if (!inside || !is_sound(Record::Of(memory_.records[i]), at)) {
          memory_.walked = i;
          return card_.Count(regs::ipu::kStatLineBadRecord);
        }
        at += Record::Of(memory_.records[i]).stride;
      }
    });
  }

  /// Appends the frames of the listed records to those to be sent.
  void Collect(coherent::Pair pair, uint32_t length) {
    using coherent::Record;
    const uint8_t* const payload = Payload(pair);
    const uint32_t walked = memory_.walked, frames = memory_.frames;
    team_.ForEach(walked, [&](uint32_t i) {
      Record record = Record::Of(memory_.records[i]);
      uint32_t at = memory_.places[i];
      if (record.length == 0 && record.flags != 0) {
        at = 8u * record.flags;
        record = {};
        if (at + coherent::kRecordBytes <= length) {
          record = Record::Of(*reinterpret_cast<const uint64_t*>(payload + at));
        }
        if (!record.Sound() || record.stride > length - at) record.length = 0;
        if (record.length == 0) card_.Count(regs::ipu::kStatLineBadRecord);
      }
      memory_.sizes[i] = record.length;
      memory_.origins[i] = at + record.offset;
      memory_.before[i] = record.length != 0 ? 1 : 0;
    });
    const uint32_t found = team_.ScanExclusive(memory_.before, walked);
    team_.ForEach(walked, [&](uint32_t i) {
      if (memory_.sizes[i] == 0) return;
      const uint32_t frame = frames + memory_.before[i];
      memory_.bytes[frame] = memory_.sizes[i];
      memory_.sources[frame] = payload + memory_.origins[i];
    });
    team_.One([&] { memory_.frames = frames + found; });
  }

  /// Sends as many of `count` frames, starting at `first`, as fit into the staging memory. Returns
  /// their number.
  uint32_t Send(uint32_t first, uint32_t count) {
    team_.ForEach(count, [&](uint32_t i) {
      sent_.lengths[i] = static_cast<uint16_t>(memory_.bytes[first + i]);
    });
    IpuSent sent(card_, shape_, team_, sent_, staging_);
    sent.Measure(count);
    sent.Read([&](uint32_t i, uint32_t offset) {
      return LoadAcross(memory_.sources[first + i] + offset,
                        Least(memory_.bytes[first + i] - offset, sizeof(Quad)));
    });
    sent.Check();
    return sent.frames();
  }

  IpuCard& card_;
  const IpuEndpoint& endpoint_;
  const Team& team_;
  EndpointMemory& memory_;
  IpuSentMemory& sent_;
  const EndpointState& state_;
  EndpointCopies& copies_;
  const WireShape& shape_;
  uint8_t* const staging_;  ///< Memory of kIpuStagingBytes bytes.
  uint64_t crossed_ = 0;    ///< Bytes of lines that were read.
};

}  // namespace sluice::device::grid
