// SPDX-License-Identifier: BSD-3-Clause
//
// From the first flit of a frame to its pipe (docs/enso-hardware.md, "Steering"): key
// fields at fixed offsets, masked by protocol and SYN, then the flow table, then
// the fallback. Called by the receive path for every frame.
#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "device/enso/clocked.h"
#include "device/enso/flow_table.h"

namespace sluice::device::enso {

class Steering {
 public:
  /// Instead of a pipe: no entry matched and there are no fallback pipes.
  static constexpr uint32_t kNoPipe = regs::enso::kMaxPipes;
  /// Bytes of a frame that steering reads.
  static constexpr uint32_t kHeaderBytes = 48;
  /// Frames whose keys are hashed side by side, one in each lane of a vector.
  static constexpr uint32_t kLanes = 8;

  explicit Steering(Clock& clock) : clock_(clock) {}

  bool InsertFlow(const FlowKey& key, uint32_t pipe) { return flows_.Insert(key, pipe); }
  void SetFallback(uint32_t count, uint32_t mask, bool round_robin);

  /// The pipe of a frame of `length` bytes whose first kHeaderBytes stand at `header`.
  uint32_t Target(const uint8_t* header, uint32_t length);

  /// The pipes of frames of at least kHeaderBytes each, in the order of arrival.
  void Targets(std::span<const WireFrame> frames, uint32_t* pipes);

 private:
  void SteerByHash(const WireFrame* frames, uint32_t count, uint32_t* pipes) const;
  uint32_t Resolve(const FlowKey& key, uint32_t hash, uint32_t length);
  /// The fallback alone decides, by hash.
  bool ByHashAlone() const { return flows_.empty() && fallback_count_ != 0 && !round_robin_; }

  Clock& clock_;
  FlowTable flows_;
  uint32_t fallback_count_ = 0;
  uint32_t fallback_mask_ = 0;
  bool round_robin_ = false;
  RoundRobin counter_;  ///< Steps whether or not it is used.
};

}  // namespace sluice::device::enso
