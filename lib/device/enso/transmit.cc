// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/transmit.h"

#include <algorithm>

namespace sluice::device::enso {

using namespace regs::enso;

uint32_t Transmitter::Transmit(FrameSink& sink, uint32_t budget) {
  const uint64_t start = parts_.framer.frames();
  // Slots without frames (configuration, faults) must not hold the caller for long.
  uint32_t slots_left = budget + kTxFetchMax;
  bool idle = false;
  if (!halted_) parts_.fetcher.FetchAhead();
  parts_.limiter.Allowance(parts_.clock.Cycles());
  while (!halted_ && slots_left != 0 && parts_.framer.frames() - start < budget) {
    const Descriptor* slot = parts_.fetcher.Front();
    idle = slot == nullptr;
    if (idle) break;
    const Progress progress = Advance(*slot, sink);
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

// Moves as much of the front slot as framer and rate limiter let pass.
Transmitter::Progress Transmitter::Advance(const Descriptor& slot, FrameSink& sink) {
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
  const uint32_t room = parts_.framer.Room();
  if (room == 0) [[unlikely]] {
    ++parts_.tally[Event::kTxOversize];
    halted_ = true;
    return Progress::kHeld;
  }
  const uint64_t passing =
      std::min<uint64_t>(room, parts_.limiter.Allowance(parts_.clock.Cycles()));
  if (passing == 0) return Progress::kHeld;
  const uint32_t bytes = std::min(length - offset_, static_cast<uint32_t>(passing) * kFlitBytes);
  parts_.framer.Append(slot.data + offset_, bytes, sink);
  parts_.limiter.Pass(Flits(bytes));
  offset_ += bytes;
  return offset_ == length ? Progress::kSlotDone : Progress::kMoreToRead;
}

// Overwrites the slot. Within a run of one buffer's slots the hardware counts on
// from its previous completion and never looks at the real index.
void Transmitter::Complete(const Descriptor& slot) {
  const NotificationBuffer& nb = parts_.registers.nb(slot.nb);
  last_slot_ = slot.nb == last_nb_ ? (last_slot_ + 1) & parts_.registers.nb_mask() : slot.slot;
  last_nb_ = slot.nb;
  parts_.port.WriteSlot(nb.tx_ring, nb.tx_mem, last_slot_, kSignalNone, slot.word1, slot.length);
}

}  // namespace sluice::device::enso
