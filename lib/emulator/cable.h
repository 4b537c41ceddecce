// SPDX-License-Identifier: BSD-3-Clause
//
// wire=cable:NAME: connects two model NICs with the same NAME, in this process or another one. Each
// receives the frames that the other sends, through memory that both have mapped (cable_lane.h).
// Either end may go away and come back (cable_link.h).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "emulator/cable_lane.h"
#include "emulator/cable_link.h"
#include "emulator/frame_fifo.h"
#include "emulator/gen_options.h"
#include "emulator/wire.h"
#include "emulator/wire_counters.h"

namespace sluice::emulator {

/// Returns the path of the socket through which the ends of the cable `name` connect: in this
/// user's runtime folder, or `name` itself if it contains a '/'. If the name is invalid, returns
/// nullopt and sets `error` to a one-line message.
std::optional<std::string> CablePath(std::string_view name, std::string* error);

class CableWire final : public Wire {
 public:
  /// Time for which the second end waits for an answer from the first before it starts unconnected.
  static constexpr std::chrono::milliseconds kPatience{2000};

  /// Joins the other end if that is listening; otherwise listens for it. `nic` names the model in
  /// the log. `mac` is the model's address; it is changed if the other end has the same address, as
  /// vdevs with the same name do. On failure, for example if the cable already has two ends or its
  /// name is invalid, returns null and sets `error` to a one-line message.
  static std::unique_ptr<CableWire> Create(const std::string& name, std::string_view nic,
                                           MacAddress* mac, std::string* error,
                                           std::chrono::milliseconds patience = kPatience);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  /// Frames for which the ring has no room wait in a queue (see Ready). Frames for which the queue
  /// has no room are dropped and counted, and so are all frames while there is no other end.
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  bool Ready() override;
  /// Returns the carrier. Also checks periodically whether the other end has connected or is gone.
  bool LinkUp(uint64_t now_ns) override;
  const WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  using enum CableCounters::Kind;
  /// Interval between checks for the other end, which need system calls.
  static constexpr uint64_t kTurn_ns = 10'000'000;
  /// Time for which frames from an end that has gone may wait for the device.
  static constexpr uint64_t kDrain_ns = 100'000'000;
  /// Room for the frames that a device can send at once.
  static constexpr uint32_t kWaitingFrames = 1024;
  static constexpr size_t kWaitingBytes = size_t{16} << 20;

  /// Sends frames to the other end and receives frames from it.
  struct Ends {
    explicit Ends(CableLink& link) : sender(link.transmit()), receiver(link.receive()) {}
    CableSender sender;
    CableReceiver receiver;
  };

  CableWire(std::string path, std::string who, const MacAddress& mac)
      : link_(std::move(path), std::move(who), mac) {}
  void Turn(uint64_t now_ns);
  /// Called after the link has been joined.
  void Begin();
  /// Called after the connection has ended: counts the frames that are lost.
  void Finish();

  CableLink link_;
  std::unique_ptr<Ends> ends_;                        ///< Valid while the link is joined or cut.
  FrameFifo waiting_{kWaitingFrames, kWaitingBytes};  ///< Frames waiting for room in the ring.
  uint64_t next_turn_ns_ = 0;
  uint64_t cut_ns_ = 0;
  WireTotals totals_;
  std::array<device::Counter, kKinds> counters_ = device::ZeroCounters(CableCounters::kRows);
};

}  // namespace sluice::emulator
