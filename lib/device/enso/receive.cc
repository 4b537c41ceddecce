// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/receive.h"

#include <algorithm>

#include "device/enso/flit_copy.h"

namespace sluice::device::enso {

using namespace regs::enso;

uint32_t Receiver::Receive(std::span<const WireFrame> frames, bool pause) {
  uint32_t taken = 0;
  while (taken < frames.size()) {
    const auto rest = frames.subspan(taken);
    if (parts_.port.wedged()) [[unlikely]] {
      HoldForEver(rest);
      return static_cast<uint32_t>(frames.size());
    }
    const auto burst = rest.first(std::min<size_t>(rest.size(), kBurst));
    const uint32_t done = ReceiveBurst(burst, pause);
    taken += done;
    if (done < burst.size() && !parts_.port.wedged()) break;
  }
  return taken;
}

// The hot loop. Ends early if a frame must wait (`pause`) or wedges the engine.
// What it needs of the parts stands in locals: the copies may alias anything.
uint32_t Receiver::ReceiveBurst(std::span<const WireFrame> frames, bool pause) {
  const bool stamped = parts_.timestamper.enabled();
  Steer(frames, stamped);
  Pipe* const pipes = &parts_.registers.pipe(0);
  NotificationBuffer* const nbs = &parts_.registers.nb(0);
  const uint32_t mask = parts_.registers.pipe_mask();
  // Flit up to which a frame is written in one piece; none if it must be stamped.
  const uint32_t straight_end = stamped ? 0 : mask + 1;
  uint64_t bytes = 0;
  uint32_t refused = 0;
  uint32_t i = 0;
  for (; i < frames.size(); ++i) {
    const WireFrame& frame = frames[i];
    const uint32_t target = targets_[i];
    if (target >= kMaxPipes) [[unlikely]] {
      DropUnsteered(target);
      ++refused;
      continue;
    }
    Pipe& pipe = pipes[target];
    NotificationBuffer& nb = nbs[pipe.rx_mem & kPipeNbMask];
    const uint32_t length = frame.length;
    const uint32_t flits = Flits(length);
    const uint32_t tail = pipe.rx_tail & mask;
    // One flit always stays free: equal pointers mean empty.
    const uint32_t free_flits = (pipe.rx_head - tail - 1) & mask;
    if (pipe.ring != nullptr && nb.rx_mem != 0 && flits <= free_flits &&
        tail + flits <= straight_end) [[likely]] {
      CopyFrame(pipe.ring + uint64_t{tail} * kFlitBytes, frame.data, length);
    } else {
      const Outcome outcome = WriteUncommon(pipe, nb, frame, pause);
      if (outcome == Outcome::kWait) break;
      if (outcome == Outcome::kDropped) {
        ++refused;
        if (!parts_.port.wedged()) continue;
        ++i;
        break;
      }
    }
    pipe.rx_tail = (tail + flits) & mask;
    bytes += length;
    parts_.notifier.PacketAccepted(target, pipe, nb);
  }
  ForgetPlans(frames.size(), i);
  parts_.tally[Event::kRxFrames] += i - refused;
  parts_.tally[Event::kRxBytes] += bytes;
  return i;
}

// Frames from `begin` on were steered, but are not written in this burst.
void Receiver::ForgetPlans(size_t end, uint32_t begin) {
  for (uint32_t i = begin; i < end; ++i) {
    if (targets_[i] >= kMaxPipes) continue;
    Pipe& pipe = parts_.registers.pipe(targets_[i]);
    pipe.planned_tail = pipe.rx_tail;
  }
}

void Receiver::Steer(std::span<const WireFrame> frames, bool stamped) {
  constexpr uint32_t kCommonRange = kMaxRxFlits * kFlitBytes - Steering::kHeaderBytes;
  const uint32_t mask = parts_.registers.pipe_mask();
  Pipe* const pipes = &parts_.registers.pipe(0);
  Steering& steering = parts_.steering;
  for (uint32_t i = 0; i < frames.size(); ++i) {
    const WireFrame& frame = frames[i];
    const uint32_t length = frame.length;
    const bool common = length - Steering::kHeaderBytes <= kCommonRange && !stamped;
    const uint32_t target =
        common ? steering.Target(frame.data, length) : SteerUncommon(frame);
    targets_[i] = target;
    if (target >= kMaxPipes) [[unlikely]] continue;
    Pipe& pipe = pipes[target];
    const auto ring = reinterpret_cast<uintptr_t>(pipe.ring);
    const uint32_t tail = pipe.planned_tail;
    const uint32_t flits = Flits(length);
    pipe.planned_tail = tail + flits;
    PrefetchForWrite(ring + (tail & mask) * uintptr_t{kFlitBytes});
    if (flits == 1) continue;
    for (uint32_t flit = 1; flit < std::min(flits, kPrefetchFlits); ++flit) {
      PrefetchForWrite(ring + ((tail + flit) & mask) * uintptr_t{kFlitBytes});
    }
  }
}

// Frames whose header is not whole, or is rewritten before it is parsed.
uint32_t Receiver::SteerUncommon(const WireFrame& frame) {
  if (frame.length == 0) return kEmpty;
  if (frame.length > kMaxRxFlits * kFlitBytes) return kOversize;
  uint8_t flit[kFlitBytes];
  CopyLastFlit(flit, frame.data, std::min(frame.length, kFlitBytes));
  if (parts_.timestamper.enabled()) {
    parts_.timestamper.RewriteReceived(flit, parts_.clock.Cycles());
  }
  return parts_.steering.Target(flit, frame.length);
}

// A pipe that may not be written, a frame that wraps or is stamped, or a ring of
// which only parts may be reachable.
Receiver::Outcome Receiver::WriteUncommon(Pipe& pipe, const NotificationBuffer& nb,
                                          const WireFrame& frame, bool pause) {
  const uint32_t flits = Flits(frame.length);
  const bool enabled = Enabled(pipe, nb, flits);
  if (!enabled || FreeFlits(pipe) < flits) {
    if (enabled && pause) return Outcome::kWait;
    Drop(pipe, nb, flits);
    return Outcome::kDropped;
  }
  WriteFlitwise(pipe, frame, flits);
  if (parts_.timestamper.enabled()) RewriteStamp(pipe);
  return Outcome::kWritten;
}

void Receiver::WriteFlitwise(const Pipe& pipe, const WireFrame& frame, uint32_t flits) {
  for (uint32_t i = 0; i < flits; ++i) {
    const uint32_t offset = i * kFlitBytes;
    if (uint8_t* to = FlitAddress(pipe, pipe.rx_tail + i)) {
      CopyLastFlit(to, frame.data + offset, std::min(frame.length - offset, kFlitBytes));
    } else {
      ++parts_.tally[Event::kDmaFaults];
    }
  }
}

void Receiver::RewriteStamp(const Pipe& pipe) {
  if (uint8_t* flit = FlitAddress(pipe, pipe.rx_tail)) {
    parts_.timestamper.RewriteReceived(flit, parts_.clock.Cycles());
  }
}

uint8_t* Receiver::FlitAddress(const Pipe& pipe, uint32_t index) const {
  const uint64_t offset = uint64_t{index & parts_.registers.pipe_mask()} * kFlitBytes;
  if (pipe.ring != nullptr) return pipe.ring + offset;
  return parts_.dma.Translate((pipe.rx_mem & ~kPipeNbMask) + offset, kFlitBytes);
}

void Receiver::DropUnsteered(uint32_t target) {
  const Event event = target == kEmpty      ? Event::kRxEmpty
                      : target == kOversize ? Event::kRxOversize
                                            : Event::kRxNoFallback;
  ++parts_.tally[event];
}

void Receiver::Drop(Pipe& pipe, const NotificationBuffer& nb, uint32_t flits) {
  pipe.planned_tail = pipe.rx_tail;
  parts_.notifier.PacketDropped(pipe);
  if (Enabled(pipe, nb, flits)) {
    ++parts_.tally[Event::kRxPipeFull];
    return;
  }
  ++parts_.tally[pipe.rx_mem == 0 ? Event::kRxPipeDisabled : Event::kRxNbDisabled];
  // The engine skips only the first flit of what it may not write.
  if (flits > 1) parts_.port.Wedge();
}

// Behind a wedge the MAC goes on filling packet buffers, then drops; nothing presses
// back. Tails and status bits follow as if the frames were written.
void Receiver::HoldForEver(std::span<const WireFrame> frames) {
  for (const WireFrame& frame : frames) {
    if (!parts_.port.Hold()) {
      ++parts_.tally[Event::kRxNoPacketBuffer];
      continue;
    }
    const uint32_t target = SteerUncommon(frame);
    if (target >= kMaxPipes) continue;
    Pipe& pipe = parts_.registers.pipe(target);
    NotificationBuffer& nb = parts_.registers.nb_of(pipe);
    const uint32_t flits = Flits(frame.length);
    if (Enabled(pipe, nb, flits) && flits <= FreeFlits(pipe)) {
      pipe.rx_tail = (pipe.rx_tail + flits) & parts_.registers.pipe_mask();
      parts_.notifier.PacketAccepted(target, pipe, nb);
    } else {
      parts_.notifier.PacketDropped(pipe);
    }
  }
}

}  // namespace sluice::device::enso
