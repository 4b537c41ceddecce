// SPDX-License-Identifier: BSD-3-Clause
//
// MSI-X vectors as the client receives them: an eventfd each. One that is raised while the client
// has taken its eventfd away (a masked vector) is pending, and told with the next one. An interrupt
// stays behind the writes before it, as on PCI: where these travel as messages, it is told once the
// client has answered all that were made before it was raised, however many follow.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "emulator/channel.h"
#include "emulator/vfio_user/eventfd_signal.h"
#include "emulator/vfio_user/message_dma.h"
#include "regs/vectors.h"

namespace sluice::emulator::vfio_user {

/// Raise: any thread; never waits but for another call. The rest: one thread.
class ClientInterrupts final : public device::InterruptSink {
 public:
  /// `messages` outlives this object.
  explicit ClientInterrupts(const MessageDma& messages) : messages_(messages) {}

  void Raise(uint32_t vector) override;
  /// Writes were answered, or taken back: tells what had to stay behind them.
  void WritesArrived();

  /// Vectors [start, start + files.size()) go to `files`, which must be eventfds. False: one is
  /// not, or there is no way to signal them; nothing has changed then.
  bool Set(uint32_t start, std::vector<File> files);
  /// Vectors [start, start + count) go nowhere, until they are set.
  void Take(uint32_t start, uint32_t count);
  /// All of them: the client has no interrupts any more, and nothing is pending.
  void Disable();
  /// What was raised and is not told yet is never told; nothing is pending. The eventfds stay.
  void Forget();
  /// A bit for each vector, the lowest first.
  uint64_t pending() const;

 private:
  static_assert(regs::kVectors <= 64);

  void Tell(uint32_t vector);

  const MessageDma& messages_;
  mutable std::mutex mutex_;  ///< Guards the rest.
  EventfdSignal signal_;
  bool enabled_ = false;  ///< From the first Set to Disable.
  uint64_t pending_ = 0;
  /// Of each vector that was raised and not told yet, the write that it stays behind; else 0.
  std::array<uint64_t, regs::kVectors> behind_{};
  std::array<File, regs::kVectors> files_;
};

}  // namespace sluice::emulator::vfio_user
