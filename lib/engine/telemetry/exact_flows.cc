// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/exact_flows.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::telemetry {

namespace {

constexpr uint32_t kSlotsPerFlow = 2;
/// Larger than kSlotsPerFlow, because most packets that arrive after a table was closed belong to
/// flows that it does not count, and lookups of these flows should rarely collide.
constexpr uint32_t kSlotsPerHeavyFlow = 8;

}  // namespace

FlowIndex::FlowIndex(size_t flows, uint32_t slots_per_flow)
    : slots_per_flow_(slots_per_flow),
      slots_(std::bit_ceil(slots_per_flow * std::max<size_t>(1, flows))),
      mask_(slots_.size() - 1) {}

void FlowIndex::Add(uint64_t hash, uint32_t number) {
  size_t at = hash & mask_;
  while (slots_[at] != 0) at = (at + 1) & mask_;
  slots_[at] = number;
}

void FlowIndex::Clear() { std::fill(slots_.begin(), slots_.end(), 0u); }

ExactFlows::ExactFlows(uint32_t capacity, uint32_t most_heavy)
    : capacity_(capacity),
      most_heavy_(capacity == 0 ? 0 : most_heavy),
      open_(capacity != 0),
      all_(capacity, kSlotsPerFlow),
      heavy_(most_heavy_, kSlotsPerHeavyFlow) {
  flows_.reserve(size_t{capacity} + 1);
  flows_.push_back({});
  heavy_flows_.reserve(most_heavy_);
}

uint32_t ExactFlows::Add(const packet::FlowKey& key, uint64_t hash) {
  if (flows_.size() > capacity_) {
    Close();
    return NumberOf(heavy_, hash);
  }
  const auto number = static_cast<uint32_t>(flows_.size());
  flows_.push_back({.key = key, .hash = hash});
  all_.Add(hash, number);
  return number;
}

/// Adds a flow that reached the threshold to heavy_flows_. While heavy_flows_ is full, first
/// doubles the threshold and removes the flows below it.
void ExactFlows::NoteHeavy(uint32_t number) {
  while (heavy_flows_.size() == most_heavy_) {
    threshold_ *= 2;
    std::erase_if(heavy_flows_, [&](uint32_t flow) { return flows_[flow].pkts < threshold_; });
  }
  if (flows_[number].pkts >= threshold_) heavy_flows_.push_back(number);
}

double ExactFlows::HeavySquares() const {
  double squares = 0;
  for (const uint32_t number : heavy_flows_) {
    const auto pkts = static_cast<double>(flows_[number].pkts);
    squares += pkts * pkts;
  }
  return squares;
}

void ExactFlows::Close() {
  open_ = false;
  threshold_ = kNever;
  for (const uint32_t number : heavy_flows_) heavy_.Add(flows_[number].hash, number);
}

void ExactFlows::Clear() {
  open_ = capacity_ != 0;
  threshold_ = 1;
  flows_.resize(1);
  heavy_flows_.clear();
  all_.Clear();
  heavy_.Clear();
}

/// Adds the counts of `more`. Inserts its flow if it is missing, even beyond the capacity.
void ExactFlows::AddTo(const Flow& more) {
  uint32_t number = NumberOf(all_, more.hash);
  if (number == 0) {
    if (all_.TooSmallFor(flows_.size())) {
      all_ = FlowIndex(2 * flows_.size(), kSlotsPerFlow);
      for (uint32_t i = 1; i < flows_.size(); ++i) all_.Add(flows_[i].hash, i);
    }
    number = static_cast<uint32_t>(flows_.size());
    flows_.push_back({.key = more.key, .hash = more.hash});
    all_.Add(more.hash, number);
  }
  Flow& flow = flows_[number];
  flow.pkts += more.pkts;
  flow.bytes += more.bytes;
}

/// Completes Restore or Merge; the table must not count packets afterwards. `staying` contains the
/// hashes of the flows that a closed table still counted.
void ExactFlows::SetState(bool open, std::span<const uint64_t> staying) {
  open_ = open;
  threshold_ = kNever;
  heavy_flows_.clear();
  heavy_ = FlowIndex(std::max<size_t>(most_heavy_, staying.size()), kSlotsPerHeavyFlow);
  for (const uint64_t hash : staying) {
    heavy_flows_.push_back(NumberOf(all_, hash));
    heavy_.Add(hash, heavy_flows_.back());
  }
}

void ExactFlows::Merge(const ExactFlows& other) {
  const bool open = open_ && other.open_;
  std::vector<uint64_t> staying;
  const auto judge = [&](const Flow& flow) {
    if (Counts(flow.hash) && other.Counts(flow.hash)) staying.push_back(flow.hash);
  };
  if (!open) {
    for (const Flow& flow : flows()) judge(flow);
    for (const Flow& flow : other.flows()) {
      if (Find(flow.hash) == nullptr) judge(flow);
    }
  }
  for (const Flow& flow : other.flows()) AddTo(flow);
  SetState(open, staying);
}

uint64_t ExactFlows::bytes() const {
  return flows_.capacity() * sizeof(Flow) + heavy_flows_.capacity() * sizeof(uint32_t) +
         all_.bytes() + heavy_.bytes();
}

}  // namespace sluice::engine::telemetry
