// SPDX-License-Identifier: BSD-3-Clause
//
// Reactive notifications (docs/enso-hardware.md, "Receiving"): one status bit per pipe decides
// whether an accepted packet or a head store writes a notification. Called by the receive path and,
// for head stores, by the register window.
#pragma once

#include <cstdint>

#include "device/enso/counters.h"
#include "device/enso/register_file.h"
#include "device/enso/write_port.h"

namespace sluice::device::enso {

class Notifier {
 public:
  Notifier(RegisterFile& registers, WritePort& port, Tally& tally, bool per_packet)
      : registers_(registers), port_(port), tally_(tally), per_packet_(per_packet) {}

  /// Called once a packet's flits are in host memory and the pipe's tail includes them.
  void PacketAccepted(uint32_t id, Pipe& pipe, NotificationBuffer& nb) {
    if (!pipe.status) NotifyPacket(id, pipe, nb);
  }

  /// Called when a packet has been dropped. Suppresses the pipe's notifications until its head is
  /// stored.
  void PacketDropped(Pipe& pipe) { SetStatus(pipe); }

  /// Handles an rx_head store immediately, before any later packet. While the port is stalled,
  /// triggers are queued; once the queue is full, further triggers are lost.
  void HeadStored(uint32_t id);

 private:
  /// Sets the status bit. In per-packet mode, the bit is ignored and stays clear.
  void SetStatus(Pipe& pipe) { pipe.status = !per_packet_; }
  [[gnu::noinline]] void NotifyPacket(uint32_t id, Pipe& pipe, NotificationBuffer& nb);
  void ServeHeadTrigger(uint32_t id);
  void Notify(uint32_t id, const Pipe& pipe, NotificationBuffer& nb);
  void WriteSlot(uint32_t id, const Pipe& pipe, const NotificationBuffer& nb);
  void AdvanceTail(NotificationBuffer& nb) { nb.rx_tail = (nb.rx_tail + 1) & registers_.nb_mask(); }
  bool Full(const NotificationBuffer& nb) const {
    return ((nb.rx_head - nb.rx_tail - 1) & registers_.nb_mask()) == 0;
  }

  RegisterFile& registers_;
  WritePort& port_;
  Tally& tally_;
  const bool per_packet_;
  /// Number of head triggers in the queue. Greater than 0 only while the port is stalled, which is
  /// permanent.
  uint32_t triggers_waiting_ = 0;
};

}  // namespace sluice::device::enso
