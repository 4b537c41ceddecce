// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/notification.h"

#include "device/enso/flit_copy.h"

namespace sluice::device::enso {

using regs::enso::kFlitBytes;

void Notifier::HeadStored(uint32_t id) {
  ++tally_[Event::kRxHeadTriggers];
  if (!port_.stalled()) {
    ServeHeadTrigger(id);
    registers_.UpdateLimit(registers_.pipe(id));
  } else if (triggers_waiting_ < regs::enso::kHeadTriggerDepth) {
    ++triggers_waiting_;
  } else {
    ++tally_[Event::kRxHeadTriggersLost];
  }
}

void Notifier::NotifyPacket(uint32_t id, Pipe& pipe, NotificationBuffer& nb) {
  SetStatus(pipe);
  if (nb.rx_mem == 0 || Full(nb)) [[unlikely]] {
    ++tally_[Event::kRxNotificationsLost];
    return;
  }
  Notify(id, pipe, nb);
}

void Notifier::ServeHeadTrigger(uint32_t id) {
  Pipe& pipe = registers_.pipe(id);
  if (((pipe.rx_head ^ pipe.rx_tail) & regs::enso::kPointerMask) == 0) {
    pipe.status = false;
    return;
  }
  SetStatus(pipe);
  NotificationBuffer& nb = registers_.nb_of(pipe);
  if (pipe.rx_mem == 0) {
    // The address register of a disabled pipe is zero and thus selects buffer 0. That buffer's tail
    // advances although no notification is written, so software that polls the buffer waits at the
    // hole forever.
    if (nb.rx_mem == 0 || Full(nb)) return;
    AdvanceTail(nb);
    ++tally_[Event::kRxNotificationHoles];
    return;
  }
  if (nb.rx_mem == 0) {
    ++tally_[Event::kRxNotificationsLost];
    return;
  }
  if (Full(nb)) {
    // The hardware writes into the unused slot of the full ring without advancing the tail; the
    // next notification overwrites the slot.
    WriteSlot(id, pipe, nb);
    ++tally_[Event::kRxNotificationsUnclaimed];
    return;
  }
  Notify(id, pipe, nb);
}

void Notifier::Notify(uint32_t id, const Pipe& pipe, NotificationBuffer& nb) {
  WriteSlot(id, pipe, nb);
  AdvanceTail(nb);
  ++tally_[port_.silent() ? Event::kRxNotificationsLost : Event::kRxNotifications];
}

void Notifier::WriteSlot(uint32_t id, const Pipe& pipe, const NotificationBuffer& nb) {
  constexpr uint32_t kAhead = 8;  // Prefetch distance in slots. The slots' cache lines are in the
                                  // host's cache, because the host cleared them in the previous
                                  // lap.
  const uint32_t slot = nb.rx_tail & registers_.nb_mask();
  PrefetchForWrite(reinterpret_cast<uintptr_t>(nb.rx_ring) +
                   (slot + kAhead) * uint64_t{kFlitBytes});
  port_.WriteSlot(nb.rx_ring, nb.rx_mem, slot, regs::enso::kSignalData, id,
                  pipe.rx_tail & registers_.pipe_mask());
}

}  // namespace sluice::device::enso
