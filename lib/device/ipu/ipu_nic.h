// SPDX-License-Identifier: BSD-3-Clause
//
// Model of the packetized NIC behind regs/ipu.h: descriptor rings, links of swapped
// regions or endpoints of cache lines, RSS, flow rules, filters and statistics. A step function without threads or
// clock; stepped by lib/emulator, tested descriptor by descriptor in tests/device/ipu.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "bar/dma.h"
#include "device/device.h"
#include "device/ipu/flow_table.h"
#include "device/ipu/frame_endpoint.h"
#include "device/ipu/link_queue.h"
#include "device/ipu/rss.h"
#include "device/ipu/rx_queue.h"
#include "device/ipu/statistics.h"
#include "device/ipu/tx_queue.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// What is fixed when the chip is made.
struct IpuConfig {
  uint32_t queue_pairs = regs::ipu::kMaxQueues;  ///< 1 … kMaxQueues; clamped.
  uint32_t endpoints = regs::ipu::kMaxQueues;    ///< As kEndpoints; at most queue_pairs.
};

/// See Device. All host memory is reached through `dma`, which outlives the model;
/// bad addresses, doorbells and descriptors end in a counter.
class IpuNic final : public Device {
 public:
  IpuNic(const bar::DmaSpace& dma, const IpuConfig& config);

  void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) override;
  uint64_t ReadRegister(uint32_t offset, uint32_t bytes) override;
  /// How long loads of endpoints wait. Nothing else in this device depends on time.
  void SetTime(uint64_t now_ns) override { now_ns_ = now_ns; }
  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;
  std::span<const Counter> Counters() override;

 private:
  /// Where one frame goes and what its write-back says.
  struct Route {
    uint32_t queue;
    bool drop;
    RxMetadata metadata;
    FlowEntry* rule;  ///< That matched; null: none.
  };

  void Reset();
  void WritePort(uint32_t offset, uint32_t value);
  void WriteQueue(uint32_t queue, uint32_t offset, uint64_t value);
  uint32_t ReadPort(uint32_t offset) const;
  uint64_t ReadQueue(uint32_t queue, uint32_t offset) const;
  void WriteLink(uint32_t queue, uint32_t offset, uint64_t value);
  uint64_t ReadLink(uint32_t queue, uint32_t offset) const;
  bool EnableLink(uint32_t queue);
  void WriteEndpoint(uint32_t queue, uint32_t offset, uint64_t value);
  uint64_t ReadEndpoint(uint32_t queue, uint32_t offset) const;
  bool EnableEndpoint(uint32_t queue);
  /// Whether the queue pair has rings or a link.
  bool HasRingOrLink(uint32_t queue) const;
  void RunFlowCommand(uint32_t command);
  /// Whether any setting asks for more than the packet class; after each change.
  bool NeedsClassify() const;
  bool Accepts(const uint8_t* destination) const;
  /// Parses, hashes, verifies and looks up a frame, as far as that is enabled.
  Route Classify(const WireFrame& frame);
  /// How one frame ends: kStatRxFrames if it is written to the host, else the counter
  /// of its drop. Nothing if it must wait (`pause`).
  std::optional<regs::ipu::Statistic> Place(const WireFrame& frame, bool pause);
  std::optional<regs::ipu::Statistic> PlaceAt(const Route& route, const WireFrame& frame,
                                              bool pause);
  std::optional<regs::ipu::Statistic> PlaceInLink(LinkQueue& link, const WireFrame& frame,
                                                  bool pause);
  std::optional<regs::ipu::Statistic> PlaceInEndpoint(FrameEndpoint& endpoint,
                                                      const WireFrame& frame, bool pause);
  /// Writes leading frames that need no decision, if no setting asks for one; counts
  /// them and returns their number.
  uint32_t PlacePlain(std::span<const WireFrame> frames);
  /// Answers the hosts of all links and endpoints. A few loads for each that says nothing new.
  void ServeHosts();

  const bar::DmaSpace& dma_;
  const uint32_t queue_pairs_;
  const uint32_t endpoint_count_;
  uint64_t now_ns_ = 0;

  struct QueueRegisters {
    uint64_t base;
    uint32_t entries;
    uint32_t buffer_bytes;
  };
  struct LinkRegisters {
    uint64_t base;
    uint64_t bytes;
    uint16_t epoch;
  };
  struct EndpointRegisters {
    uint64_t base;
    uint64_t bytes;
  };

  std::array<uint32_t, regs::ipu::kStatistics / 4> port_{};  ///< Register file of page 0, by word.
  std::array<std::array<QueueRegisters, 2>, regs::ipu::kMaxQueues> queue_registers_{};  ///< RX, TX.
  std::array<LinkRegisters, regs::ipu::kMaxQueues> link_registers_{};
  std::array<EndpointRegisters, regs::ipu::kMaxQueues> endpoint_registers_{};
  uint32_t flow_status_ = 0;
  FlowEntry flow_result_{};  ///< Of the last query.
  RssHash rss_;
  FlowTable flows_;
  bool classify_ = false;  ///< NeedsClassify().
  std::array<RxQueue, regs::ipu::kMaxQueues> rx_;
  std::array<TxQueue, regs::ipu::kMaxQueues> tx_;
  std::array<LinkQueue, regs::ipu::kMaxQueues> links_;
  std::array<FrameEndpoint, regs::ipu::kMaxQueues> endpoints_;
  uint32_t linked_ = 0;       ///< Links that are enabled, by bit.
  uint32_t with_endpoint_ = 0;  ///< Endpoints that were enabled, by bit.
  uint32_t unpublished_ = 0;  ///< RX queues with completions to write back, by bit.
  TxStaging staging_;
  uint32_t next_tx_ = 0;  ///< Round robin over the queue pairs.

  Statistics statistics_{};
  std::array<Counter, regs::ipu::kStatisticCount> counters_;
};

}  // namespace sluice::device::ipu
