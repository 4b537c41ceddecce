// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/transmit.h"

#include <algorithm>

namespace sluice::device::enso {

using namespace regs::enso;

uint32_t Transmitter::Transmit(FrameSink& sink, uint32_t budget) {
  const uint64_t start = parts_.framer.frames();
  const uint64_t until = start + budget;
  // Slots without frames (configuration, faults) must not delay the caller for long.
  uint32_t slots_left = budget + kTxFetchMax;
  bool idle = false;
  if (!halted_) parts_.fetcher.FetchAhead();
  parts_.limiter.Allowance(parts_.clock.Cycles());
  while (!halted_ && slots_left != 0 && parts_.framer.frames() < until) {
    const Descriptor* slot = parts_.fetcher.Front();
    idle = slot == nullptr;
    if (idle) break;
    const Progress progress = Advance(*slot, until, sink);
    if (progress == Progress::kHeld) break;
    if (progress == Progress::kSlotDone) {
      Complete(*slot);
      parts_.fetcher.Pop();
      offset_ = 0;
      --slots_left;
    }
  }
  if (idle) parts_.limiter.Idle();
  parts_.framer.Flush(sink);
  return static_cast<uint32_t>(parts_.framer.frames() - start);
}

// Reads as much of the front slot as the framer and the rate limiter accept.
Transmitter::Progress Transmitter::Advance(const Descriptor& slot, uint64_t until,
                                           FrameSink& sink) {
  if (slot.config) return Progress::kSlotDone;
  const uint32_t length = slot.length;
  if (length == 0) [[unlikely]] {
    ++parts_.tally[Event::kTxZeroLength];
    halted_ = true;
    return Progress::kHeld;
  }
  if (slot.data == nullptr) [[unlikely]] {
    ++parts_.tally[Event::kDmaFaults];
    return Progress::kSlotDone;
  }
  if (parts_.framer.stuck()) [[unlikely]] {
    ++parts_.tally[Event::kTxOversize];
    halted_ = true;
    return Progress::kHeld;
  }
  const uint64_t passing = parts_.limiter.Allowance(parts_.clock.Cycles());
  if (passing == 0) return Progress::kHeld;
  const uint8_t* const data = slot.data + offset_;
  const uint32_t bytes = length - offset_;
  // While the last lines of a slot are read, lines of the next slot are already prefetched.
  uint32_t flits = Flits(bytes);
  uintptr_t ahead = kFlitsAhead * kFlitBytes;
  if (flits > kFlitsAhead) {
    flits -= kFlitsAhead;
  } else if (const Descriptor* const next = parts_.fetcher.Second(); next != nullptr) {
    ahead = reinterpret_cast<uintptr_t>(next->data) - reinterpret_cast<uintptr_t>(data);
  }
  flits = static_cast<uint32_t>(std::min<uint64_t>(flits, passing));
  const uint32_t taken =
      parts_.framer.Append(data, std::min(bytes, flits * kFlitBytes), ahead, until, sink);
  parts_.limiter.Pass(taken);
  offset_ = std::min(length, offset_ + taken * kFlitBytes);
  return offset_ == length ? Progress::kSlotDone : Progress::kMoreToRead;
}

// Overwrites the slot with its completion. For consecutive slots of the same buffer, the hardware
// increments the index of the previous completion and ignores the slot's real index.
void Transmitter::Complete(const Descriptor& slot) {
  const NotificationBuffer& nb = parts_.registers.nb(slot.nb);
  last_slot_ = slot.nb == last_nb_ ? (last_slot_ + 1) & parts_.registers.nb_mask() : slot.slot;
  last_nb_ = slot.nb;
  parts_.port.WriteSlot(nb.tx_ring, nb.tx_mem, last_slot_, kSignalNone, slot.word1, slot.length);
}

}  // namespace sluice::device::enso
