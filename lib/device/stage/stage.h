// SPDX-License-Identifier: BSD-3-Clause
//
// An accelerator that is attached to the programmable switch. It receives messages through the
// interface of each of its nodes, runs the executor and sends the results. It accepts a message
// only if it can send the answer, so that a chain that contains the same device twice does not
// deadlock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "device/stage/chain_device.h"
#include "device/stage/work.h"

namespace sluice::device::stage {

/// Counters of a stage. One thread writes them; any thread may read them. Initially zero.
struct StageCounters {
  alignas(64) std::atomic<uint64_t> steps;  ///< Increases while the stage runs.
  std::atomic<uint64_t> batches;
  std::atomic<uint64_t> done;
  std::atomic<uint64_t> failed;
  std::array<std::atomic<uint64_t>, kMaxRefusals> refused;

  static void Add(std::atomic<uint64_t>& counter, uint64_t count) {
    counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// An accelerator with its executor. Used by one thread. All references must outlive it.
class Stage {
 public:
  Stage(LinkMemory& link, pcie_switch::PortId port, Executor& executor, StageCounters& counters)
      : device_(link, port), executor_(&executor), counters_(&counters) {}

  /// Does the pending work, but at most one batch per node. Returns false if there was no work.
  bool Step();

 private:
  /// Limit of a streaming batch in bytes, not counting its first message. Each message is counted
  /// as having the node's maximum message size.
  static constexpr uint32_t kBatchBytes = 1u << 20;

  bool ServeStream(NodeSlot& slot);
  bool ServeQueue(DescriptorQueue& queue);
  void Run(uint32_t count);

  ChainDevice device_;
  Executor* executor_;
  StageCounters* counters_;
  std::array<Work, kMaxBatch> batch_;
  std::array<pcie_switch::Message, kMaxBatch> messages_;
  std::array<std::vector<uint8_t>, kMaxBatch> results_;
};

}  // namespace sluice::device::stage
