// SPDX-License-Identifier: BSD-3-Clause
//
// Reactive notifications (docs/enso-hardware.md, "Receiving"): one status bit a pipe
// decides whether an accepted packet or a head store writes a notification.
// Called by the receive path and, for head stores, by the register window.
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

  /// A packet's flits are in host memory and the pipe's tail includes them.
  void PacketAccepted(uint32_t id, Pipe& pipe, NotificationBuffer& nb) {
    if (!pipe.status) NotifyPacket(id, pipe, nb);
  }

  /// A drop keeps the pipe silent until its head is stored.
  void PacketDropped(Pipe& pipe) { SetStatus(pipe); }

  /// The trigger of an rx_head store is served at once, ahead of every packet still
  /// to come; behind a stalled port triggers fill their queue and then are lost.
  void HeadStored(uint32_t id);

 private:
  /// In per-packet mode no packet looks at the bit: it stays clear.
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
  uint32_t triggers_waiting_ = 0;  ///< Only a stalled port leaves any waiting, for ever.
};

}  // namespace sluice::device::enso
