// SPDX-License-Identifier: BSD-3-Clause
//
// Clients as the wire of the embedded NIC: a fixed number of calls is under way (closed loop), to
// the services in turn, so many to each. Every answer is checked. The stepping thread's time is the
// clients', so that the device's own work is part of the latencies.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/wire.h"
#include "engine/workload/histogram.h"
#include "packet/rewrite.h"

namespace sluice::rpc_app {

/// What clients call of a service.
struct LoadTarget {
  enum class Kind : uint8_t {
    kEmpty,  ///< Nothing is sent or returned.
    kEcho,   ///< Bytes that come back.
    kAdd,    ///< Two numbers, and their sum.
    kKeep,   ///< A key and bytes to keep under it, which come back.
  };
  Kind kind = Kind::kEmpty;
  uint32_t program = 0;
  uint32_t version = 0;
  uint32_t procedure = 0;
  uint16_t port = 0;
};

struct LoadOptions {
  std::vector<LoadTarget> targets;
  uint32_t outstanding = 1;
  uint32_t run_calls = 100;  ///< To one target before the next.
  uint32_t echo_bytes = 64;  ///< At most kMaxEchoBytes.
  uint64_t timeout_ns = 1'000'000'000;
  uint64_t seed = 1;
  packet::MacAddress server{0x02, 0, 0, 0, 0, 2};  ///< Of the NIC.

  static constexpr uint32_t kMaxEchoBytes = 8192;
};

/// What became of calls. All but `late` and `unknown` are calls; a snapshot of another thread may
/// lack the last ones.
struct LoadFigures {
  uint64_t calls = 0;
  uint64_t answered = 0;  ///< As they should be.
  uint64_t wrong = 0;     ///< With other results.
  uint64_t refused = 0;   ///< With an error of the protocol.
  uint64_t lost = 0;      ///< No answer in time.
  uint64_t late = 0;      ///< Answers to calls that were lost, or to none.
  uint64_t unknown = 0;   ///< Frames that are no answers.
  uint64_t tx_bytes = 0;
  uint64_t rx_bytes = 0;
};

class LoadWire : public emulator::Wire {
 public:
  explicit LoadWire(LoadOptions options);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  bool IsSource() const override { return true; }
  const emulator::WireTotals& totals() const override { return totals_; }

  /// No new calls. Any thread.
  void Stop() { std::atomic_ref(stopped_).store(true, std::memory_order_relaxed); }
  /// Any thread.
  LoadFigures Figures() const;
  const engine::workload::Histogram& latency() const { return latency_; }

 private:
  struct Slot {
    std::vector<uint8_t> frame;
    uint32_t xid = 0;
    uint32_t target = 0;
    uint64_t sent_ns = 0;   ///< By the stepping thread's clock.
    uint64_t begun_ns = 0;  ///< By a clock that is read then, and when the answer comes.
    bool waits = false;
  };

  void Make(uint32_t number, uint64_t now_ns);
  uint32_t WriteArguments(const LoadTarget& target, uint32_t xid, uint8_t* to) const;
  uint32_t WriteBytes(uint32_t xid, uint8_t* to) const;
  bool ResultHolds(const LoadTarget& target, uint32_t xid, const uint8_t* result,
                   uint32_t bytes) const;
  void OnReply(uint64_t clock_ns, const device::WireFrame& frame);
  void Count(uint64_t& counter, uint64_t by = 1) {
    std::atomic_ref(counter).store(counter + by, std::memory_order_relaxed);
  }

  LoadOptions options_;
  std::vector<Slot> slots_;                ///< Calls under way, by xid modulo their number.
  std::vector<uint32_t> free_;             ///< Slots without a call.
  std::vector<device::WireFrame> frames_;  ///< Made and not taken yet, in order.
  uint32_t first_frame_ = 0;
  uint32_t next_target_ = 0;
  uint32_t run_ = 0;   ///< Calls made to it.
  uint32_t turn_ = 0;  ///< Upper part of xids.
  uint32_t expiring_ = 0;
  mutable bool stopped_ = false;
  mutable LoadFigures figures_;
  emulator::WireTotals totals_;
  engine::workload::Histogram latency_;
};

}  // namespace sluice::rpc_app
