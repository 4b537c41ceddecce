// SPDX-License-Identifier: BSD-3-Clause
//
// wire=cable:NAME: the wire ends at another model NIC, in this process or another one, which was
// given the same name. What one sends the other receives, for the price of copying it into memory
// that both have mapped (cable_lane.h). Either end may die and come back (cable_link.h).
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

namespace sluice::emulator {

/// Where the ends of the cable `name` meet: a socket in this user's runtime folder, or at the name
/// itself if there is a '/' in it. Nothing, with one line in `error`, if it is no such name.
std::optional<std::string> CablePath(std::string_view name, std::string* error);

class CableWire final : public Wire {
 public:
  /// How long the second end waits for the first one to answer before it starts without.
  static constexpr std::chrono::milliseconds kPatience{2000};

  /// Joins the other end, or waits for it. `nic` names the model in the log. `mac` is the model's
  /// address; if the other end has the same, which vdevs of one name have, it gets another.
  /// Null, with one line in `error`, if the cable has two ends already or its name is none.
  static std::unique_ptr<CableWire> Create(const std::string& name, std::string_view nic,
                                           MacAddress* mac, std::string* error,
                                           std::chrono::milliseconds patience = kPatience);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  /// Frames beyond the room are kept as far as possible; see Ready.
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  bool Ready() override;
  /// From time to time also looks for the other end.
  bool LinkUp(uint64_t now_ns) override;
  const WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  enum { kFull, kDown, kOversize, kCutTx, kCutRx, kJoins, kCounters };
  /// Between two looks for the other end: system calls.
  static constexpr uint64_t kTurn_ns = 10'000'000;
  /// How long frames that a vanished end had sent may wait for the device.
  static constexpr uint64_t kDrain_ns = 100'000'000;
  /// Room for what a device sends at once.
  static constexpr uint32_t kWaitingFrames = 1024;
  static constexpr size_t kWaitingBytes = size_t{16} << 20;

  /// Frames between the two ends, in both directions.
  struct Ends {
    explicit Ends(CableLink& link) : sender(link.transmit()), receiver(link.receive()) {}
    CableSender sender;
    CableReceiver receiver;
  };

  CableWire(std::string path, std::string who, const MacAddress& mac)
      : link_(std::move(path), std::move(who), mac) {}
  void Turn(uint64_t now_ns);
  /// After the link was joined.
  void Begin();
  /// After it was cut: counts what will not arrive.
  void Finish();

  CableLink link_;
  std::unique_ptr<Ends> ends_;                        ///< While the link is joined or cut.
  FrameFifo waiting_{kWaitingFrames, kWaitingBytes};  ///< For room in the ring.
  uint64_t next_turn_ns_ = 0;
  uint64_t cut_ns_ = 0;
  WireTotals totals_;
  std::array<device::Counter, kCounters> counters_ = {{{"cable_full", 0},
                                                       {"cable_down", 0},
                                                       {"cable_oversize", 0},
                                                       {"cable_cut_tx", 0},
                                                       {"cable_cut_rx", 0},
                                                       {"cable_joins", 0}}};
};

}  // namespace sluice::emulator
