// SPDX-License-Identifier: BSD-3-Clause
//
// Maps the first flit of a frame to its pipe (docs/enso-hardware.md, "Steering"). The key consists
// of fields at fixed offsets, masked according to protocol and SYN. If the flow table has no entry
// for the key, the fallback selects the pipe. The receive path steers every frame.
#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "device/enso/clocked.h"
#include "device/enso/flow_table.h"

namespace sluice::device::enso {

class Steering {
 public:
  /// Value used in place of a pipe: no entry matched and no fallback pipe exists.
  static constexpr uint32_t kNoPipe = regs::enso::kMaxPipes;
  /// Number of frame bytes that steering reads.
  static constexpr uint32_t kHeaderBytes = 48;
  /// Number of frames whose keys are hashed in parallel, one per vector lane.
  static constexpr uint32_t kLanes = 8;

  explicit Steering(Clock& clock) : clock_(clock) {}

  bool InsertFlow(const FlowKey& key, uint32_t pipe) { return flows_.Insert(key, pipe); }
  void SetFallback(uint32_t count, uint32_t mask, bool round_robin);

  /// Returns the pipe of a frame of `length` bytes whose first kHeaderBytes are at `header`.
  uint32_t Target(const uint8_t* header, uint32_t length);

  /// Computes the pipes of frames of at least kHeaderBytes each, in order of arrival.
  void Targets(std::span<const WireFrame> frames, uint32_t* pipes);

 private:
  void SteerByHash(const WireFrame* frames, uint32_t count, uint32_t* pipes) const;
  uint32_t Resolve(const FlowKey& key, uint32_t hash, uint32_t length);
  /// Returns whether the hash alone selects the pipe: there are fallback pipes, but no flow entries
  /// and no round robin.
  bool ByHashAlone() const { return flows_.empty() && fallback_count_ != 0 && !round_robin_; }

  Clock& clock_;
  FlowTable flows_;
  uint32_t fallback_count_ = 0;
  uint32_t fallback_mask_ = 0;
  bool round_robin_ = false;
  RoundRobin counter_;  ///< Advances with time even while it is not used.
};

}  // namespace sluice::device::enso
