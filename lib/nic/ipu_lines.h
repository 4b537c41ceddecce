// SPDX-License-Identifier: BSD-3-Clause
//
// An endpoint of a net_ipu port, through the driver's native API. Used by CoherentQueue.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net_ipu/rte_pmd_ipu.h"
#include "nic/interface.h"
#include "nic/queue_counters.h"

namespace sluice::nic {

/// Implements the concept FrameLines (coherent.h), which CoherentQueue uses. The main thread opens
/// and closes it while no worker uses it. Otherwise one worker uses it.
class IpuLines {
 public:
  using Frame = rte_pmd_ipu_line_frame;
  static constexpr uint32_t kMinFrameBytes = RTE_PMD_IPU_ENDPOINT_MIN_FRAME;
  static constexpr uint32_t kMaxFrameBytes = RTE_PMD_IPU_ENDPOINT_MAX_FRAME;
  static constexpr uint32_t kMaxFrames = RTE_PMD_IPU_ENDPOINT_MAX_FRAMES;

  /// Opens the endpoints of queues 0 … workers − 1 of a stopped port. RSS spreads frames over them.
  /// `packet_bytes` must be a result of FitPacketBytes. Returns 0, or a negative errno with `error`
  /// set to one line.
  static int Open(const InterfaceOptions& options, std::vector<IpuLines>* lines,
                  std::string* error);

  uint32_t Wait(Frame* frames) { return rte_pmd_ipu_endpoint_wait(lines_.get(), frames); }
  void Answer(const Frame* frames, uint32_t count) {
    rte_pmd_ipu_endpoint_answer(lines_.get(), frames, count);
  }
  uint8_t* GrownRoom(uint32_t length) {
    return rte_pmd_ipu_endpoint_grown_room(lines_.get(), length);
  }
  void CommitGrown(uint32_t length) { rte_pmd_ipu_endpoint_take_grown(lines_.get(), length); }
  uint8_t* Room(uint32_t length) { return rte_pmd_ipu_endpoint_room(lines_.get(), length); }
  void Send(uint32_t length) { rte_pmd_ipu_endpoint_send(lines_.get(), length); }
  void Flush() { rte_pmd_ipu_endpoint_flush(lines_.get()); }
  std::span<const uint8_t> memory() const {
    uint64_t bytes = 0;
    const uint8_t* const first = rte_pmd_ipu_endpoint_memory(lines_.get(), &bytes);
    return {first, bytes};
  }
  FrameTotals Outstanding() {
    FrameTotals totals;
    rte_pmd_ipu_endpoint_outstanding(lines_.get(), &totals.pkts, &totals.bytes);
    return totals;
  }
  void Withdraw() { rte_pmd_ipu_endpoint_withdraw(lines_.get()); }
  bool LinkUp() const { return rte_pmd_ipu_endpoint_up(lines_.get()); }
  /// May be called by any thread.
  rte_pmd_ipu_endpoint_stats Stats() const {
    rte_pmd_ipu_endpoint_stats stats{};
    rte_pmd_ipu_endpoint_stats_get(lines_.get(), &stats);
    return stats;
  }

 private:
  struct Close {
    void operator()(rte_pmd_ipu_endpoint* lines) const { rte_pmd_ipu_endpoint_close(lines); }
  };
  explicit IpuLines(rte_pmd_ipu_endpoint* lines) : lines_(lines) {}

  std::unique_ptr<rte_pmd_ipu_endpoint, Close> lines_;
};

}  // namespace sluice::nic
