// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/chain/switch_node.h"

namespace sluice::simulation {
namespace {

using device::pcie_switch::TlpKind;

fabric::TlpKind KindOf(TlpKind kind) {
  switch (kind) {
    case TlpKind::kWrite:
      return fabric::TlpKind::kPosted;
    case TlpKind::kRead:
      return fabric::TlpKind::kReadRequest;
    case TlpKind::kCompletion:
      break;
  }
  return fabric::TlpKind::kCompletion;
}

}  // namespace

SwitchNode::SwitchNode(fabric::EventQueue& queue, device::pcie_switch::Switch& programmable,
                       const fabric::LinkParameters& link, Picoseconds oneway, Picoseconds pipeline)
    : queue_(&queue), switch_(&programmable), half_(oneway / 2), pipeline_(pipeline) {
  for (uint32_t port = 0; port < programmable.ports(); ++port)
    ports_.push_back(std::make_unique<Port>(link, half_));
}

void SwitchNode::Send(PortId port, const Tlp& tlp) {
  Port& from = *ports_[port];
  const uint32_t payload = tlp.kind == TlpKind::kRead ? 0 : tlp.length;
  const auto sent = from.in.Send(queue_->now(), KindOf(tlp.kind), payload, half_);
  ++from.waiting;
  queue_->At(sent.arrival + pipeline_, [this, port, tlp] {
    ports_[port]->blocked.push_back(tlp);
    Kick();
  });
}

/// Moves the TLPs that wait in front of a port into the switch. Returns false if none could be
/// moved.
bool SwitchNode::Admit(PortId port) {
  Port& from = *ports_[port];
  bool moved = false;
  while (!from.blocked.empty() && switch_->Accept(port, from.blocked.front())) {
    from.blocked.pop_front();
    --from.waiting;
    moved = true;
  }
  if (moved && from.endpoint != nullptr) from.endpoint->MaySend();
  return moved;
}

/// Sends the next TLP to a device. Returns false if no TLP can be sent yet.
bool SwitchNode::Leave(PortId port) {
  Port& to = *ports_[port];
  if (to.busy || to.endpoint == nullptr || !to.endpoint->Takes(to.under_way)) return false;
  Tlp tlp;
  if (!switch_->Next(port, tlp)) return false;
  const uint64_t before = to.out.bytes();
  const auto sent = to.out.Send(queue_->now(), KindOf(tlp.kind),
                                tlp.kind == TlpKind::kRead ? 0 : tlp.length, half_);
  to.busy = true;
  ++to.under_way;
  queue_->At(sent.start + to.out.ServiceTime(to.out.bytes() - before), [this, port] {
    ports_[port]->busy = false;
    Kick();
  });
  queue_->At(sent.arrival, [this, port, tlp] {
    --ports_[port]->under_way;
    if (observer_ != nullptr) observer_(port, tlp);
    ports_[port]->endpoint->Receive(tlp);
    Kick();
  });
  return true;
}

void SwitchNode::Kick() {
  if (kicking_) return;  // The outer call's loop handles the change.
  kicking_ = true;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t port = 0; port < ports_.size(); ++port) {
      moved |= Admit(static_cast<PortId>(port));
      moved |= Leave(static_cast<PortId>(port));
    }
  }
  kicking_ = false;
}

}  // namespace sluice::simulation
