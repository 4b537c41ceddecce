// SPDX-License-Identifier: BSD-3-Clause
//
// The CPU's part in one chain as it is run today: it moves every message from device to device.
// Data lie still in the host's memory: what one device wrote there, the next one reads. The CPU
// polls rings of records, writes descriptors, and rings the doorbell of a device once for all that
// a poll found for it. It neither copies nor looks at data, sleeps, takes interrupts, or allocates.
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

/// What the CPU has done.
struct MediatorCounters {
  uint64_t polls = 0;        ///< Looks at a record that may be there.
  uint64_t records = 0;      ///< Found.
  uint64_t descriptors = 0;  ///< Written.
  uint64_t doorbells = 0;
  uint64_t received = 0;  ///< Messages that ended at the host.
  uint64_t refused = 0;   ///< By a stage.
  uint64_t failed = 0;    ///< At a stage.
  uint64_t no_edge = 0;
  uint64_t stage_dead = 0;  ///< They were with a device that died, or for it.
};

/// One thread, but for Make and what says otherwise.
class Mediator {
 public:
  using PortId = device::pcie_switch::PortId;
  /// What nodes have counted, by node: a chain hands it on to what it becomes.
  using States = std::vector<std::shared_ptr<device::pcie_switch::State>>;

  struct Plan {
    const engine::chain::Graph* graph = nullptr;
    const engine::chain::Chain* chain = nullptr;  ///< Of the graph.
    std::vector<uint32_t> slots;                  ///< Of each node in its device.
    uint64_t address = 0;                         ///< Where devices see memory().
    uint32_t outstanding = 0;                     ///< Messages under way at most.
    States states;                                ///< None: those of the graph.
    uint32_t incarnation = 0;                     ///< NodeSetup::chain.
  };
  static constexpr size_t kMostBytes = size_t{1} << 30;  ///< Of memory().

  /// `counters` outlives it. Null, with one line in `error`: no memory.
  static std::unique_ptr<Mediator> Make(const Plan& plan, MediatorCounters& counters,
                                        std::string* error);

  // The same as long as it lives. Any thread.
  std::span<uint8_t> memory() const { return {memory_.data(), memory_.bytes()}; }
  uint64_t address() const { return address_; }
  States states() const;
  /// A node in its device.
  struct Place {
    PortId port;
    uint32_t slot;
  };
  /// Of all nodes but those at the host; the NIC's for messages that come in is first.
  std::vector<Place> places() const;

  /// Before the first step: messages may come.
  void Start();
  /// Tells devices what they are, and moves what they are done with. False: nothing was there.
  /// `link`: at the root port.
  bool Step(device::stage::LinkWriter& link);
  /// The device at a port is dead: what it had is lost, and what comes for it is dropped.
  void Fail(PortId port);
  /// It is back, and knows nothing.
  void Restore(PortId port);
  /// No message is to come any more; what is under way goes on to its end.
  void Drain();
  /// All has ended, and devices have forgotten it.
  bool over() const { return phase_ == Phase::kFrees && to_tell_.empty(); }

 private:
  enum class Role : uint8_t { kSource, kStage, kSink, kHost };
  enum class Phase : uint8_t { kRuns, kDrains, kFrees };
  static constexpr uint32_t kNone = ~0u;

  /// What a descriptor is about.
  struct Job {
    uint32_t input = kNone;  ///< Buffers.
    uint32_t output = kNone;
    uint32_t number = 0;
    uint32_t key1 = 0;
    uint32_t token = 0;
  };
  /// A node, and its rings.
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
    uint32_t turn = 0;    ///< Of round robin.
    uint32_t visits = 0;  ///< Copies of a message that may be here.
    bool dead = false;

    uint32_t slots = 0;  ///< A power of two: as many messages as can be here.
    device::pcie_switch::LegacyDescriptor* ring = nullptr;
    uint64_t* records = nullptr;  ///< Two words each.
    std::vector<Job> jobs;
    uint32_t posted = 0;
    uint32_t rung = 0;
    uint32_t done = 0;
  };
  struct Telling {
    uint64_t address;
    device::stage::NodeSetup setup;
  };

  explicit Mediator(MediatorCounters& counters) : counters_(counters) {}
  void AddNodes(const Plan& plan);
  bool Allocate(uint32_t outstanding);
  static void Clear(Queue& queue);
  void Tell(const Queue& queue, device::stage::SetupAction action);
  bool TellDevices(device::stage::LinkWriter& link);
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
  std::vector<Queue> queues_;  ///< By node; the source is first.
  uint8_t* buffers_ = nullptr;
  uint32_t max_message_ = 0;
  uint32_t stride_ = 0;  ///< Bytes of a buffer.
  std::vector<uint32_t> free_;
  std::vector<uint16_t> references_;  ///< Of buffers: descriptors that read them.
  /// Of a message that may be under way: copies of it that are. 0: its receive buffer is posted,
  /// or, when the chain drains, none.
  std::vector<uint16_t> tokens_;
  std::deque<Telling> to_tell_;  ///< In order, and before any doorbell.
  Phase phase_ = Phase::kRuns;
};

}  // namespace sluice::chain_app
