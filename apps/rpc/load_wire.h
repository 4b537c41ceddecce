// SPDX-License-Identifier: BSD-3-Clause
//
// Clients that act as the wire of the embedded NIC. They keep a fixed number of calls in flight
// (closed loop), and call the services round-robin, with `run_calls` consecutive calls to each.
// They check every answer. They use the time of the stepping thread, so latencies include the
// device's work.
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

/// The procedure of a service that the clients call.
struct LoadTarget {
  enum class Kind : uint8_t {
    kEmpty,  ///< No arguments and no result.
    kEcho,   ///< The result is the argument's bytes.
    kAdd,    ///< Two numbers; the result is their sum.
    kKeep,   ///< A key, and bytes to store; the result is the stored bytes.
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
  uint32_t run_calls = 100;  ///< Consecutive calls to one target.
  uint32_t echo_bytes = 64;  ///< At most kMaxEchoBytes.
  uint64_t timeout_ns = 1'000'000'000;
  uint64_t seed = 1;
  packet::MacAddress server{0x02, 0, 0, 0, 0, 2};  ///< MAC address of the NIC.

  static constexpr uint32_t kMaxEchoBytes = 8192;
};

/// Outcomes of calls. `late` and `unknown` count frames, `tx_bytes` and `rx_bytes` bytes, and all
/// other members calls. A snapshot from another thread may lack the latest calls.
struct LoadFigures {
  uint64_t calls = 0;
  uint64_t answered = 0;  ///< Right answers.
  uint64_t wrong = 0;     ///< Answers with wrong results.
  uint64_t refused = 0;   ///< Answers with a protocol error.
  uint64_t lost = 0;      ///< Calls not answered in time.
  uint64_t late = 0;      ///< Answers to calls that are unknown, lost or already answered.
  uint64_t unknown = 0;   ///< Frames that are not answers.
  uint64_t tx_bytes = 0;
  uint64_t rx_bytes = 0;
};

class LoadWire : public emulator::Wire {
 public:
  /// The lower 12 bits of an xid are the call's slot. The upper bits are the slot's turn, which
  /// differs between successive calls in the same slot.
  static constexpr uint32_t kTurnShift = 12;
  static constexpr uint32_t kMaxSlots = 1u << kTurnShift;

  enum class Verdict : uint8_t {
    kRight,
    kWrong,    ///< An answer with wrong results.
    kRefused,  ///< An answer with a protocol error.
    kNoCall,   ///< An answer, but not to the last call of a slot.
    kUnknown,  ///< Not an answer.
  };

  explicit LoadWire(LoadOptions options);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  bool IsSource() const override { return true; }
  const emulator::WireTotals& totals() const override { return totals_; }

  /// Makes a call in each slot and returns the frames of the calls. Use it instead of Pull.
  std::span<const device::WireFrame> MakeAll();
  /// Checks a frame from the server. If it answers a call, sets `number` to the call's slot.
  Verdict Judge(const device::WireFrame& frame, uint32_t* number) const;

  /// Stops making new calls. May be called by any thread.
  void Stop() { std::atomic_ref(stopped_).store(true, std::memory_order_relaxed); }
  /// Returns a snapshot. May be called by any thread.
  LoadFigures Figures() const;
  const engine::workload::Histogram& latency() const { return latency_; }

 private:
  struct Slot {
    std::vector<uint8_t> frame;
    uint32_t xid = 0;
    uint32_t target = 0;
    uint64_t sent_ns = 0;  ///< Time of the step that made the call, for the timeout.
    /// base::MonotonicNs() when the call was made, for the latency; `sent_ns` may be earlier.
    uint64_t begun_ns = 0;
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
  std::vector<Slot> slots_;                ///< Calls in flight, indexed by the low bits of the xid.
  std::vector<uint32_t> free_;             ///< Slots without a call.
  std::vector<device::WireFrame> frames_;  ///< Frames that are not pulled yet, in order.
  uint32_t first_frame_ = 0;
  uint32_t next_target_ = 0;
  uint32_t run_ = 0;   ///< Calls made to the current target.
  uint32_t turn_ = 0;  ///< Upper part of the last xid.
  uint32_t expiring_ = 0;
  mutable bool stopped_ = false;
  mutable LoadFigures figures_;
  emulator::WireTotals totals_;
  engine::workload::Histogram latency_;
};

}  // namespace sluice::rpc_app
