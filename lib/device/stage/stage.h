// SPDX-License-Identifier: BSD-3-Clause
//
// An accelerator behind the programmable switch: takes messages by the face of each node that it
// is, has them worked on, and sends the results on. A message is taken only when its answer can be
// put: a device that is twice in a chain does not deadlock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "device/stage/chain_device.h"
#include "device/stage/work.h"

namespace sluice::device::stage {

/// What a stage has done. One writer; anybody reads. Zeroes at first.
struct StageCounters {
  alignas(64) std::atomic<uint64_t> steps;  ///< Grows while it lives.
  std::atomic<uint64_t> batches;
  std::atomic<uint64_t> done;
  std::atomic<uint64_t> failed;
  std::array<std::atomic<uint64_t>, kMaxRefusals> refused;

  static void Add(std::atomic<uint64_t>& counter, uint64_t count) {
    counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// One thread. All that it is made of outlives it.
class Stage {
 public:
  Stage(LinkMemory& link, pcie_switch::PortId port, Executor& executor, StageCounters& counters)
      : device_(link, port), executor_(&executor), counters_(&counters) {}

  /// False: there was nothing to do.
  bool Step();

 private:
  /// Bytes of messages that a batch may have, beyond its first message.
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
