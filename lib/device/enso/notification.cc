// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/notification.h"

namespace sluice::device::enso {

void Notifier::HeadStored(uint32_t id) {
  ++tally_[Event::kRxHeadTriggers];
  if (!port_.wedged()) {
    ServeHeadTrigger(id);
  } else if (triggers_waiting_ < regs::enso::kHeadTriggerDepth) {
    ++triggers_waiting_;
  } else {
    ++tally_[Event::kRxHeadTriggersLost];
  }
}

void Notifier::NotifyPacket(uint32_t id, Pipe& pipe, NotificationBuffer& nb) {
  SetStatus(pipe);
  if (Full(nb)) [[unlikely]] {
    ++tally_[Event::kRxNotificationsLost];
    return;
  }
  WriteSlot(id, pipe, nb);
  nb.rx_tail = (nb.rx_tail + 1) & registers_.nb_mask();
  ++tally_[Event::kRxNotifications];
}

void Notifier::ServeHeadTrigger(uint32_t id) {
  Pipe& pipe = registers_.pipe(id);
  if (((pipe.rx_head ^ pipe.rx_tail) & registers_.pipe_mask()) == 0) {
    pipe.status = false;
    return;
  }
  SetStatus(pipe);
  NotificationBuffer& nb = registers_.nb_of(pipe);
  if (pipe.rx_mem == 0 || nb.rx_mem == 0) {
    ++tally_[Event::kRxNotificationsLost];
    return;
  }
  WriteSlot(id, pipe, nb);
  if (Full(nb)) {
    // The hardware writes into the gap slot and leaves the tail: the next
    // notification overwrites it.
    ++tally_[Event::kRxNotificationsUnclaimed];
    return;
  }
  nb.rx_tail = (nb.rx_tail + 1) & registers_.nb_mask();
  ++tally_[Event::kRxNotifications];
}

void Notifier::WriteSlot(uint32_t id, const Pipe& pipe, const NotificationBuffer& nb) {
  port_.WriteSlot(nb.rx_ring, nb.rx_mem, nb.rx_tail & registers_.nb_mask(),
                  regs::enso::kSignalData, id, pipe.rx_tail & registers_.pipe_mask());
}

}  // namespace sluice::device::enso
