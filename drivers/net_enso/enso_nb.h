// SPDX-License-Identifier: BSD-3-Clause
//
// A notification buffer: the pair of 64-byte slot rings through which one thread
// and the NIC talk about all pipes of that thread. The type behind `struct
// rte_pmd_enso_nb`; called by the native face and by the ethdev queues. Every
// datapath function costs a few instructions per batch, none per packet.
#pragma once

#include <cstdint>
#include <vector>

#include "net_enso/enso_backend.h"
#include "net_enso/enso_pipe.h"
#include "net_enso/rte_pmd_enso.h"
#include "regs/enso.h"

namespace sluice::net_enso {

class Device;

/// What the driver remembers of a TX slot, to be independent of what comes back.
struct SentSlot {
  uint64_t word1;  ///< Bus address, or id of a configuration.
  uint64_t word2;  ///< Length; of a configuration its bytes 16 … 23.
  Pipe* pipe;      ///< Owner; null for a configuration, or if it was closed meanwhile.
  uint32_t flits;
  uint32_t release_flits;  ///< Given back to the NIC with this slot.
  bool ends_send;
};

}  // namespace sluice::net_enso

struct rte_pmd_enso_nb {
 public:
  using Pipe = sluice::net_enso::Pipe;

  /// Slots read per poll, and rx_head stores per flush: below the depth of the
  /// NIC's trigger queue, which drops what exceeds it.
  static constexpr uint32_t kPollBudget = 64;
  /// Empty polls between two attempts to wake a pipe whose notification was lost.
  static constexpr uint32_t kIdlePolls = 4096;

  rte_pmd_enso_nb(sluice::net_enso::Device* device, uint32_t id);

  // Control path, with the device's lock held and the datapath at rest.

  /// Brings the buffer up (docs/enso-hardware.md, "Bring-up and tear-down"): off, pointers
  /// zeroed, on. Continues where the NIC's transmit pointer stands: the NIC computes completion
  /// slots from the previous one, so a pointer that went back would complete slots that nobody
  /// sent. 0, -ENOMEM, -EIO.
  int Open();
  /// Waits for transmissions, then disables. False if the NIC still holds a slot
  /// after kDrainTimeoutUs; the rings must then stay mapped.
  bool Close();
  /// True if a receiving pipe fits: the RX ring can never fill, because every pipe
  /// and every rx_head store yet unanswered has a slot reserved.
  bool HasRoomForPipe() const;
  void AddPipe(Pipe* pipe);
  /// From here on nothing stores the pipe's rx_head, no completion that is still to
  /// come and no idle poll. Its notifications are still read.
  void Retire(const Pipe* pipe);
  /// After the NIC was told to disable the pipe, which was retired.
  void RemovePipe(Pipe* pipe);
  /// Learns of everything that has arrived on `pipe`, also what the NIC has not
  /// notified: reads all notifications, then the pipe's tail register.
  void CatchUp(const Pipe* pipe);
  /// Sends a configuration slot and waits until the NIC completed that very slot.
  int Configure(const void* slot);
  /// Waits, bounded, until `pipe` (null: the whole buffer) has nothing in
  /// transmission.
  bool Drain(const Pipe* pipe);

  // Datapath, the buffer's thread. Semantics: rte_pmd_enso.h.

  uint16_t Poll(rte_pmd_enso_span* spans, uint16_t max, uint32_t max_bytes) {
    ReapCompletions();
    Flush();
    ReadNotifications();
    return TakeSpans(spans, max, max_bytes);
  }
  void ReapCompletions();
  void ReadNotifications();
  void Release(Pipe* pipe, uint32_t bytes);
  void Prefetch(Pipe* pipe) {
    if (pipe->receives() && HasHeadCredit()) StoreHead(pipe);
  }
  int Send(Pipe* pipe, const uint8_t* data, uint32_t bytes, uint32_t release_bytes);
  /// False if a send of a whole pipe would find too few slots.
  bool HasRoomToSend() const { return tx_tail_ - tx_clean_ + max_slots_per_send_ <= mask_; }
  void Flush() {
    if (tx_tail_ != tx_published_) PublishTail();
    if (dirty_ != nullptr) StoreHeads();
  }
  uint64_t pending_bytes() const { return pending_bytes_; }
  bool LinkUp() const { return bar_.LinkUp() && alive_; }

  uint32_t id() const { return id_; }
  sluice::net_enso::Device* device() const { return device_; }
  const std::vector<Pipe*>& pipes() const { return pipes_; }

 private:
  uint16_t TakeSpans(rte_pmd_enso_span* spans, uint16_t max, uint32_t max_bytes);
  void AcceptNotification(uint64_t pipe_id, uint64_t tail);
  void OnIdle();
  void CompleteSlot(const sluice::net_enso::SentSlot& sent);
  void PostSlot(const sluice::net_enso::SentSlot& sent);
  void GiveBack(Pipe* pipe, uint32_t flits);
  void PublishTail();
  void StoreHeads();
  void StoreHead(Pipe* pipe);
  bool HasHeadCredit() { return head_credit_ != 0 || MeasureHeadCredit(); }
  bool MeasureHeadCredit();
  static void Unlink(Pipe** list, const Pipe* pipe, Pipe* Pipe::*next);

  sluice::regs::enso::RxNotification* rx_ring_ = nullptr;
  sluice::regs::enso::TxNotification* tx_ring_ = nullptr;
  sluice::bar::Bar bar_;
  uint32_t page_;  ///< Offset of this buffer's registers.
  uint32_t mask_;  ///< Slots of each ring, less one.

  // Receive: one free-running index; slots before it are the NIC's again.
  uint32_t rx_head_ = 0;
  uint32_t idle_polls_ = 0;
  uint32_t head_credit_ = 0;  ///< rx_head stores that surely find a notification slot.
  uint32_t reserved_ = 0;     ///< Slots that pipes and the trigger queue may take.
  Pipe* ready_ = nullptr;     ///< FIFO of pipes with bytes to return.
  Pipe* ready_last_ = nullptr;
  Pipe* dirty_ = nullptr;  ///< Pipes whose rx_head is to be stored.

  // Transmit, free-running: clean ≤ published ≤ tail ≤ clean + slots − 1.
  uint32_t tx_clean_ = 0;
  uint32_t tx_published_ = 0;
  uint32_t tx_tail_ = 0;
  uint32_t max_slots_per_send_;  ///< A pipe in kMaxTransferBytes, once more where it wraps.
  uint64_t pending_bytes_ = 0;
  std::vector<sluice::net_enso::SentSlot> sent_;

  const bool prefetches_;
  uint32_t id_;
  uint32_t next_to_wake_ = 0;       ///< Index in pipes_.
  uint32_t suspicious_slot_ = ~0u;  ///< Last TX slot counted as badly completed.
  bool alive_ = true;
  sluice::net_enso::Device* device_;
  std::vector<Pipe*> pipes_;  ///< Receiving pipes.
  sluice::net_enso::DmaRing ring_;
};

namespace sluice::net_enso {
using NotificationBuffer = ::rte_pmd_enso_nb;
}  // namespace sluice::net_enso
