// SPDX-License-Identifier: BSD-3-Clause
//
// Interrupts for threads that wait in the host process: one eventfd per interrupt vector.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "device/device.h"
#include "emulator/channel.h"
#include "regs/vectors.h"

namespace sluice::emulator {

/// Signals each interrupt through its eventfd. May be used by any thread; Raise never waits.
class InterruptFiles final : public device::InterruptSink {
 public:
  /// See Attachment::InterruptFd.
  int Open(uint32_t vector);
  void Raise(uint32_t vector) override;

 private:
  std::mutex mutex_;  ///< Serializes calls to Open.
  std::array<base::OwnedFd, regs::kVectors> files_;
  std::atomic<uint32_t> open_{0};  ///< Bit mask of the files that exist.
};

}  // namespace sluice::emulator
