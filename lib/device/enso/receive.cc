// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/receive.h"

#include <algorithm>
#include <cstddef>

#include "device/enso/flit_copy.h"
#include "packet/bytes.h"

namespace sluice::device::enso {

using namespace regs::enso;

namespace {

constexpr uint32_t kMaxRxBytes = kMaxRxFlits * kFlitBytes;

/// Returns whether the frame contains a complete header and is not longer than the NIC accepts.
bool IsPlain(uint32_t length) {
  return length - Steering::kHeaderBytes <= kMaxRxBytes - Steering::kHeaderBytes;
}

/// Returns whether IsPlain is true for all frames. Compares eight lengths at once.
bool AllPlain(std::span<const WireFrame> frames) {
  using Words [[gnu::vector_size(32)]] = uint32_t;  // Two frames, each with its length in word 2.
  static_assert(2 * sizeof(WireFrame) == sizeof(Words) && offsetof(WireFrame, length) == 8);
  const auto words = [](const WireFrame* two) {
    return packet::Load<Words>(reinterpret_cast<const uint8_t*>(two));
  };
  const auto lengths = [&words](const WireFrame* four) {
    return __builtin_shufflevector(words(four), words(four + 2), 2, 3, 10, 11, 6, 7, 14, 15);
  };
  Words odd{};
  size_t i = 0;
  for (; i + 8 <= frames.size(); i += 8) {
    const Words eight = __builtin_shufflevector(lengths(&frames[i]), lengths(&frames[i + 4]), 0, 2,
                                                8, 10, 4, 6, 12, 14);
    odd |= reinterpret_cast<Words>(eight - Steering::kHeaderBytes >
                                   kMaxRxBytes - Steering::kHeaderBytes);
  }
  uint32_t any = 0;
  for (uint32_t lane = 0; lane < 8; ++lane) any |= odd[lane];
  for (; i < frames.size(); ++i) any |= !IsPlain(frames[i].length);
  return any == 0;
}

}  // namespace

uint32_t Receiver::Receive(std::span<const WireFrame> frames, bool pause) {
  const bool stamped = parts_.timestamper.enabled();
  const bool plain = !stamped && AllPlain(frames);
  uint32_t taken = 0;
  while (taken < frames.size()) {
    const auto rest = frames.subspan(taken);
    if (parts_.port.wedged()) [[unlikely]] {
      HoldForEver(rest);
      return static_cast<uint32_t>(frames.size());
    }
    const auto burst = rest.first(std::min<size_t>(rest.size(), kBurst));
    const bool all_plain = plain || (!stamped && AllPlain(burst));
    const uint32_t done = ReceiveBurst(burst, pause, stamped, all_plain);
    taken += done;
    if (done < burst.size() && !parts_.port.wedged()) break;
  }
  return taken;
}

// Receives one burst. Ends early if a frame must wait (`pause`) or a frame wedges the engine.
uint32_t Receiver::ReceiveBurst(std::span<const WireFrame> frames, bool pause, bool stamped,
                                bool all_plain) {
  const uint32_t count = static_cast<uint32_t>(frames.size());
  uint32_t plain = count;  // Number of leading frames that are plain.
  if (all_plain) [[likely]] {
    parts_.steering.Targets(frames, targets_.data());
  } else {
    plain = SteerUncommon(frames, stamped);
  }
  uint64_t bytes = 0;
  uint32_t refused = 0;
  uint32_t i = 0;
  for (;;) {
    i = WritePlain(frames.data(), i, plain, bytes);
    if (i == count) break;
    const Outcome outcome = ReceiveUncommon(targets_[i], frames[i], pause, stamped);
    if (outcome == Outcome::kWait) break;
    if (outcome == Outcome::kWritten) {
      bytes += frames[i].length;
    } else {
      ++refused;
    }
    ++i;
    if (parts_.port.wedged()) break;
  }
  parts_.tally[Event::kRxFrames] += i - refused;
  parts_.tally[Event::kRxBytes] += bytes;
  return i;
}

// The hot loop: writes frames `i` … `end` - 1 of the burst and stops at the first one that exceeds
// its pipe's limit. State is kept in local variables, because the compiler must assume that the
// copied bytes alias the members.
inline uint32_t Receiver::WritePlain(const WireFrame* frames, uint32_t i, uint32_t end,
                                     uint64_t& bytes) {
  Pipe* const pipes = &parts_.registers.pipe(0);
  uint64_t written = 0;
  for (; i < end; ++i) {
    const WireFrame frame = frames[i];
    Pipe& pipe = pipes[targets_[i]];
    const uint32_t tail = pipe.rx_tail;
    const uint32_t next = tail + Flits(frame.length);
    if (next > pipe.limit) [[unlikely]]
      break;
    pipe.rx_tail = next;
    CopyFrame(pipe.ring + uint64_t{tail} * kFlitBytes, frame.data, frame.length);
    written += frame.length;
  }
  bytes += written;
  return i;
}

// Steers all frames. Returns the number of leading frames that are plain and need no timestamp.
uint32_t Receiver::SteerUncommon(std::span<const WireFrame> frames, bool stamped) {
  uint32_t plain = 0;
  for (uint32_t i = 0; i < frames.size(); ++i) {
    targets_[i] = SteerUncommon(frames[i]);
    if (plain == i && !stamped && IsPlain(frames[i].length)) ++plain;
  }
  return plain;
}

// Steers a frame of any length, with its timestamp rewritten if timestamping is enabled.
uint32_t Receiver::SteerUncommon(const WireFrame& frame) {
  if (frame.length == 0) return kEmpty;
  if (frame.length > kMaxRxBytes) return kOversize;
  uint8_t flit[kFlitBytes];
  CopyLastFlit(flit, frame.data, std::min(frame.length, kFlitBytes));
  if (parts_.timestamper.enabled()) {
    parts_.timestamper.RewriteReceived(flit, parts_.clock.Cycles());
  }
  return parts_.steering.Target(flit, frame.length);
}

// Handles one frame that the hot loop cannot write: its pipe is missing, disabled or full; its ring
// is only partly reachable; or the frame needs a notification, wraps around, is timestamped or is
// not plain.
Receiver::Outcome Receiver::ReceiveUncommon(uint32_t target, const WireFrame& frame, bool pause,
                                            bool stamped) {
  if (target >= kMaxPipes) {
    DropUnsteered(target);
    return Outcome::kDropped;
  }
  Pipe& pipe = parts_.registers.pipe(target);
  NotificationBuffer& nb = parts_.registers.nb_of(pipe);
  const uint32_t flits = Flits(frame.length);
  const bool enabled = Enabled(pipe, nb, flits);
  if (!enabled || parts_.registers.FreeFlits(pipe) < flits) {
    if (enabled && pause) return Outcome::kWait;
    Drop(pipe, nb, flits);
    return Outcome::kDropped;
  }
  const bool written = nb.rx_mem != 0;
  if (written) Write(pipe, frame, flits, stamped);
  pipe.rx_tail = (pipe.rx_tail + flits) & parts_.registers.pipe_mask();
  parts_.notifier.PacketAccepted(target, pipe, nb);
  parts_.registers.UpdateLimit(pipe);
  if (written) return Outcome::kWritten;
  // The tail has advanced over a flit that the DMA engine skips.
  ++parts_.tally[Event::kRxNbDisabled];
  return Outcome::kDropped;
}

void Receiver::Write(const Pipe& pipe, const WireFrame& frame, uint32_t flits, bool stamped) {
  const uint32_t tail = pipe.rx_tail & parts_.registers.pipe_mask();
  if (pipe.ring != nullptr && !stamped && tail + flits <= parts_.registers.pipe_mask() + 1 &&
      frame.length >= sizeof(HalfFlit)) {
    CopyFrame(pipe.ring + uint64_t{tail} * kFlitBytes, frame.data, frame.length);
    return;
  }
  WriteFlitwise(pipe, frame, flits);
  if (stamped) RewriteStamp(pipe);
}

void Receiver::WriteFlitwise(const Pipe& pipe, const WireFrame& frame, uint32_t flits) {
  for (uint32_t i = 0; i < flits; ++i) {
    const uint32_t offset = i * kFlitBytes;
    if (uint8_t* to = FlitAddress(pipe, pipe.rx_tail + i)) {
      CopyLastFlit(to, frame.data + offset, std::min(frame.length - offset, kFlitBytes));
      parts_.dma.Stored(to, kFlitBytes);
    } else {
      ++parts_.tally[Event::kDmaFaults];
    }
  }
}

void Receiver::RewriteStamp(const Pipe& pipe) {
  if (uint8_t* flit = FlitAddress(pipe, pipe.rx_tail)) {
    parts_.timestamper.RewriteReceived(flit, parts_.clock.Cycles());
    parts_.dma.Stored(flit, kFlitBytes);
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
  parts_.notifier.PacketDropped(pipe);
  if (Enabled(pipe, nb, flits)) {
    ++parts_.tally[Event::kRxPipeFull];
    return;
  }
  ++parts_.tally[pipe.rx_mem == 0 ? Event::kRxPipeDisabled : Event::kRxNbDisabled];
  // For a frame that must not be written, the engine can skip only the first flit; further flits
  // wedge it.
  if (flits > 1) parts_.port.Wedge();
}

// Handles frames while the engine is wedged: the MAC fills the packet buffers, then drops frames
// without back pressure. Tails and status bits advance as if the frames were written.
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
    if (Enabled(pipe, nb, flits) && flits <= parts_.registers.FreeFlits(pipe)) {
      pipe.rx_tail = (pipe.rx_tail + flits) & parts_.registers.pipe_mask();
      parts_.notifier.PacketAccepted(target, pipe, nb);
    } else {
      parts_.notifier.PacketDropped(pipe);
    }
  }
}

}  // namespace sluice::device::enso
