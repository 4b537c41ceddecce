// SPDX-License-Identifier: BSD-3-Clause
//
// WindowPair and NicEnd; HostEnd is in host_end.cc.
#include "fabric/window.h"

#include <utility>

#include "bar/line_check.h"

namespace sluice::fabric {

WindowPair::WindowPair(EventQueue& queue, const WindowParameters& parameters)
    : queue_(&queue),
      parameters_(parameters),
      down_(parameters.link, parameters.costs.pcie_oneway),
      up_(parameters.link, parameters.costs.pcie_oneway),
      nic_memory_(parameters.lines),
      device_lines_(parameters.lines),
      host_memory_(parameters.lines),
      readers_(parameters.lines),
      nic_(std::make_unique<NicEnd>(*this, queue)) {
  AddHost();
}

WindowPair::~WindowPair() = default;

void WindowPair::SetLinkUp(bool up) {
  link_up_ = up;
  ++epoch_;
  if (!up) return;
  for (const auto& host : hosts_) {
    host->dead_ = false;
    host->cache_.clear();
  }
}

HostEnd& WindowPair::AddHost() {
  return *hosts_.emplace_back(std::make_unique<HostEnd>(*this, *queue_, hosts()));
}

void WindowPair::SendPosted(LinkDirection& direction, Cpu& cpu, uint32_t payload,
                            EventQueue::Action arrive) {
  queue_->At(cpu.now(), [this, &direction, &cpu, payload, arrive = std::move(arrive)]() mutable {
    if (!link_up_) return;
    const Transmission sent =
        direction.Send(queue_->now(), TlpKind::kPosted, payload, parameters_.costs.pcie_oneway);
    cpu.StallUntil(sent.start);
    queue_->At(sent.arrival, [this, epoch = epoch_, arrive = std::move(arrive)] {
      if (Travels(epoch)) arrive();
    });
  });
}

uint32_t WindowPair::Capabilities() const {
  uint32_t bits = bar::kWindowModelled;
  if (parameters_.host_stores != HostStores::kUncached) bits |= bar::kWindowWriteCombining;
  if (parameters_.nic_lines == NicLines::kWriteThrough) bits |= bar::kWindowWriteThrough;
  if (parameters_.nic_lines == NicLines::kPushed) bits |= bar::kWindowNicStoresHost;
  if (!Tears()) bits |= bar::kWindowLineAtomic;
  return bits;
}

uint32_t NicEnd::capabilities() const { return pair_.Capabilities() | bar::kWindowInterrupt; }

void NicEnd::Post(uint32_t index, const bar::Line& line) {
  const bar::Line stored = pair_.Tears() ? bar::SealLine(line) : line;
  if (pair_.parameters().nic_lines == NicLines::kPushed) {
    bytes_.up += bar::TlpWriteBytes(bar::kLineBytes, pair_.parameters().link.maximum_payload);
    pair_.SendPosted(pair_.up_, *this, bar::kLineBytes, [&pair = pair_, index, stored] {
      pair.host_memory_[index] = stored;
      pair.host(pair.readers_[index]).Arrived();
    });
    Compute(costs().nic_write_line);
  } else {
    Compute(Access(line.word.size()));
    pair_.queue().At(now(), [&pair = pair_, index, stored] { pair.device_lines_[index] = stored; });
  }
}

uint64_t NicEnd::Peek(uint32_t index) {
  Compute(Access(1));
  CatchUp();
  return pair_.nic_memory_[index].word[0];
}

bool NicEnd::Poll(uint32_t index, bar::Line& out) {
  Compute(Access(out.word.size()));
  CatchUp();
  out = pair_.nic_memory_[index];
  return !pair_.Tears() || bar::UnsealLine(out);
}

uint64_t NicEnd::ReadUncached(uint32_t index, uint32_t word) {
  Compute(costs().nic_memory);
  CatchUp();
  return pair_.nic_memory_[index].word[word];
}

void NicEnd::Interrupt(uint32_t vector) {
  constexpr uint32_t kMsixBytes = 4;
  Compute(costs().msix_send);
  bytes_.up += bar::TlpWriteBytes(kMsixBytes, pair_.parameters().link.maximum_payload);
  pair_.SendPosted(pair_.up_, *this, kMsixBytes, [&pair = pair_, vector] {
    const Costs& costs = pair.parameters().costs;
    pair.queue().After(costs.msix_receive + costs.msix_dispatch, [&pair, vector] {
      pair.host(vector < pair.hosts() ? vector : 0).Interrupted(vector);
    });
  });
}

}  // namespace sluice::fabric
