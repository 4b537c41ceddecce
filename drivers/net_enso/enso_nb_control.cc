// SPDX-License-Identifier: BSD-3-Clause
//
// Bring-up, configuration and tear-down of a notification buffer (docs/enso-hardware.md, "Bring-up
// and tear-down"). Called by Device with its lock held.
#include <rte_cycles.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net_enso/enso_device.h"
#include "net_enso/enso_nb.h"

using namespace sluice::regs::enso;
using sluice::net_enso::Deadline;
using sluice::net_enso::Device;
using sluice::net_enso::Pipe;
using sluice::net_enso::SentSlot;

namespace {

/// Delay until a completed configuration is in force.
constexpr uint32_t kEffectUs = 1;

}  // namespace

rte_pmd_enso_nb::rte_pmd_enso_nb(Device* device, uint32_t id)
    : bar_(device->bar()),
      page_(NbPage(id)),
      mask_(device->geometry().nb_entries - 1),
      reserved_(kHeadTriggerDepth),
      max_slots_per_send_(device->geometry().pipe_bytes() / kMaxTransferBytes + 2),
      prefetches_(device->geometry().prefetches),
      id_(id),
      device_(device) {}

int rte_pmd_enso_nb::Open() {
  const size_t ring_bytes = size_t{mask_ + 1} * kFlitBytes;
  ring_ = sluice::net_enso::DmaRing(&device_->backend(), 2 * ring_bytes, false);
  if (!ring_) return -ENOMEM;
  sent_.resize(mask_ + 1);
  rx_ring_ = reinterpret_cast<RxNotification*>(ring_.data());
  tx_ring_ = reinterpret_cast<TxNotification*>(ring_.data() + ring_bytes);

  // The rings are zeroed. Storing 0 as the address disables a buffer that a terminated process left
  // enabled.
  if (!device_->StoreUntilRead64(page_ + kRxMemLo, 0) ||
      !device_->StoreUntilRead(page_ + kRxTail, 0) ||
      !device_->StoreUntilRead(page_ + kRxHead, 0)) {
    return -EIO;
  }
  const uint32_t nic_tail = bar_.Read32(page_ + kTxTail);
  if (nic_tail > mask_ || !device_->StoreUntilRead(page_ + kTxHead, nic_tail)) return -EIO;
  tx_tail_ = tx_published_ = tx_clean_ = nic_tail;
  bar_.Write64(page_ + kRxMemLo, ring_.bus());
  bar_.Write64(page_ + kTxMemLo, ring_.bus() + ring_bytes);
  return MeasureHeadCredit() ? 0 : -EIO;
}

bool rte_pmd_enso_nb::Close() {
  if (device_->Lost()) return true;  // The device released all buffers.
  Flush();
  const bool drained = Drain(nullptr);
  const bool disabled = device_->StoreUntilRead64(page_ + kRxMemLo, 0) &&
                        device_->StoreUntilRead64(page_ + kTxMemLo, 0);
  if (drained && disabled) return true;
  device_->KeepMapped(std::move(ring_));
  return false;
}

bool rte_pmd_enso_nb::HasRoomForPipe() const {
  return reserved_ + device_->NotificationsOfPipe() + kPollBudget < mask_;
}

void rte_pmd_enso_nb::AddPipe(Pipe* pipe) {
  pipes_.push_back(pipe);
  const uint32_t slots = device_->NotificationsOfPipe();
  reserved_ += slots;
  head_credit_ = head_credit_ > slots ? head_credit_ - slots : 0;
}

void rte_pmd_enso_nb::Retire(const Pipe* pipe) {
  std::erase(pipes_, pipe);
  next_to_wake_ = 0;
  Unlink(&dirty_, pipe, &Pipe::next_dirty);
  for (uint32_t slot = tx_clean_; slot != tx_tail_; ++slot) {
    SentSlot& sent = sent_[slot & mask_];
    if (sent.pipe == pipe) sent.pipe = nullptr;
  }
}

void rte_pmd_enso_nb::RemovePipe(Pipe* pipe) {
  // Pending notifications of the pipe are read and discarded.
  CatchUp(pipe);
  reserved_ -= device_->NotificationsOfPipe();
  Unlink(&ready_, pipe, &Pipe::next_ready);
  ready_last_ = ready_;
  while (ready_last_ != nullptr && ready_last_->next_ready != nullptr) {
    ready_last_ = ready_last_->next_ready;
  }
}

// Reads the tail register before the notifications: a notification that the NIC writes after this
// read reports a later tail, and the loop consumes all earlier ones. No head is stored in between,
// so that old tails can be distinguished from new ones.
void rte_pmd_enso_nb::CatchUp(const Pipe* pipe) {
  const uint32_t tail = bar_.Read32(PipePage(pipe->id) + kRxTail);
  for (uint32_t before = ~rx_head_; before != rx_head_;) {
    before = rx_head_;
    ReadNotifications();
  }
  const uint32_t fresh = (tail - pipe->tail) & pipe->mask;
  const bool newer = pipe->tail + fresh - pipe->stored_head <= pipe->mask;
  if (newer && bar_.LinkUp() && !device_->Lost()) AcceptNotification(pipe->id, tail);
}

void rte_pmd_enso_nb::Unlink(Pipe** list, const Pipe* pipe, Pipe* Pipe::*next) {
  for (Pipe** link = list; *link != nullptr; link = &((*link)->*next)) {
    if (*link == pipe) {
      *link = pipe->*next;
      return;
    }
  }
}

bool rte_pmd_enso_nb::Drain(const Pipe* pipe) {
  Flush();
  Deadline deadline(sluice::net_enso::kDrainTimeoutUs);
  while (true) {
    ReapCompletions();
    if (pipe == nullptr ? tx_clean_ == tx_tail_ : pipe->sends == 0) return true;
    if (!LinkUp() || device_->Lost() || deadline.Passed()) return false;
    deadline.Relax();
  }
}

int rte_pmd_enso_nb::Configure(const void* slot) {
  ReapCompletions();
  if (tx_tail_ - tx_clean_ >= mask_) return -EIO;
  TxNotification command;
  std::memcpy(&command, slot, sizeof(command));
  std::memcpy(&tx_ring_[tx_tail_ & mask_], &command, sizeof(command));
  sent_[tx_tail_ & mask_] = {command.address, command.length, nullptr, 0, 0, false};
  ++tx_tail_;
  if (!Drain(nullptr)) return -EIO;
  rte_delay_us_block(kEffectUs);
  return 0;
}
