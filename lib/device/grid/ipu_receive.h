// SPDX-License-Identifier: BSD-3-Clause
//
// The receive path of the packetized NIC on a card: a block gets a batch of frames from the wire,
// steers the frames, sorts them by queue, reserves descriptors in each queue, reads the
// descriptors, copies the frames to their buffers and completes the descriptors. Several blocks run
// in parallel; they reserve and complete in batch order.
#pragma once

#include <cstdint>

#include "device/grid/ipu_batch.h"
#include "device/grid/ipu_fifo.h"
#include "device/grid/ipu_reserve.h"
#include "device/grid/ipu_sort.h"
#include "device/grid/ipu_steer.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"
#include "device/grid/wire.h"

namespace sluice::device::grid {

class IpuReceiver : private IpuReservation {
 public:
  /// Creates receive block `block` of `blocks`.
  IpuReceiver(IpuCard& card, const Team& team, IpuReceiveMemory& memory, uint32_t block,
              uint32_t blocks)
      : IpuReservation(card, team, memory), block_(block), blocks_(blocks) {}

  /// Fetches a batch and delivers it. Returns false if it is another block's turn or no frame is
  /// due.
  bool Turn() {
    team_.One([&] {
      memory_.seen = Load(&card_.config);
      memory_.batch = FetchBatch(card_, wire_, shape_, block_, blocks_);
    });
    batch_ = memory_.batch;
    const uint32_t config = memory_.seen;
    team_.Sync();
    if (batch_.count == 0) return false;
    Phases phases(card_, team_, Phase::kReceiveSteer);
    if (config != memory_.config) LoadSettings(config);
    const bool delivers = Delivers();
    if (delivers) Prepare();
    phases.Next(Phase::kReceiveReserve);
    team_.One([&] {
      AwaitTurn(&wire_.reserved, batch_.ticket);
      // The register block changes IpuCard::config before it reads how many batches have been
      // fetched, and this batch was counted before Look reads IpuCard::config.
      FenceCard();
    });
    const uint32_t count = delivers ? Reserve() : 0;
    team_.Aside([&] { EndReserve(count); });
    phases.Next(Phase::kReceiveCopy);
    if (count != 0) Fill(count);
    phases.Next(Phase::kReceivePublish);
    team_.One([&] { AwaitTurn(&wire_.published, batch_.ticket); });
    if (count != 0) Complete();
    team_.One([&] { EndPublish(wire_, shape_, batch_, count); });
    phases.End();
    if (count != 0) Account();
    return true;
  }

 private:
  static constexpr uint32_t kParts = kFlitBytes / sizeof(Quad);

  /// Returns whether frames are processed now, even if only to count them as drops.
  bool Delivers() const {
    using namespace regs::ipu;
    return memory_.config % 2 == 0 && batch_.count <= settings_.batch_frames &&
           (shape_.pause == 0 || (settings_.port[kPortControl / 4] & kPortReceive) != 0);
  }

  void LoadSettings(uint32_t config) {
    const auto* const from = reinterpret_cast<const uint32_t*>(&card_.settings);
    auto* const to = reinterpret_cast<uint32_t*>(&memory_.settings);
    team_.ForEach(kTeamThreads, [&](uint32_t) { FenceCard(); });
    team_.ForEach(sizeof(IpuSettings) / sizeof(uint32_t),
                  [&](uint32_t i) { to[i] = Load(&from[i]); });
    team_.One([&] {
      memory_.config = config;
      if (config % 2 == 0) memory_.shape.batch_frames = memory_.settings.batch_frames;
    });
  }

  /// Steers the frames, sorts them by queue, and adds up the descriptors and flits that they need.
  void Prepare() {
    team_.ForEach(batch_.count, [&](uint32_t i) {
      const RingFrame ring_frame = shape_.frames[EntryOf(shape_, batch_, i)];
      Stamp(shape_, batch_, i, ring_frame);
      const CardFrame frame = {shape_.data + uint64_t{ring_frame.flit} * kFlitBytes,
                               ring_frame.length};
      memory_.sources[i] = ring_frame.flit;
      const Steered steered = Steer(settings_, frame);
      memory_.lengths[i] = static_cast<uint16_t>(frame.length);
      memory_.hashes[i] = steered.hash;
      memory_.words[i] = steered.word;
      memory_.queues[i] = static_cast<uint8_t>(steered.queue);
    });
    SortByQueue(team_, batch_.count, memory_.queues, memory_.counts, memory_.starts,
                memory_.arrivals);
    const uint32_t steered = ForQueues();
    if (settings_.segments == 1) {
      team_.ForEach(steered + 1, [&](uint32_t i) { memory_.needs[i] = static_cast<uint16_t>(i); });
    } else {
      team_.ForEach(steered, [&](uint32_t i) {
        const uint32_t arrival = memory_.arrivals[i];
        memory_.before[i] = Segments(memory_.queues[arrival], memory_.lengths[arrival]);
      });
      const uint32_t all = team_.ScanExclusive(memory_.before, steered);
      team_.ForEach(steered + 1, [&](uint32_t i) {
        memory_.needs[i] = static_cast<uint16_t>(i == steered ? all : memory_.before[i]);
      });
    }
    team_.ForEach(steered, [&](uint32_t i) {
      memory_.before[i] = Flits(memory_.lengths[memory_.arrivals[i]]);
    });
    flits_ = team_.ScanExclusive(memory_.before, steered);
  }

  /// Marks the frames that are not delivered because they were dropped or put back.
  void MarkLeft(uint32_t count) {
    if (memory_.left == 0) return;
    team_.ForEach(batch_.count, [&](uint32_t i) {
      if (memory_.queues[i] == kIpuDropped && i >= count) memory_.queues[i] = kLeft;
    });
    team_.ForEach(ForQueues(), [&](uint32_t i) {
      const uint32_t arrival = memory_.arrivals[i], queue = memory_.queues[arrival];
      const uint32_t end = memory_.needs[i + 1] - memory_.needs[memory_.starts[queue]];
      if (end <= memory_.taken[queue] && arrival < count) return;
      memory_.queues[arrival] = arrival < count ? static_cast<uint8_t>(kIpuDropped) : kLeft;
      memory_.words[arrival] = IsLinked(queue)   ? regs::ipu::kStatRxNoRegion
                               : IsOnCard(queue) ? regs::ipu::kStatRxNoLine
                                                 : regs::ipu::kStatRxNoDescriptor;
    });
  }

  /// Calls f(sorted frame, arrival index, queue, first descriptor) for each frame that is
  /// delivered, in any order.
  template <typename F>
  void ForDelivered(F f) const {
    team_.ForEach(ForQueues(), [&](uint32_t i) {
      const uint32_t arrival = memory_.arrivals[i], queue = QueueOf(arrival);
      if (queue >= kIpuQueues) return;
      f(i, arrival, queue,
        memory_.bases[queue] + memory_.needs[i] - memory_.needs[memory_.starts[queue]]);
    });
  }

  /// Copies the first `count` frames into the buffers of their descriptors.
  void Fill(uint32_t count) {
    MarkLeft(count);
    ReadDescriptors();
    Copy();
  }

  void ReadDescriptors() {
    team_.ForEach(ForQueues(), [&](uint32_t i) {
      const uint32_t flits = Flits(memory_.lengths[memory_.arrivals[i]]);
      for (uint32_t flit = 0; flit < flits; ++flit) {
        memory_.owners[memory_.before[i] + flit] = static_cast<uint16_t>(i);
      }
    });
    ForDelivered([&](uint32_t i, uint32_t arrival, uint32_t queue, uint32_t descriptor) {
      if (IsLinked(queue)) {
        memory_.buffers[memory_.needs[i]] =
            reinterpret_cast<uint64_t>(Spans(queue).Place(i, memory_.lengths[arrival]));
        return;
      }
      const uint32_t room = settings_.rings[queue].room;
      const uint32_t segments = memory_.needs[i + 1] - memory_.needs[i];
      const RingPlace ring = Ring(queue);
      for (uint32_t segment = 0; segment < segments; ++segment) {
        uint8_t* const buffer =
            IsOnCard(queue) ? CardFifo(card_, queue).Slot(descriptor & (ring.entries() - 1))
                            : memory_.dma.Translate(
                                  card_.dma, LoadQuad(ring.At(descriptor + segment)).low, room);
        memory_.buffers[memory_.needs[i] + segment] = reinterpret_cast<uint64_t>(buffer);
        if (buffer == nullptr) memory_.queues[arrival] = static_cast<uint8_t>(queue | kFault);
      }
    });
  }

  void Copy() {
    team_.Copy(
        flits_ * kParts,
        [&](uint32_t part) {
          const uint32_t flit = part / kParts, i = memory_.owners[flit];
          const uint8_t* const data =
              shape_.data +
              (uint64_t{memory_.sources[memory_.arrivals[i]]} + flit - memory_.before[i]) *
                  kFlitBytes;
          return LoadQuad(data + part % kParts * sizeof(Quad));
        },
        [&](uint32_t part, Quad quad) {
          const uint32_t flit = part / kParts, i = memory_.owners[flit];
          const uint32_t arrival = memory_.arrivals[i], queue = memory_.queues[arrival];
          if (queue >= kIpuQueues) return;
          const auto offset = static_cast<uint32_t>((flit - memory_.before[i]) * kFlitBytes +
                                                    part % kParts * sizeof(Quad));
          if (offset < memory_.lengths[arrival]) StorePart(i, arrival, queue, offset, quad);
        });
    team_.FenceStores(flits_ * kParts);
  }

  /// Stores 16 bytes of a frame, `offset` bytes from its beginning.
  void StorePart(uint32_t i, uint32_t arrival, uint32_t queue, uint32_t offset, Quad quad) {
    const uint32_t room = settings_.rings[queue].room;
    uint32_t segment = 0;
    if (offset >= room) {
      segment = offset / room;
      offset -= segment * room;
    }
    const uint64_t* const buffers = &memory_.buffers[memory_.needs[i] + segment];
    uint8_t* const to = reinterpret_cast<uint8_t*>(buffers[0]) + offset;
    if (offset + sizeof(Quad) <= room && reinterpret_cast<uintptr_t>(to) % sizeof(Quad) == 0) {
      return StoreQuad(to, quad);
    }
    const uint32_t bytes = memory_.lengths[arrival] - segment * room - offset;
    StoreBytes(buffers, room, offset, quad.low, quad.high,
               bytes < sizeof(Quad) ? bytes : sizeof(Quad));
  }
  /// Stores bytes of a frame that are unaligned in memory or span two buffers.
  [[gnu::noinline]] static void StoreBytes(const uint64_t* buffers, uint32_t room, uint32_t offset,
                                           uint64_t low, uint64_t high, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i) {
      const bool next = offset + i >= room;
      auto* const to = reinterpret_cast<uint8_t*>(buffers[next ? 1 : 0]);
      Store(&to[offset + i - (next ? room : 0)],
            static_cast<uint8_t>((i < 8 ? low : high) >> 8 * (i % 8)));
    }
  }

  /// Completes the descriptors of the batch in any order, then advances the heads of their rings.
  /// Batches advance the heads in ticket order.
  void Complete() {
    using namespace regs::ipu;
    ForDelivered([&](uint32_t i, uint32_t arrival, uint32_t queue, uint32_t descriptor) {
      if (IsLinked(queue)) return;
      const bool fault = (memory_.queues[arrival] & kFault) != 0;
      const uint32_t length = memory_.lengths[arrival], room = settings_.rings[queue].room;
      const uint32_t segments = memory_.needs[i + 1] - memory_.needs[i];
      const uint32_t word = memory_.words[arrival];
      uint64_t low = memory_.hashes[arrival];
      uint64_t high = uint64_t{word & 0xffff} << kRxClassShift | uint64_t{word >> 16}
                                                                     << kRxFlagsShift;
      for (uint32_t segment = 0; segment < segments; ++segment, low = high = 0) {
        const bool last = segment + 1 == segments;
        const uint32_t bytes = last ? length - segment * room : room;
        high |= kDone | bytes | (last ? kRxEndOfPacket : 0);
        if (fault) {
          low = 0;
          high = kDone | kRxEndOfPacket;
        }
        PublishQuadHighLast(Ring(queue).At(descriptor + segment), {low, high});
      }
    });
    team_.ForEach(kIpuQueues, [&](uint32_t queue) {
      if (!HasFrames(queue)) return;
      if (IsLinked(queue)) {
        Spans(queue).Publish(memory_.starts[queue] + memory_.taken[queue]);
      } else {
        // Publishes the lengths in descriptors on the card (FifoEnd).
        StoreRelease(&card_.rx[queue].head, memory_.bases[queue] + memory_.taken[queue]);
      }
    });
  }

  void Account() {
    const auto sum = [&](auto of) {
      return team_.Sum(batch_.count, [&](uint32_t i) -> uint64_t {
        return memory_.queues[i] < kIpuQueues ? of(i) : 0;
      });
    };
    const uint64_t frames = sum([](uint32_t) { return 1; });
    // The upper half is the number of bytes that stay on the card.
    const uint64_t both = sum([&](uint32_t i) {
      const uint64_t length = memory_.lengths[i];
      return IsOnCard(memory_.queues[i]) ? length | length << 32 : length;
    });
    const uint64_t bytes = both & ~uint32_t{0}, kept = both >> 32;
    if (frames != batch_.count) {
      team_.ForEach(batch_.count, [&](uint32_t i) {
        const uint8_t queue = memory_.queues[i];
        if (queue == kIpuDropped) card_.Count(static_cast<regs::ipu::Statistic>(memory_.words[i]));
        if ((queue & kFault) != 0) card_.Count(regs::ipu::kStatRxDmaFault);
      });
    }
    team_.One([&] {
      uint64_t descriptors = 0, entries = 0;
      for (uint32_t queue = 0; queue < kIpuQueues; ++queue) {
        if (!HasFrames(queue) || IsOnCard(queue)) continue;
        (IsLinked(queue) ? entries : descriptors) += memory_.taken[queue];
      }
      card_.Count(regs::ipu::kStatRxFrames, frames);
      card_.Count(regs::ipu::kStatRxBytes, bytes);
      Add(&card_.counters[Crossing::kPayloadToHost], bytes - kept);
      Add(&card_.counters[Crossing::kDescriptors], descriptors * regs::ipu::kDescriptorBytes);
      Add(&card_.counters[Crossing::kNotifications],
          descriptors * regs::ipu::kDescriptorBytes + entries * sizeof(swap::Entry));
    });
  }

  const uint32_t block_, blocks_;
  uint32_t flits_ = 0;
};

}  // namespace sluice::device::grid
