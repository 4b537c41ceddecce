// SPDX-License-Identifier: BSD-3-Clause
//
// Interrupts as the host's process waits for them: an eventfd for each number.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "device/device.h"
#include "emulator/channel.h"
#include "regs/vectors.h"

namespace sluice::emulator {

/// Any thread; Raise never waits.
class InterruptFiles final : public device::InterruptSink {
 public:
  /// See Attachment::InterruptFd.
  int Open(uint32_t vector);
  void Raise(uint32_t vector) override;

 private:
  std::mutex mutex_;  ///< Of those who open.
  std::array<File, regs::kVectors> files_;
  std::atomic<uint32_t> open_{0};  ///< Files that are there, by bit.
};

}  // namespace sluice::emulator
