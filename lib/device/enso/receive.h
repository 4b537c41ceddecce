// SPDX-License-Identifier: BSD-3-Clause
//
// The receive path (docs/enso-hardware.md, "Receiving"): each frame from the MAC is steered and
// either copied flit by flit to its pipe and notified, or dropped as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "bar/dma.h"
#include "device/device.h"
#include "device/enso/clocked.h"
#include "device/enso/counters.h"
#include "device/enso/notification.h"
#include "device/enso/register_file.h"
#include "device/enso/steering.h"
#include "device/enso/write_port.h"

namespace sluice::device::enso {

/// The parts of the NIC that the Receiver uses. All must outlive it.
struct ReceiveParts {
  const bar::DmaSpace& dma;
  RegisterFile& registers;
  Steering& steering;
  Notifier& notifier;
  WritePort& port;
  const Clock& clock;
  const Timestamper& timestamper;
  Tally& tally;
};

class Receiver {
 public:
  explicit Receiver(const ReceiveParts& parts) : parts_(parts) {}

  /// See EnsoNic::Receive.
  uint32_t Receive(std::span<const WireFrame> frames, bool pause);

 private:
  /// Number of frames that are steered before the first of them is delivered.
  static constexpr uint32_t kBurst = 32;
  /// Values used in place of a pipe: the frame is dropped before steering.
  static constexpr uint32_t kEmpty = Steering::kNoPipe + 1;
  static constexpr uint32_t kOversize = Steering::kNoPipe + 2;
  static_assert(kOversize < regs::enso::kMaxPipes + RegisterFile::kNoPipes);

  enum class Outcome : uint8_t { kWritten, kDropped, kWait };

  uint32_t ReceiveBurst(std::span<const WireFrame> frames, bool pause, bool stamped,
                        bool all_plain);
  uint32_t WritePlain(const WireFrame* frames, uint32_t i, uint32_t end, uint64_t& bytes);
  [[gnu::noinline]] Outcome ReceiveUncommon(uint32_t target, const WireFrame& frame, bool pause,
                                            bool stamped);
  [[gnu::noinline]] uint32_t SteerUncommon(std::span<const WireFrame> frames, bool stamped);
  uint32_t SteerUncommon(const WireFrame& frame);
  void Write(const Pipe& pipe, const WireFrame& frame, uint32_t flits, bool stamped);
  void WriteFlitwise(const Pipe& pipe, const WireFrame& frame, uint32_t flits);
  void RewriteStamp(const Pipe& pipe);
  uint8_t* FlitAddress(const Pipe& pipe, uint32_t index) const;
  void DropUnsteered(uint32_t target);
  void Drop(Pipe& pipe, const NotificationBuffer& nb, uint32_t flits);
  /// Returns whether the pipe accepts the frame. A single-flit frame advances the pipe's tail even
  /// if the pipe's notification buffer is disabled.
  static bool Enabled(const Pipe& pipe, const NotificationBuffer& nb, uint32_t flits) {
    return pipe.rx_mem != 0 && (nb.rx_mem != 0 || flits == 1);
  }
  void HoldForEver(std::span<const WireFrame> frames);

  ReceiveParts parts_;
  std::array<uint32_t, kBurst> targets_{};  ///< Pipe of each frame of the burst.
};

}  // namespace sluice::device::enso
