// SPDX-License-Identifier: BSD-3-Clause
//
// Model of the packetized NIC with the registers of regs/ipu.h: descriptor rings, region links or
// cache-line endpoints, RSS, flow rules, filters and statistics. It has neither threads nor a
// clock; lib/emulator steps it. tests/device/ipu tests it descriptor by descriptor.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "bar/dma.h"
#include "device/device.h"
#include "device/ipu/clock.h"
#include "device/ipu/filter.h"
#include "device/ipu/flow_table.h"
#include "device/ipu/frame_endpoint.h"
#include "device/ipu/link_queue.h"
#include "device/ipu/rss.h"
#include "device/ipu/rx_queue.h"
#include "device/ipu/statistics.h"
#include "device/ipu/tx_queue.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {

/// Properties of the hardware that software cannot change.
struct IpuConfig {
  /// Number of queue pairs; clamped to 1 … kMaxQueues.
  uint32_t queue_pairs = regs::ipu::kMaxQueues;
  uint32_t endpoints = regs::ipu::kMaxQueues;  ///< In the format of kEndpoints; at most
                                               ///< queue_pairs.
};

/// See Device. Accesses all host memory through `dma`, which must outlive the model. Invalid
/// addresses, doorbells and descriptors only increment counters.
class IpuNic final : public Device {
 public:
  IpuNic(const bar::DmaSpace& dma, const IpuConfig& config);

  void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) override;
  uint64_t ReadRegister(uint32_t offset, uint32_t bytes) override;
  /// Drives the device's clock, the timeouts of endpoint loads and the aging of rules.
  void SetTime(uint64_t now_ns) override { clock_.SetTime(now_ns); }
  void SetInterrupts(InterruptSink* sink) override { interrupts_ = sink; }
  void SetPermanentAddress(std::span<const uint8_t, 6> address) override;
  void SetCarrier(bool up) override { carrier_ = up; }
  /// While bus mastering is disabled, links and endpoints are rejected as if their memory were
  /// unmapped, and an endpoint that is disabled is abandoned.
  void SetMastering(bool on) override { mastering_ = on; }
  /// Disables rings, links and endpoints that have lost part of their memory, and counts a fault
  /// for each.
  void MemoryTaken() override;
  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;
  void HostDied(FrameSink& sink) override;
  std::span<const Counter> Counters() override;

 private:
  /// Destination of one frame and the contents of its write-back.
  struct Route {
    uint32_t queue;
    bool drop;
    RxMetadata metadata;
    FlowEntry* rule;  ///< Matching rule, or null.
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
  void DisableEndpoint(uint32_t queue);
  /// Returns whether the queue pair has rings or a link.
  bool HasRingOrLink(uint32_t queue) const;
  /// Access the registers of page 0, starting at kPortTables.
  void WritePortTables(uint32_t offset, uint32_t value);
  uint32_t ReadPortTables(uint32_t offset) const;
  void WriteClock(uint32_t offset, uint64_t value);
  /// Handles a store to kRingInterrupt.
  void Arm(uint32_t queue, uint64_t value);
  /// Raises the interrupts of those receive queues in the bit mask that are armed.
  void Fire(uint32_t queues);
  void RunFlowCommand(uint32_t command);
  /// Returns the registers' aging parameters for the rule to be added.
  FlowAge Age() const;
  /// Returns whether the settings require more information about a frame than its packet class.
  /// Called whenever settings change.
  bool NeedsClassify() const;
  bool Accepts(const WireFrame& frame) const;
  /// Parses, hashes, verifies and looks up a frame, except for functions that are disabled.
  Route Classify(const WireFrame& frame);
  /// Delivers or drops one frame. Returns kStatRxFrames if the frame was written to the host, or
  /// the counter that counts its drop. Returns nullopt if the frame must wait for room (`pause`) or
  /// for descriptors in remote memory.
  std::optional<regs::ipu::Statistic> Place(const WireFrame& frame, bool pause);
  std::optional<regs::ipu::Statistic> PlaceAt(const Route& route, const WireFrame& frame,
                                              bool pause);
  /// Like PlaceAt, for frames that may need VLAN stripping or timestamps.
  std::optional<regs::ipu::Statistic> PlaceTreated(Route route, const WireFrame& frame, bool pause);
  std::optional<regs::ipu::Statistic> PlaceInLink(LinkQueue& link, const WireFrame& frame,
                                                  bool pause);
  std::optional<regs::ipu::Statistic> PlaceInEndpoint(FrameEndpoint& endpoint,
                                                      const WireFrame& frame, bool pause);
  /// Writes leading frames that need no classification, if the settings allow it. Counts these
  /// frames and returns their number.
  uint32_t PlacePlain(std::span<const WireFrame> frames);
  /// Serves all links and endpoints. For an idle link or endpoint, this costs a few load
  /// instructions.
  void ServeHosts();

  const bar::DmaSpace& dma_;
  const uint32_t queue_pairs_;
  const uint32_t endpoint_count_;
  uint64_t permanent_address_ = 0;  ///< In the format of kPermanentAddress.
  bool carrier_ = true;
  bool mastering_ = true;
  Clock clock_;
  InterruptSink* interrupts_ = nullptr;

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

  std::array<uint32_t, regs::ipu::kStatistics / 4> port_{};  ///< Register file of page 0, indexed
                                                             ///< by word.
  std::array<std::array<QueueRegisters, 2>, regs::ipu::kMaxQueues> queue_registers_{};  ///< RX, TX.
  std::array<LinkRegisters, regs::ipu::kMaxQueues> link_registers_{};
  std::array<EndpointRegisters, regs::ipu::kMaxQueues> endpoint_registers_{};
  uint32_t flow_status_ = 0;
  uint64_t flow_hits_ = 0;  ///< In the format of kFlowHits.
  uint64_t flow_hit_bytes_ = 0;
  RssHash rss_;
  FlowTable flows_;
  bool classify_ = false;  ///< Result of NeedsClassify().
  Filter filter_;
  uint32_t clock_low_ = 0;  ///< Low half of a clock register whose high half has not been written
                            ///< yet.
  /// Scratch space for a frame whose VLAN tag is removed.
  std::array<uint8_t, regs::ipu::kMaxFrameBytes> untagged_;
  std::array<RxQueue, regs::ipu::kMaxQueues> rx_;
  std::array<TxQueue, regs::ipu::kMaxQueues> tx_;
  std::array<LinkQueue, regs::ipu::kMaxQueues> links_;
  std::array<FrameEndpoint, regs::ipu::kMaxQueues> endpoints_;
  uint32_t linked_ = 0;         ///< Bit mask of queue pairs with an enabled link.
  uint32_t with_endpoint_ = 0;  ///< Bit mask of queue pairs whose endpoint was enabled.
  uint32_t unpublished_ = 0;    ///< Bit mask of RX queues with unpublished completions.
  uint32_t armed_ = 0;          ///< Bit mask of RX queues that raise an interrupt at their next
                                ///< completion.
  TxStaging staging_;
  uint32_t next_tx_ = 0;  ///< Next queue pair in the round robin.

  Statistics statistics_{};
  std::array<Counter, regs::ipu::kStatisticCount> counters_ =
      ZeroCounters(regs::ipu::kStatisticRows);
};

}  // namespace sluice::device::ipu
