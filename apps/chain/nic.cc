// SPDX-License-Identifier: BSD-3-Clause
#include "nic.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/monotonic_clock.h"

namespace sluice::chain_app {

using device::pcie_switch::State;
using device::stage::DescriptorQueue;
using device::stage::NodeSlot;
using device::stage::Outcome;

State SendState(uint32_t ticket, const std::array<uint32_t, 2>& key) {
  State state{};
  std::memcpy(state.data(), &ticket, sizeof ticket);
  std::memcpy(state.data() + sizeof ticket, key.data(), sizeof key);
  return state;
}

Nic::Nic(device::stage::LinkMemory& link, device::pcie_switch::PortId port,
         std::vector<Flow*> flows)
    : device_(link, port), flows_(std::move(flows)) {
  for (auto& slot : slots_) slot = -1;
  uint32_t longest = 0;
  for (const Flow* flow : flows_) longest = std::max(longest, flow->longest());
  room_.resize(longest);
}

bool Nic::Step() {
  steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  bool any = device_.Receive();
  any |= ReceiveMessages();
  any |= Send();
  return device_.Send() || any;
}

/// Handles an answer. Passes it to a flow only if the ticket was issued to the chain through which
/// the answer arrived. The last stage wrote the ticket, so a valid ticket alone proves nothing.
void Nic::Arrived(uint32_t ticket, uint32_t where, std::span<const uint8_t> data,
                  const std::array<uint32_t, 2>& key) {
  if (const auto* const given = tickets_.Find(ticket, device_.slots()[where].setup.chain)) {
    flows_[given->flow]->Answer(given->number, where, data, key, base::MonotonicNs());
  } else {
    received_.store(received_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

/// Receives the messages that end at this NIC.
bool Nic::ReceiveMessages() {
  bool any = false;
  const std::span<NodeSlot> slots = device_.slots();
  for (uint32_t where = 0; where < slots.size(); ++where) {
    NodeSlot& slot = slots[where];
    if (slot.reader && !slot.writer) {
      for (; slot.reader->Pop(message_); any = true)
        Arrived(message_.header.message, where, message_.data, message_.header.key);
    } else if (slot.queue) {
      any |= ReceiveFromQueue(where, slot);
    }
  }
  return any;
}

/// Handles the descriptors of one slot. A descriptor with an output buffer waits for an incoming
/// message, and is returned empty when the node drains. A descriptor without an output buffer
/// contains a message that leaves the chain.
bool Nic::ReceiveFromQueue(uint32_t where, NodeSlot& slot) {
  DescriptorQueue& queue = *slot.queue;
  bool any = false;
  for (uint32_t ready = queue.Ready(); ready != 0; --ready) {
    DescriptorQueue::Job& job = queue.job(0);
    const bool buffer = !job.room().empty();
    if (buffer && !slot.draining()) return any;
    if (job.good() && !buffer) {
      uint32_t ticket;
      std::array<uint32_t, 2> key;
      std::memcpy(&ticket, job.descriptor.state.data(), sizeof ticket);
      std::memcpy(key.data(), job.descriptor.state.data() + sizeof ticket, sizeof key);
      Arrived(ticket, where, job.data, key);
    }
    queue.Answer(job.good() && !buffer ? Outcome::kDone : Outcome::kFailed, 0, 0);
    any = true;
  }
  return any;
}

/// Starts messages that arrive on the wire.
bool Nic::Send() {
  bool any = false;
  const uint64_t now = base::MonotonicNs();
  ++turn_;
  for (uint32_t i = 0; i < flows_.size(); ++i) {
    const auto flow = static_cast<uint32_t>((i + turn_) % flows_.size());
    flows_[flow]->Expire(now);
    const int slot = slots_[flow].load(std::memory_order_acquire);
    if (slot < 0 || !enabled_.load(std::memory_order_relaxed)) continue;
    NodeSlot& at = device_.slots()[static_cast<size_t>(slot)];
    if (at.draining()) continue;
    any |= at.queue ? SendQueue(flow, at) : SendStream(flow, at);
  }
  return any;
}

/// Starts the flow's next message, which enters its chain through this slot. Returns its length.
uint32_t Nic::Begin(uint32_t flow, const NodeSlot& slot, std::span<uint8_t> room,
                    uint32_t* ticket) {
  uint32_t number;
  const uint32_t bytes = flows_[flow]->Begin(room, base::MonotonicNs(), &number);
  *ticket = tickets_.Give(flow, number, slot.setup.chain);
  return bytes;
}

bool Nic::SendStream(uint32_t flow, NodeSlot& slot) {
  uint32_t count = 0;
  // At most four messages: those that wait for credits have been accepted, and would be lost if the
  // chain changed.
  for (; count < 4 && (count != 0 || slot.MayPut()) && flows_[flow]->MayBegin(); ++count) {
    uint32_t ticket;
    const uint32_t bytes = Begin(flow, slot, room_, &ticket);
    slot.writer->Put({.message = ticket}, std::span(room_).first(bytes));
  }
  return count != 0;
}

bool Nic::SendQueue(uint32_t flow, NodeSlot& slot) {
  DescriptorQueue& queue = *slot.queue;
  uint32_t count = 0;
  for (const uint32_t ready = queue.Ready(); count < ready && flows_[flow]->MayBegin(); ++count) {
    DescriptorQueue::Job& job = queue.job(0);
    if (!job.good()) {
      queue.Answer(Outcome::kFailed, 0, 0);
      continue;
    }
    // The buffers of a changed chain may be smaller than those for which the flow was started.
    const bool fits = job.room().size() >= flows_[flow]->longest();
    const std::span<uint8_t> to = fits ? job.room() : std::span(room_);
    uint32_t ticket;
    const uint32_t bytes = Begin(flow, slot, to, &ticket);
    if (!fits)
      std::ranges::copy(to.first(std::min<size_t>(bytes, job.room().size())), job.room().begin());
    queue.Answer(bytes <= job.room().size() ? Outcome::kDone : Outcome::kFailed, bytes, ticket);
  }
  return count != 0;
}

}  // namespace sluice::chain_app
