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
uint32_t Receiver::ReceiveBurst(std::span<const WireFrame> frames, bool pause) {
  Steer(frames);
  uint64_t accepted = 0;
  uint64_t bytes = 0;
  uint32_t i = 0;
  for (; i < frames.size() && !parts_.port.wedged(); ++i) {
    const WireFrame& frame = frames[i];
    const uint32_t target = targets_[i];
    if (target >= kMaxPipes) [[unlikely]] {
      DropUnsteered(target);
      continue;
    }
    Pipe& pipe = parts_.registers.pipe(target);
    NotificationBuffer& nb = parts_.registers.nb_of(pipe);
    const uint32_t flits = Flits(frame.length);
    const Room room = CheckRoom(pipe, nb, flits);
    if (room != Room::kEnough) [[unlikely]] {
      if (pause && room == Room::kFull) break;
      Drop(pipe, room, flits);
      continue;
    }
    Write(pipe, frame, flits);
    pipe.rx_tail = (pipe.rx_tail + flits) & parts_.registers.pipe_mask();
    parts_.notifier.PacketAccepted(target, pipe, nb);
    ++accepted;
    bytes += frame.length;
  }
  for (uint32_t left = i; left < frames.size(); ++left) {
    if (targets_[left] >= kMaxPipes) continue;
    Pipe& pipe = parts_.registers.pipe(targets_[left]);
    pipe.planned_tail = pipe.rx_tail;
  }
  parts_.tally[Event::kRxFrames] += accepted;
  parts_.tally[Event::kRxBytes] += bytes;
  return i;
}

void Receiver::Steer(std::span<const WireFrame> frames) {
  const bool stamped = parts_.timestamper.enabled();
  const uint32_t mask = parts_.registers.pipe_mask();
  for (uint32_t i = 0; i < frames.size(); ++i) {
    const WireFrame& frame = frames[i];
    const bool common = frame.length >= Steering::kHeaderBytes &&
                        frame.length <= kMaxRxFlits * kFlitBytes && !stamped;
    const uint32_t target = common ? parts_.steering.Target(frame.data, frame.length)
                                   : SteerUncommon(frame);
    targets_[i] = target;
    if (target >= kMaxPipes) [[unlikely]] continue;
    Pipe& pipe = parts_.registers.pipe(target);
    if (pipe.ring == nullptr) [[unlikely]] continue;
    const uint32_t flits = Flits(frame.length);
    for (uint32_t flit = 0; flit < std::min(flits, kPrefetchFlits); ++flit) {
      PrefetchForWrite(pipe.ring + ((pipe.planned_tail + flit) & mask) * uint64_t{kFlitBytes});
    }
    pipe.planned_tail += flits;
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

Receiver::Room Receiver::CheckRoom(const Pipe& pipe, const NotificationBuffer& nb,
                                   uint32_t flits) const {
  if (pipe.rx_mem == 0 || nb.rx_mem == 0) [[unlikely]] return Room::kDisabled;
  // One flit always stays free: equal pointers mean empty.
  const uint32_t free_flits = (pipe.rx_head - pipe.rx_tail - 1) & parts_.registers.pipe_mask();
  return free_flits < flits ? Room::kFull : Room::kEnough;
}

void Receiver::Write(const Pipe& pipe, const WireFrame& frame, uint32_t flits) {
  const uint32_t mask = parts_.registers.pipe_mask();
  const uint32_t tail = pipe.rx_tail & mask;
  if (pipe.ring != nullptr && tail + flits <= mask + 1) [[likely]] {
    CopyFrame(pipe.ring + uint64_t{tail} * kFlitBytes, frame.data, frame.length);
  } else {
    WriteFlitwise(pipe, frame, flits);
  }
  if (parts_.timestamper.enabled()) [[unlikely]] RewriteStamp(pipe);
}

// A frame that wraps, or a ring of which only parts may be reachable.
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

void Receiver::Drop(Pipe& pipe, Room room, uint32_t flits) {
  pipe.planned_tail = pipe.rx_tail;
  parts_.notifier.PacketDropped(pipe);
  if (room == Room::kFull) {
    ++parts_.tally[Event::kRxPipeFull];
    return;
  }
  ++parts_.tally[pipe.rx_mem == 0 ? Event::kRxPipeDisabled : Event::kRxNbDisabled];
  // The engine skips only the first flit of what it may not write.
  if (flits > 1) parts_.port.Wedge();
}

// The MAC goes on filling packet buffers, then drops; nothing presses back.
void Receiver::HoldForEver(std::span<const WireFrame> frames) {
  uint64_t& stuck = parts_.tally[Event::kRxStuck];
  const uint64_t held = std::min<uint64_t>(frames.size(), kPacketBuffers - stuck);
  stuck += held;
  parts_.tally[Event::kRxNoPacketBuffer] += frames.size() - held;
}

}  // namespace sluice::device::enso
