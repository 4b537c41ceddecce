// SPDX-License-Identifier: BSD-3-Clause
//
// Reactive notifications (docs/enso-hardware.md, "Receiving") for receive blocks and a register
// block that run concurrently. A batch is handled like one packet: all its bytes are written before
// the tail is stored, and the tail is stored before the status is read. A head store clears the
// status and then reads the tail again. Therefore either the receive block sees the cleared status,
// or the register block sees the new tail.
#pragma once

#include <cstdint>

#include "device/grid/enso_card.h"
#include "device/grid/slot_write.h"

namespace sluice::device::grid {

/// Claims a buffer's next slot. The caller must have read the buffer's tail and head. `mask` is
/// EnsoCard::nb_mask. Returns false if the ring is full. May be called by any thread.
inline bool ClaimSlot(EnsoBuffer& buffer, uint32_t mask, uint32_t tail, uint32_t head,
                      uint32_t* slot) {
  for (;;) {
    if (((head - tail - 1) & mask) == 0) {
      const uint32_t newer = Load(&buffer.rx_head);
      if (newer == head) return false;
      head = newer;
      continue;
    }
    const uint32_t seen = CompareExchange(&buffer.rx_tail, tail, (tail + 1) & mask);
    if (seen == tail) break;
    tail = seen;
  }
  *slot = tail & mask;
  return true;
}
inline bool ClaimSlot(const EnsoCard& card, EnsoBuffer& buffer, uint32_t* slot) {
  return ClaimSlot(buffer, card.nb_mask, Load(&buffer.rx_tail), Load(&buffer.rx_head), slot);
}

/// Returns the address of slot `slot`. If the slot is unreachable or unaligned, returns null and,
/// if `counts` is set, counts a fault.
inline uint8_t* SlotAddress(EnsoCard& card, uint8_t* ring, uint64_t bus, uint32_t slot,
                            bool counts = true) {
  const uint64_t offset = uint64_t{slot} * kSlotBytes;
  uint8_t* const at =
      ring != nullptr ? ring + offset : card.dma.Translate(bus + offset, kSlotBytes);
  if (at != nullptr && reinterpret_cast<uintptr_t>(at) % sizeof(Quad) == 0) return at;
  if (counts) card.Count(Event::kDmaFaults);
  return nullptr;
}

/// Returns the notification for pipe `id`, to be written to `slot`.
inline SlotWrite Notification(const EnsoCard& card, uint8_t* slot, uint32_t id) {
  return {slot, {regs::enso::kSignalData, id, Load(&card.pipes[id].tail) & card.pipe_mask}};
}

/// Returns whether `head` equals the tail of `pipe` in all bits of kPointerMask. Like the hardware,
/// compares the pointers without first wrapping them at the ring's size.
inline bool IsEmpty(const EnsoPipe& pipe, uint32_t head) {
  return ((head ^ Load(&pipe.tail)) & regs::enso::kPointerMask) == 0;
}

/// Result of FramesAccepted: no notification is to be written.
inline constexpr uint32_t kNoSlot = ~0u;

/// Publishes frames that were appended to pipe `id`, up to `tail`. Returns the slot of buffer
/// `number` to which the caller writes a notification, or kNoSlot. Called by one thread per pipe.
inline uint32_t FramesAccepted(EnsoCard& card, uint32_t id, uint32_t tail, uint32_t number) {
  EnsoPipe& pipe = card.pipes[id];
  EnsoBuffer& buffer = card.buffers[number];
  // These loads overlap.
  const uint32_t mask = card.nb_mask, per_packet = card.per_packet;
  const uint64_t memory = Load(&buffer.rx_memory);
  const uint32_t buffer_tail = Load(&buffer.rx_tail), buffer_head = Load(&buffer.rx_head);
  Store(&pipe.tail, tail);
  FenceCard();
  const uint32_t wedged = Load(&card.wedged);
  if (per_packet == 0 && Exchange(&pipe.status, 1) != 0) return kNoSlot;
  uint32_t slot;
  if (memory == 0 || !ClaimSlot(buffer, mask, buffer_tail, buffer_head, &slot) || wedged != 0) {
    card.Count(Event::kRxNotificationsLost);
    return kNoSlot;
  }
  return slot;
}

/// Suppresses notifications for pipe `id` until its head is stored. Called instead of
/// FramesAccepted if all of the batch's frames for the pipe were dropped.
inline void FramesDropped(EnsoCard& card, uint32_t id, uint32_t flits) {
  EnsoPipe& pipe = card.pipes[id];
  if (card.per_packet != 0) return Store(&pipe.status, 0u);
  if (Exchange(&pipe.status, 1) != 0 || flits > card.pipe_mask || Load(&pipe.memory) == 0) return;
  // The pipe was full. If it is empty now, its head has been stored in the meantime, and the driver
  // is waiting for a notification.
  FenceCard();
  if (IsEmpty(pipe, Load(&pipe.head))) Store(&pipe.status, 0u);
}

/// Handles a store of the value `head` to the head register of pipe `id`. Called by the register
/// block.
template <typename Writes>
void HeadStored(EnsoCard& card, uint32_t id, uint32_t head, Writes& writes) {
  EnsoPipe& pipe = card.pipes[id];
  card.Count(Event::kRxHeadTriggers);
  if (IsEmpty(pipe, head)) {
    StoreRelease(&pipe.status, 0u);  // FramesDropped sees the new head if it sees this status.
    FenceCard();
    if (IsEmpty(pipe, head) || Exchange(&pipe.status, 1) != 0) return;
  } else {
    Store(&pipe.status, card.per_packet == 0 ? 1u : 0u);
  }
  EnsoBuffer& buffer = card.BufferOf(pipe.memory);
  uint32_t slot;
  if (pipe.memory == 0) {
    // The address register of a disabled pipe is zero, which selects buffer 0: that buffer's tail
    // advances, but no notification is written.
    if (Load(&buffer.rx_memory) != 0 && ClaimSlot(card, buffer, &slot)) {
      card.Count(Event::kRxNotificationHoles);
    }
    return;
  }
  if (Load(&buffer.rx_memory) == 0) return card.Count(Event::kRxNotificationsLost);
  const bool claimed = ClaimSlot(card, buffer, &slot);
  // If the ring is full, overwrites its unused slot and does not advance the tail.
  if (!claimed) slot = Load(&buffer.rx_tail) & card.nb_mask;
  const bool silent = Load(&card.wedged) != 0;
  card.Count(!claimed ? Event::kRxNotificationsUnclaimed
             : silent ? Event::kRxNotificationsLost
                      : Event::kRxNotifications);
  if (silent) return;
  uint8_t* const at = SlotAddress(card, buffer.rx_ring, buffer.rx_memory, slot);
  if (at != nullptr) writes.Append(Notification(card, at, id));
}

}  // namespace sluice::device::grid
