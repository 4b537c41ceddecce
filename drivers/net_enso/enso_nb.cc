// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_nb.h"

#include <rte_cycles.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "bar/fence.h"
#include "bar/load_once.h"
#include "net_enso/enso_device.h"

using namespace sluice::regs::enso;
using sluice::bar::LoadOnce;
using sluice::net_enso::Deadline;
using sluice::net_enso::Device;
using sluice::net_enso::Event;
using sluice::net_enso::Pipe;
using sluice::net_enso::SentSlot;

namespace {

/// Slots are shared with the NIC; the signal word determines who owns the other words.
uint64_t LoadSignal(const uint64_t& signal) { return sluice::bar::LoadFromDevice(signal); }
void StoreSignal(uint64_t& signal, uint64_t value) {
  std::atomic_ref<uint64_t>(signal).store(value, std::memory_order_relaxed);
}

/// Delay until a completed configuration takes effect.
constexpr uint32_t kEffectUs = 1;

}  // namespace

// Datapath of a notification buffer (docs/enso-hardware.md, "Receiving"; "Transmitting").

void rte_pmd_enso_nb::ReadNotifications() {
  const uint32_t first = rx_head_;
  uint32_t head = first;
  for (; head - first != kPollBudget; ++head) {
    RxNotification& slot = rx_ring_[head & mask_];
    const uint64_t signal = LoadSignal(slot.signal);
    if (signal == kSignalNone) break;
    if (signal == kSignalData) [[likely]] {
      AcceptNotification(LoadOnce(slot.pipe), LoadOnce(slot.tail));
    } else {
      device_->Count(Event::kBadNotification);
    }
    StoreSignal(slot.signal, kSignalNone);
  }
  if (head != first) {
    rx_head_ = head;
    bar_.Write32(page_ + kRxHead, head & mask_);
  } else if (++idle_polls_ % kIdlePolls == 0) [[unlikely]] {
    OnIdle();
  }
}

/// Accepts a tail only if at least one flit remains free before the head that was last given to the
/// NIC. All other notifications are counted and ignored.
void rte_pmd_enso_nb::AcceptNotification(uint64_t pipe_id, uint64_t tail) {
  Pipe* pipe = device_->FindPipe(pipe_id, id_);
  if (pipe == nullptr || tail > pipe->mask) [[unlikely]] {
    device_->Count(Event::kBadNotification);
    return;
  }
  const uint32_t fresh = (static_cast<uint32_t>(tail) - pipe->tail) & pipe->mask;
  if (pipe->tail + fresh - pipe->stored_head > pipe->mask) [[unlikely]] {
    device_->Count(Event::kBadNotification);
    return;
  }
  if (fresh == 0) return;  // The notification answers an rx_head store; it reports no new bytes.
  pipe->tail += fresh;
  if (pipe->boundaries != nullptr) {
    pipe->boundaries[pipe->boundaries_written++ & pipe->mask] = pipe->tail;
  }
  if (pipe->ready) return;
  pipe->ready = true;
  pipe->next_ready = nullptr;
  (ready_ == nullptr ? ready_ : ready_last_->next_ready) = pipe;
  ready_last_ = pipe;
}

uint16_t rte_pmd_enso_nb::ReceiveSpans(rte_pmd_enso_span* spans, uint16_t max, uint32_t max_bytes) {
  const uint32_t max_flits = max_bytes == 0 ? ~0u : std::max(max_bytes / kFlitBytes, uint32_t{1});
  Pipe* first_limited = nullptr;
  Pipe* last_limited = nullptr;
  uint16_t count = 0;
  for (; count < max && ready_ != nullptr; ++count) {
    Pipe* pipe = ready_;
    ready_ = pipe->next_ready;
    const uint32_t waiting = pipe->tail - pipe->returned;
    const uint32_t flits = std::min(waiting, max_flits);
    spans[count] = {pipe, pipe->At(pipe->returned), flits * kFlitBytes};
    pipe->returned += flits;
    if (prefetches_) Prefetch(pipe);
    pipe->next_ready = nullptr;
    pipe->ready = flits != waiting;
    if (!pipe->ready) continue;
    (first_limited == nullptr ? first_limited : last_limited->next_ready) = pipe;
    last_limited = pipe;
  }
  if (first_limited != nullptr) [[unlikely]] {
    (ready_ == nullptr ? ready_ : ready_last_->next_ready) = first_limited;
    ready_last_ = last_limited;
  }
  return count;
}

inline void rte_pmd_enso_nb::GiveBack(Pipe* pipe, uint32_t flits) {
  pipe->head += flits;
  if (pipe->dirty) return;
  pipe->dirty = true;
  pipe->next_dirty = dirty_;
  dirty_ = pipe;
}

inline void rte_pmd_enso_nb::CompleteSlot(const SentSlot& sent) {
  pending_bytes_ -= uint64_t{sent.flits} * kFlitBytes;
  Pipe* pipe = sent.pipe;
  if (pipe == nullptr) return;
  if (!pipe->receives()) pipe->tx_head += sent.flits;
  if (!sent.ends_send) return;
  --pipe->sends;
  if (sent.release_flits != 0) GiveBack(pipe, sent.release_flits);
}

void rte_pmd_enso_nb::ReapCompletions() {
  while (tx_clean_ != tx_published_) {
    TxNotification& slot = tx_ring_[tx_clean_ & mask_];
    if (LoadSignal(slot.signal) != kSignalNone) break;
    const SentSlot& sent = sent_[tx_clean_ & mask_];
    if (LoadOnce(slot.address) != sent.word1 || LoadOnce(slot.length) != (sent.word2 & 0xf'ffff))
        [[unlikely]] {
      if (suspicious_slot_ != tx_clean_) device_->Count(Event::kBadCompletion);
      suspicious_slot_ = tx_clean_;
      break;
    }
    CompleteSlot(sent);
    ++tx_clean_;
  }
}

void rte_pmd_enso_nb::Release(Pipe* pipe, uint32_t bytes) {
  const uint32_t flits = std::min(bytes / kFlitBytes, pipe->returned - pipe->released);
  pipe->released += flits;
  if (pipe->sends == 0) {
    GiveBack(pipe, flits);
  } else {
    sent_[pipe->last_slot & mask_].release_flits += flits;
  }
}

inline void rte_pmd_enso_nb::PostSlot(uint32_t at, const SentSlot& sent) {
  TxNotification& slot = tx_ring_[at];
  slot.address = sent.word1;
  slot.length = sent.word2;
  StoreSignal(slot.signal, kSignalData);
  sent_[at] = sent;
}

/// Splits the transfer into slots at the end of the ring, because bus addresses do not wrap, and at
/// kMaxTransferBytes.
int rte_pmd_enso_nb::Send(Pipe* pipe, const uint8_t* data, uint32_t bytes, uint32_t release_bytes) {
  const uint64_t pipe_bytes = uint64_t{pipe->flits} * kFlitBytes;
  const uint64_t offset = static_cast<uint64_t>(data - pipe->memory);
  const uint32_t release_flits = release_bytes / kFlitBytes;
  if (pipe->kind == RTE_PMD_ENSO_RX || (bytes | release_bytes) % kFlitBytes != 0 ||
      release_flits > pipe->returned - pipe->released) {
    return -EINVAL;
  }
  if (bytes == 0) {
    Release(pipe, release_bytes);
    return 0;
  }
  if (offset % kFlitBytes != 0 || bytes > pipe_bytes || offset > 2 * pipe_bytes - bytes)
    return -EINVAL;
  if (!pipe->receives() && (data != pipe->At(pipe->tx_tail) ||
                            bytes / kFlitBytes > pipe->flits - (pipe->tx_tail - pipe->tx_head))) {
    return -EINVAL;
  }
  uint32_t position = static_cast<uint32_t>(offset & (pipe_bytes - 1));
  if (!HasRoomToSend()) return -EAGAIN;
  const uint32_t mask = mask_;
  uint32_t tail = tx_tail_;
  for (uint32_t left = bytes; left != 0; ++tail) {
    const uint32_t to_end = static_cast<uint32_t>(pipe_bytes) - position;
    const uint32_t length = std::min({left, to_end, kMaxTransferBytes});
    left -= length;
    PostSlot(tail & mask, {pipe->bus + position, length, pipe, length / kFlitBytes,
                           left == 0 ? release_flits : 0, left == 0});
    position = (position + length) & static_cast<uint32_t>(pipe_bytes - 1);
  }
  tx_tail_ = tail;
  ++pipe->sends;
  pipe->last_slot = tail - 1;
  pipe->released += release_flits;
  if (!pipe->receives()) pipe->tx_tail += bytes / kFlitBytes;
  pending_bytes_ += bytes;
  return 0;
}

/// One store publishes all slots of a frame. The NIC has a single framing state, so a frame split
/// over two stores would be mixed with frames from other buffers.
void rte_pmd_enso_nb::PublishTail() {
  bar_.Write32(page_ + kTxTail, tx_tail_ & mask_);
  tx_published_ = tx_tail_;
}

void rte_pmd_enso_nb::StoreHeads() {
  for (uint32_t budget = kPollBudget; budget != 0 && dirty_ != nullptr && HasHeadCredit();
       --budget) {
    Pipe* pipe = dirty_;
    dirty_ = pipe->next_dirty;
    pipe->dirty = false;
    StoreHead(pipe);
  }
}

void rte_pmd_enso_nb::StoreHead(Pipe* pipe) {
  bar_.Write32(PipePage(pipe->id) + kRxHead, pipe->head & pipe->mask);
  pipe->stored_head = pipe->head;
  --head_credit_;
}

/// Sets head_credit_ to the number of free slots in the RX ring, because every rx_head store may
/// add one notification. This requires one register read every few thousand stores. Returns false
/// if no slot is free or the device stopped responding.
bool rte_pmd_enso_nb::MeasureHeadCredit() {
  const uint32_t nic_tail = bar_.Read32(page_ + kRxTail);
  if (nic_tail > mask_) {
    alive_ = false;
    return false;
  }
  const uint32_t taken = ((nic_tail - rx_head_) & mask_) + reserved_;
  head_credit_ = taken < mask_ ? mask_ - taken : 0;
  return head_credit_ != 0;
}

/// Called after many empty polls. If a trigger or a notification was lost, the pipe does not report
/// any more bytes until its head is stored again. If no bytes are pending, the store has no effect.
/// Stores the head of one pipe per call. Also counts a bad completion if the oldest TX slot is
/// incomplete but the next one is complete.
[[gnu::noinline]] void rte_pmd_enso_nb::OnIdle() {
  if (!pipes_.empty() && HasHeadCredit()) {
    next_to_wake_ = (next_to_wake_ + 1) % static_cast<uint32_t>(pipes_.size());
    StoreHead(pipes_[next_to_wake_]);
    device_->Count(Event::kWakeups);
  }
  if (tx_published_ - tx_clean_ < 2 || suspicious_slot_ == tx_clean_) return;
  if (LoadSignal(tx_ring_[tx_clean_ & mask_].signal) != kSignalNone &&
      LoadSignal(tx_ring_[(tx_clean_ + 1) & mask_].signal) == kSignalNone) {
    suspicious_slot_ = tx_clean_;
    device_->Count(Event::kBadCompletion);
  }
}

// Bring-up, configuration and tear-down of a notification buffer (docs/enso-hardware.md, "Bring-up
// and tear-down"). Device calls these functions with its lock held.

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
  if (device_->Lost()) return true;  // The device has lost power, and with it all its buffers.
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
// read reports a later tail, and the loop consumes all earlier ones. No head is stored in the
// meantime, so that old tails can be distinguished from new ones.
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
