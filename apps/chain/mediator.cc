// SPDX-License-Identifier: BSD-3-Clause
#include "mediator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "device/switch/table.h"
#include "engine/chain/plan.h"
#include "nic.h"

namespace sluice::chain_app {
namespace {

using namespace device::stage;        // NOLINT
using namespace device::pcie_switch;  // NOLINT
using engine::chain::Chain;
using engine::chain::DeviceKind;
using engine::chain::FindByName;

/// Loads the record of a descriptor if the record is complete: the device writes the record's first
/// word, which contains the sequence number, last.
bool LoadRecord(uint64_t* words, uint32_t sequence, LegacyRecord* record) {
  std::array<uint64_t, 2> copy;
  copy[0] = std::atomic_ref(words[0]).load(std::memory_order_acquire);
  if (static_cast<uint32_t>(copy[0]) != sequence) return false;
  copy[1] = std::atomic_ref(words[1]).load(std::memory_order_relaxed);
  *record = LoadFrom<LegacyRecord>(reinterpret_cast<const uint8_t*>(copy.data()));
  return true;
}

constexpr size_t kPage = 4096;

}  // namespace

bool Mediator::Step(LinkWriter& link) {
  bool any = false;
  for (Queue& queue : queues_) {
    while (queue.done != queue.posted) {
      LegacyRecord record;
      ++counters_.polls;
      if (!LoadRecord(queue.records + queue.done % queue.slots * 2, queue.done, &record)) break;
      Complete(queue, record);
      any = true;
    }
  }
  if (phase_ == Phase::kDrains && Idle()) [[unlikely]] {
    phase_ = Phase::kFrees;
    for (const Queue& queue : queues_) EnqueueSetup(queue, SetupAction::kFree);
  }
  if (!SendSetups(link)) return any;
  for (Queue& queue : queues_) any |= Ring(queue, link);
  return any;
}

/// Handles the record of a descriptor that a device has completed.
void Mediator::Complete(Queue& queue, const LegacyRecord& record) {
  const Job job = queue.jobs[queue.done++ % queue.slots];
  ++counters_.records;
  Release(job.input);
  if (record.status == kStatusDone && queue.role != Role::kSink && record.length <= max_message_) {
    return Forward(queue, job.output, record.length, job, record.key);
  }
  // During a drain the NIC returns empty receive buffers, which are not failures.
  const bool empty = queue.role == Role::kSource && phase_ != Phase::kRuns;
  if (queue.role != Role::kSink && !empty)
    ++(record.status == kStatusRefused ? counters_.refused : counters_.failed);
  if (job.output != kNone) free_.push_back(job.output);
  End(job.token);
}

/// Forwards a result according to the policy, without reading it.
void Mediator::Forward(Queue& from, uint32_t buffer, uint32_t length, const Job& about,
                       uint32_t key0) {
  Job next = about;
  if (from.role == Role::kSource) {
    next.number = key0;
    key0 = next.key1 = 0;
  }
  NodeMask targets = TargetsOf(from, key0, next.key1);
  counters_.no_edge += targets == 0;
  // This function holds one reference to the buffer and the token until all copies are posted.
  references_[buffer] = 1;
  for (; targets != 0; targets &= static_cast<NodeMask>(targets - 1)) {
    Queue* const to = Alive(static_cast<uint32_t>(std::countr_zero(targets)));
    if (to == nullptr) {
      ++counters_.stage_dead;
    } else if (to->role == Role::kHost) {
      ++counters_.received;
    } else {
      ++references_[buffer];
      ++tokens_[next.token];
      Post(*to, buffer, length, next, key0);
    }
  }
  Release(buffer);
  End(next.token);
}

/// Returns the node. If its device is dead, returns the first node on the chain of bypasses whose
/// device is alive; null if there is none.
Mediator::Queue* Mediator::Alive(uint32_t index) {
  while (queues_[index].dead) {
    if (queues_[index].on_death != OnDeath::kBypass) return nullptr;
    index = queues_[index].bypass;
  }
  return &queues_[index];
}

NodeMask Mediator::TargetsOf(Queue& from, uint32_t key0, uint32_t key1) {
  uint64_t selected = 0;
  switch (from.out.select) {
    case Select::kNothing:
      break;
    case Select::kKey0:
      selected = key0;
      break;
    case Select::kKey1:
      selected = key1;
      break;
    case Select::kRoundRobin:
      selected = from.turn++ % from.out.ways;
      break;
    case Select::kHash:
      selected = HashOf(key0) % from.out.ways;
      break;
  }
  for (const Edge& edge : from.out.edges)
    if (((edge.value ^ selected) & edge.mask) == 0) return edge.targets;
  return 0;
}

void Mediator::Post(Queue& queue, uint32_t input, uint32_t length, const Job& about,
                    uint32_t key0) {
  const uint32_t slot = queue.posted % queue.slots;
  Job& job = queue.jobs[slot];
  job = about;
  job.input = input;
  job.output = kNone;
  LegacyDescriptor& descriptor = queue.ring[slot];
  descriptor = {
      .input = input == kNone ? 0 : Address(Buffer(input)),
      .length = length,
      .command = queue.command,
      .sequence = queue.posted++,
      .state = queue.role == Role::kSink ? SendState(job.number, {key0, job.key1}) : *queue.state};
  if (queue.role != Role::kSink) {
    job.output = free_.back();
    free_.pop_back();
    descriptor.output = Address(Buffer(job.output));
    descriptor.capacity = max_message_;
  }
  if (queue.counts) StoreTo(queue.state->data(), LoadFrom<uint64_t>(queue.state->data()) + 1);
  ++counters_.descriptors;
}

void Mediator::Release(uint32_t buffer) {
  if (buffer != kNone && --references_[buffer] == 0) free_.push_back(buffer);
}

/// Ends a copy of a message. If it was the last copy, posts the token's receive buffer again,
/// unless the chain is draining.
void Mediator::End(uint32_t token) {
  if (--tokens_[token] == 0 && phase_ == Phase::kRuns) Receive(token);
}

void Mediator::Receive(uint32_t token) {
  tokens_[token] = 1;
  Post(queues_.front(), kNone, 0, {.token = token}, 0);
}

bool Mediator::Ring(Queue& queue, LinkWriter& link) {
  if (queue.rung == queue.posted || queue.dead) return false;
  Tlp* const tlp = link.Place();
  if (tlp == nullptr) return false;
  tlp->kind = TlpKind::kWrite;
  tlp->refused = false;
  tlp->address = SlotOf(queue.port, queue.slot) + kDoorbellOffset;
  tlp->length = sizeof queue.posted;
  StoreTo(tlp->payload.data(), queue.posted);
  link.Commit();
  queue.rung = queue.posted;
  ++counters_.doorbells;
  return true;
}

void Mediator::Fail(PortId port) {
  for (Queue& queue : queues_) {
    if (queue.port != port || queue.role != Role::kStage) continue;
    queue.dead = true;
    for (; queue.done != queue.posted; ++queue.done) {
      const Job job = queue.jobs[queue.done % queue.slots];
      ++counters_.stage_dead;
      Release(job.input);
      free_.push_back(job.output);
      End(job.token);
    }
    Clear(queue);
  }
}

// Sets up a chain before its first message and tears it down after its last: sizes and layout of
// rings and buffers, and the setup messages to devices.

std::unique_ptr<Mediator> Mediator::Make(const Plan& plan, MediatorCounters& counters,
                                         std::string* error) {
  std::unique_ptr<Mediator> mediator(new Mediator(counters));
  mediator->AddNodes(plan);
  mediator->address_ = plan.address;
  mediator->incarnation_ = plan.incarnation;
  if (!mediator->Allocate(plan.outstanding)) {
    *error = std::string("no memory for messages in flight: ") + std::strerror(errno) +
             ": give a smaller --outstanding";
    return nullptr;
  }
  for (const Queue& queue : mediator->queues_) mediator->EnqueueSetup(queue, SetupAction::kOpen);
  return mediator;
}

void Mediator::AddNodes(const Plan& plan) {
  const Chain& chain = *plan.chain;
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    const engine::chain::Node& node = chain.nodes[i];
    const engine::chain::Device& device = *FindByName(plan.graph->devices, node.device);
    Queue& queue = queues_.emplace_back();
    queue.role = i == 0                             ? Role::kSource
                 : device.kind == DeviceKind::kNic  ? Role::kSink
                 : device.kind == DeviceKind::kHost ? Role::kHost
                                                    : Role::kStage;
    queue.port = device.port;
    queue.slot = plan.slots[i];
    queue.command = node.command;
    queue.state = plan.states.empty() ? std::make_shared<State>(node.state) : plan.states[i];
    queue.counts = node.state_rule == StateRule::kCount;
    queue.on_death = node.on_death;
    queue.out = engine::chain::PolicyOf(chain, node);
    queue.visits = i == 0 ? 1 : 0;
    if (!node.bypass.empty())
      queue.bypass =
          static_cast<uint32_t>(FindByName(chain.nodes, node.bypass) - chain.nodes.data());
  }
  // Bounds the number of copies at each node: every edge may be used, and every node may be
  // bypassed.
  for (Queue& queue : queues_) {
    for (NodeMask targets = device::pcie_switch::TargetsOf(queue.out); targets != 0;
         targets &= static_cast<NodeMask>(targets - 1)) {
      queues_[static_cast<size_t>(std::countr_zero(targets))].visits += queue.visits;
    }
    if (queue.bypass != kNone) queues_[queue.bypass].visits += queue.visits;
    queue.slots = std::bit_ceil(plan.outstanding * std::max(1u, queue.visits));
  }
  max_message_ = chain.message;
  stride_ = static_cast<uint32_t>(RoundUp(chain.message));
}

/// Allocates rings, records, and a buffer for each result that can exist at the same time.
bool Mediator::Allocate(uint32_t outstanding) {
  size_t bytes = 0;
  uint32_t buffers = 0;
  for (const Queue& queue : queues_) {
    if (queue.role == Role::kHost) continue;
    bytes += queue.slots * (sizeof(LegacyDescriptor) + sizeof(LegacyRecord));
    bytes = RoundUp(bytes);
    if (queue.role != Role::kSink) buffers += outstanding * queue.visits;
  }
  bytes += size_t{buffers} * stride_;
  if (bytes > kMostBytes) {
    errno = ENOMEM;
    return false;
  }
  memory_ = bar::RingMemory::Create((bytes + kPage - 1) / kPage * kPage, false,
                                    bar::RingMemory::Pages::kPreferHuge);
  if (!memory_) return false;
  uint8_t* at = memory_.data();
  for (Queue& queue : queues_) {
    if (queue.role == Role::kHost) continue;
    queue.ring = reinterpret_cast<LegacyDescriptor*>(at);
    at += queue.slots * sizeof(LegacyDescriptor);
    queue.records = reinterpret_cast<uint64_t*>(at);
    at += RoundUp(queue.slots * sizeof(LegacyRecord));
    queue.jobs.resize(queue.slots);
    Clear(queue);
  }
  buffers_ = at;
  references_.assign(buffers, 0);
  tokens_.assign(outstanding, 0);
  for (uint32_t i = buffers; i-- > 0;) free_.push_back(i);
  return true;
}

/// Posts a receive buffer for each message that can be in flight.
void Mediator::Start() {
  for (uint32_t token = 0; token < tokens_.size(); ++token) Receive(token);
}

/// Empties the rings. Sets the records to ~0, which is not a valid first sequence number.
void Mediator::Clear(Queue& queue) {
  queue.posted = queue.rung = queue.done = 0;
  for (uint32_t i = 0; i < 2 * queue.slots; ++i)
    std::atomic_ref(queue.records[i]).store(~uint64_t{0}, std::memory_order_relaxed);
}

uint64_t Mediator::Address(const void* in_memory) const {
  return address_ + static_cast<uint64_t>(static_cast<const uint8_t*>(in_memory) - memory_.data());
}

Mediator::States Mediator::states() const {
  States states;
  for (const Queue& queue : queues_) states.push_back(queue.state);
  return states;
}

std::vector<Mediator::Place> Mediator::places() const {
  std::vector<Place> places;
  for (const Queue& queue : queues_)
    if (queue.role != Role::kHost) places.push_back({queue.port, queue.slot});
  return places;
}

void Mediator::EnqueueSetup(const Queue& queue, SetupAction action) {
  if (queue.role == Role::kHost) return;
  to_send_.push_back({SlotOf(queue.port, queue.slot) + kSetupOffset,
                      {.ring = Address(queue.ring),
                       .completions = Address(queue.records),
                       .slots = queue.slots,
                       .max_message = max_message_,
                       .action = action,
                       .chain = incarnation_}});
}

/// Sends pending setups. Returns false if some are still pending.
bool Mediator::SendSetups(LinkWriter& link) {
  for (; !to_send_.empty(); to_send_.pop_front()) {
    Tlp* const tlp = link.Place();
    if (tlp == nullptr) return false;
    tlp->kind = TlpKind::kWrite;
    tlp->refused = false;
    tlp->address = to_send_.front().address;
    tlp->length = sizeof(NodeSetup);
    StoreTo(tlp->payload.data(), to_send_.front().setup);
    link.Commit();
  }
  return true;
}

void Mediator::Restore(PortId port) {
  for (Queue& queue : queues_) {
    if (queue.port != port) continue;
    queue.dead = false;
    if (phase_ != Phase::kFrees) EnqueueSetup(queue, SetupAction::kOpen);
  }
}

void Mediator::Drain() {
  if (phase_ != Phase::kRuns) return;
  phase_ = Phase::kDrains;
  EnqueueSetup(queues_.front(), SetupAction::kDrain);
}

/// Returns true if no device holds a descriptor.
bool Mediator::Idle() const {
  return std::ranges::all_of(queues_,
                             [](const Queue& queue) { return queue.done == queue.posted; });
}

}  // namespace sluice::chain_app
