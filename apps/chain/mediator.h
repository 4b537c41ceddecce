// SPDX-License-Identifier: BSD-3-Clause
//
// Does the CPU's work for one conventional chain, in which the CPU moves every message from device
// to device. Data stays in host memory: each device reads the output of its predecessor in place.
// The CPU polls rings of records, writes descriptors, and rings a device's doorbell once per poll
// for all new descriptors. It does not copy or read data, sleep, handle interrupts, or allocate
// memory.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "device/stage/link.h"
#include "device/stage/registers.h"
#include "device/switch/message.h"
#include "device/switch/spec.h"
#include "engine/chain/graph.h"

namespace sluice::chain_app {

/// Counts of the CPU's operations.
struct MediatorCounters {
  uint64_t polls = 0;        ///< Reads of records that may not have been written yet.
  uint64_t records = 0;      ///< Records found.
  uint64_t descriptors = 0;  ///< Descriptors written.
  uint64_t doorbells = 0;
  uint64_t received = 0;  ///< Messages that ended at the host.
  uint64_t refused = 0;   ///< Refused by a stage.
  uint64_t failed = 0;    ///< Failed at a stage.
  uint64_t no_edge = 0;
  uint64_t stage_dead = 0;  ///< Sent to a dead device, or lost with a device that died.
};

/// Used by one thread, except Make and functions that state otherwise.
class Mediator {
 public:
  using PortId = device::pcie_switch::PortId;
  /// Counting states, indexed by node. A chain passes them on to its replacement.
  using States = std::vector<std::shared_ptr<device::pcie_switch::State>>;

  struct Plan {
    const engine::chain::Graph* graph = nullptr;
    const engine::chain::Chain* chain = nullptr;  ///< A chain of `graph`.
    std::vector<uint32_t> slots;                  ///< Slot of each node in its device.
    uint64_t address = 0;                         ///< Base address of memory() for devices.
    uint32_t outstanding = 0;                     ///< Maximum messages in flight.
    States states;                                ///< If empty, the states of the graph are used.
    uint32_t incarnation = 0;                     ///< NodeSetup::chain.
  };
  static constexpr size_t kMostBytes = size_t{1} << 30;  ///< Maximum size of memory().

  /// `counters` must outlive the object. Returns null and sets `error` if memory is insufficient.
  static std::unique_ptr<Mediator> Make(const Plan& plan, MediatorCounters& counters,
                                        std::string* error);

  // Constant during the object's lifetime. May be called by any thread.
  std::span<uint8_t> memory() const { return {memory_.data(), memory_.bytes()}; }
  uint64_t address() const { return address_; }
  States states() const;
  /// Location of a node: the port of its device, and its slot there.
  struct Place {
    PortId port;
    uint32_t slot;
  };
  /// Returns the places of all nodes except those at the host. The first place is that of the NIC's
  /// receive node.
  std::vector<Place> places() const;

  /// Posts the receive buffers. Call it once, before the first step.
  void Start();
  /// Sends pending setups to devices and forwards completed messages. Returns false if there was
  /// nothing to do. `link`: the link at the root port.
  bool Step(device::stage::LinkWriter& link);
  /// Marks the device at a port as dead, and drops its current and future messages.
  void Fail(PortId port);
  /// Marks the device as alive, and sets it up again because it has lost its state.
  void Restore(PortId port);
  /// Stops accepting messages; messages in flight continue to their end.
  void Drain();
  /// Returns whether all messages have ended, and all requests to free nodes have been sent to the
  /// devices.
  bool over() const { return phase_ == Phase::kFrees && to_send_.empty(); }

 private:
  enum class Role : uint8_t { kSource, kStage, kSink, kHost };
  enum class Phase : uint8_t { kRuns, kDrains, kFrees };
  static constexpr uint32_t kNone = ~0u;

  /// A message in a descriptor.
  struct Job {
    uint32_t input = kNone;  ///< Index of the input buffer; `output`: index of the output buffer.
    uint32_t output = kNone;
    uint32_t number = 0;
    uint32_t key1 = 0;
    uint32_t token = 0;
  };
  /// A node and its rings.
  struct Queue {
    Role role = Role::kStage;
    PortId port = 0;
    uint32_t slot = 0;
    uint32_t command = 0;
    std::shared_ptr<device::pcie_switch::State> state;
    bool counts = false;
    device::pcie_switch::OnDeath on_death{};
    uint32_t bypass = kNone;
    device::pcie_switch::Policy out;
    uint32_t turn = 0;    ///< Round-robin counter that selects the next of several targets.
    uint32_t visits = 0;  ///< Maximum copies of a message at this node.
    bool dead = false;

    uint32_t slots = 0;  ///< Maximum messages at this node; a power of two.
    device::pcie_switch::LegacyDescriptor* ring = nullptr;
    uint64_t* records = nullptr;  ///< Two words per record.
    std::vector<Job> jobs;
    uint32_t posted = 0;
    uint32_t rung = 0;
    uint32_t done = 0;
  };
  struct Pending {
    uint64_t address;
    device::stage::NodeSetup setup;
  };

  explicit Mediator(MediatorCounters& counters) : counters_(counters) {}
  void AddNodes(const Plan& plan);
  bool Allocate(uint32_t outstanding);
  static void Clear(Queue& queue);
  void EnqueueSetup(const Queue& queue, device::stage::SetupAction action);
  bool SendSetups(device::stage::LinkWriter& link);
  bool Idle() const;
  Queue* Alive(uint32_t index);
  void Complete(Queue& queue, const device::pcie_switch::LegacyRecord& record);
  void Forward(Queue& from, uint32_t buffer, uint32_t length, const Job& about, uint32_t key0);
  static device::pcie_switch::NodeMask TargetsOf(Queue& from, uint32_t key0, uint32_t key1);
  void Post(Queue& queue, uint32_t input, uint32_t length, const Job& about, uint32_t key0);
  void Release(uint32_t buffer);
  void End(uint32_t token);
  void Receive(uint32_t token);
  bool Ring(Queue& queue, device::stage::LinkWriter& link);
  uint64_t Address(const void* in_memory) const;
  uint8_t* Buffer(uint32_t index) const { return buffers_ + size_t{index} * stride_; }

  MediatorCounters& counters_;
  uint64_t address_ = 0;
  uint32_t incarnation_ = 0;
  bar::RingMemory memory_;
  std::vector<Queue> queues_;  ///< Indexed by node; the source is first.
  uint8_t* buffers_ = nullptr;
  uint32_t max_message_ = 0;
  uint32_t stride_ = 0;  ///< Bytes per buffer.
  std::vector<uint32_t> free_;
  std::vector<uint16_t> references_;  ///< Per buffer: number of descriptors that read it.
  /// Indexed by token (a message that can be in flight): number of copies of the message in flight.
  /// The posted receive buffer of an idle token counts as one copy. The number is 0 only while the
  /// chain is draining.
  std::vector<uint16_t> tokens_;
  std::deque<Pending> to_send_;  ///< Pending setups, in order. They are sent before any doorbell.
  Phase phase_ = Phase::kRuns;
};

}  // namespace sluice::chain_app
