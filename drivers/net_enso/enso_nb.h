// SPDX-License-Identifier: BSD-3-Clause
//
// A notification buffer: the pair of rings of 64-byte slots through which one thread and the NIC
// exchange notifications about all pipes of that thread. This is the definition of `struct
// rte_pmd_enso_nb`, used by the native API and by the ethdev queues. Every datapath function
// executes a few instructions per batch, and none per packet.
#pragma once

#include <cstdint>
#include <vector>

#include "net_enso/enso_backend.h"
#include "net_enso/enso_pipe.h"
#include "net_enso/rte_pmd_enso.h"
#include "regs/enso.h"

namespace sluice::net_enso {

class Device;

/// The driver's copy of a TX slot, because the contents that the NIC returns are not trusted.
struct SentSlot {
  uint64_t word1;  ///< Bus address, or id of a configuration command.
  uint64_t word2;  ///< Length, or bytes 16 … 23 of a configuration command.
  Pipe* pipe;      ///< Owner; null for a configuration command, or if the pipe has been closed.
  uint32_t flits;
  uint32_t release_flits;  ///< Flits that are given back to the NIC with this slot.
  bool ends_send;
};

}  // namespace sluice::net_enso

struct rte_pmd_enso_nb {
 public:
  using Pipe = sluice::net_enso::Pipe;

  /// Maximum number of slots read per poll, and of rx_head stores per flush. It is less than the
  /// depth of the NIC's trigger queue, because the NIC drops excess entries.
  static constexpr uint32_t kPollBudget = 64;
  /// Number of empty polls between two attempts to recover a pipe whose notification was lost.
  static constexpr uint32_t kIdlePolls = 4096;

  rte_pmd_enso_nb(sluice::net_enso::Device* device, uint32_t id);

  // The following functions are for the control path. The caller must hold the device's lock, and
  // the datapath must be idle.

  /// Brings up the buffer (docs/enso-hardware.md, "Bring-up and tear-down"): disables it, zeroes
  /// the pointers and enables it. Transmission continues at the NIC's transmit pointer. The NIC
  /// derives each completion slot from the previous one, so if the pointer were moved back, slots
  /// that were not sent would be completed. Returns 0, -ENOMEM or -EIO.
  int Open();
  /// Waits for transmissions, then disables the buffer. Returns false if the NIC is still using a
  /// slot after kDrainTimeoutUs; the rings must then stay mapped.
  bool Close();
  /// Returns true if there is space for another receiving pipe. The RX ring never overflows,
  /// because a slot is reserved for every pipe and for every rx_head store in flight.
  bool HasRoomForPipe() const;
  void AddPipe(Pipe* pipe);
  /// Prevents all further stores to the pipe's rx_head, including those by later completions and
  /// idle polls. The pipe's notifications are still read.
  void Retire(const Pipe* pipe);
  /// Called after the pipe has been retired and disabled in the NIC.
  void RemovePipe(Pipe* pipe);
  /// Accounts for all bytes that have arrived on `pipe`, including bytes for which the NIC has not
  /// sent a notification: reads all notifications, then the pipe's tail register.
  void CatchUp(const Pipe* pipe);
  /// Sends a configuration slot. Waits, for a bounded time, until the NIC has completed all slots
  /// of the buffer and the command has taken effect. Returns 0 or -EIO.
  int Configure(const void* slot);
  /// Waits, for a bounded time, until `pipe` has no transmission in progress. If `pipe` is null,
  /// waits for all transmissions of the buffer.
  bool Drain(const Pipe* pipe);

  // Datapath, called by the buffer's thread. See rte_pmd_enso.h.

  uint16_t Poll(rte_pmd_enso_span* spans, uint16_t max, uint32_t max_bytes) {
    ReapCompletions();
    Flush();
    ReadNotifications();
    return ready_ == nullptr ? 0 : ReceiveSpans(spans, max, max_bytes);
  }
  void ReapCompletions();
  void ReadNotifications();
  void Release(Pipe* pipe, uint32_t bytes);
  void Prefetch(Pipe* pipe) {
    if (pipe->receives() && HasHeadCredit()) StoreHead(pipe);
  }
  int Send(Pipe* pipe, const uint8_t* data, uint32_t bytes, uint32_t release_bytes);
  /// Returns false if there may not be enough free slots to send a whole pipe.
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
  uint16_t ReceiveSpans(rte_pmd_enso_span* spans, uint16_t max, uint32_t max_bytes);
  void AcceptNotification(uint64_t pipe_id, uint64_t tail);
  void OnIdle();
  void CompleteSlot(const sluice::net_enso::SentSlot& sent);
  void PostSlot(uint32_t at, const sluice::net_enso::SentSlot& sent);
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
  uint32_t mask_;  ///< Slots per ring minus one.

  // The receive ring has one free-running index; the slots before it belong to the NIC.
  uint32_t rx_head_ = 0;
  uint32_t idle_polls_ = 0;
  uint32_t head_credit_ = 0;  ///< Number of rx_head stores for which a notification slot is free.
  uint32_t reserved_ = 0;     ///< Slots reserved for pipes and the trigger queue.
  Pipe* ready_ = nullptr;     ///< FIFO of pipes with bytes to return.
  Pipe* ready_last_ = nullptr;
  Pipe* dirty_ = nullptr;  ///< List of pipes with an rx_head to be stored.

  // The transmit indices are free-running: clean ≤ published ≤ tail ≤ clean + slots − 1.
  uint32_t tx_clean_ = 0;
  uint32_t tx_published_ = 0;
  uint32_t tx_tail_ = 0;
  uint32_t max_slots_per_send_;  ///< Number of slots for a whole pipe, including one for the wrap.
  uint64_t pending_bytes_ = 0;
  std::vector<sluice::net_enso::SentSlot> sent_;

  const bool prefetches_;
  uint32_t id_;
  uint32_t next_to_wake_ = 0;       ///< Index in pipes_.
  uint32_t suspicious_slot_ = ~0u;  ///< The last TX slot that was counted as wrongly completed.
  bool alive_ = true;
  sluice::net_enso::Device* device_;
  std::vector<Pipe*> pipes_;  ///< Receiving pipes.
  sluice::net_enso::DmaRing ring_;
};

namespace sluice::net_enso {
using NotificationBuffer = ::rte_pmd_enso_nb;
}  // namespace sluice::net_enso
