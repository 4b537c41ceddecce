// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/analyst.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/telemetry/epoch.h"
#include "engine/telemetry/estimator.h"
#include "engine/telemetry/flow_estimator.h"
#include "engine/telemetry/universal.h"

namespace sluice::engine::telemetry {

namespace {

/// Orders flows with equal counts by key, so that equal epochs yield equal reports.
bool Before(const packet::FlowKey& a, const packet::FlowKey& b) {
  return std::memcmp(&a, &b, sizeof(a)) < 0;
}

uint64_t NsOf(uint64_t cycles, uint64_t cycles_per_second) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(cycles) * 1'000'000'000 /
                               cycles_per_second);
}

std::vector<FlowRecord> HeavyHitters(const Epoch& epoch, const FlowCounter& counter,
                                     const FlowEstimator& estimator) {
  const double least = epoch.setup.heavy_hitter_share * static_cast<double>(epoch.total.pkts);
  const Oracle::Counts& exact = counter.oracle().counts();
  std::vector<FlowRecord> records;
  for (const FlowEstimator::Flow& flow : estimator.Flows()) {
    if (estimator.IsGuessed(flow.hash)) continue;
    const FlowEstimator::Counts counts = estimator.Of(flow.hash);
    if (counts.packets.value < least) continue;
    const auto truth = exact.find(flow.key);
    records.push_back({flow.key, counts.packets, counts.bytes,
                       truth == exact.end() ? std::nullopt : std::optional(truth->second),
                       counts.counted_by});
  }
  std::sort(records.begin(), records.end(), [](const FlowRecord& a, const FlowRecord& b) {
    return a.packets.value != b.packets.value ? a.packets.value > b.packets.value
                                              : Before(a.key, b.key);
  });
  if (records.size() > epoch.setup.top_k) records.resize(epoch.setup.top_k);
  return records;
}

std::vector<FlowChange> Changes(const Epoch& before, const Epoch& now, size_t key) {
  const double least =
      now.setup.change_share * static_cast<double>(before.total.pkts + now.total.pkts);
  const FlowEstimator estimator_before(before.counters[key], before);
  const FlowEstimator estimator_now(now.counters[key], now);
  std::vector<FlowChange> changes;
  absl::flat_hash_set<uint64_t> compared;
  const auto compare = [&](const FlowEstimator::Flow& flow) {
    if (!compared.insert(flow.hash).second) return;
    const Estimate past = estimator_before.Of(flow.hash).packets;
    const Estimate present = estimator_now.Of(flow.hash).packets;
    const Estimate difference{present.value - past.value, present.bound + past.bound};
    const double size = std::abs(difference.value);
    if (size == 0 || size < least || size <= difference.bound) return;
    changes.push_back({flow.key, past.value, present.value, difference});
  };
  for (const FlowEstimator::Flow& flow : estimator_now.Flows()) compare(flow);
  for (const FlowEstimator::Flow& flow : estimator_before.Flows()) compare(flow);
  std::sort(changes.begin(), changes.end(), [](const FlowChange& a, const FlowChange& b) {
    const double size_a = std::abs(a.difference.value), size_b = std::abs(b.difference.value);
    return size_a != size_b ? size_a > size_b : Before(a.key, b.key);
  });
  if (changes.size() > now.setup.top_k) changes.resize(now.setup.top_k);
  return changes;
}

/// Returns the report of a key's table, or nullopt if the setup has no table.
std::optional<TableReport> TableOf(const ExactFlows& exact) {
  if (!exact.open() && exact.flows().empty()) return std::nullopt;
  TableReport report{.complete = exact.open(), .flows = exact.flows().size()};
  for (const ExactFlows::Flow& flow : exact.flows()) {
    report.pkts += flow.pkts;
    report.flows_left += !exact.Counts(flow.hash);
  }
  return report;
}

OracleReport Compare(const FlowCounter& counter, const FlowEstimator& estimator) {
  OracleReport report;
  report.flows = counter.oracle().counts().size();
  report.refused_pkts = counter.oracle().refused_pkts();
  for (const auto& [key, truth] : counter.oracle().counts()) {
    if (truth.pkts < OracleReport::kLeastPackets) continue;
    const Estimate packets = estimator.Of(counter.HashOf(key)).packets;
    const auto exact = static_cast<double>(truth.pkts);
    const double error = std::abs(packets.value - exact);
    ++report.compared_flows;
    report.mean_relative_error += error / exact;
    report.mean_relative_bound += packets.bound / exact;
    report.max_relative_error = std::max(report.max_relative_error, error / exact);
    report.beyond_bound += error > packets.bound;
  }
  if (report.compared_flows != 0) {
    report.mean_relative_error /= static_cast<double>(report.compared_flows);
    report.mean_relative_bound /= static_cast<double>(report.compared_flows);
  }
  return report;
}

Estimate OtherPkts(const Epoch& epoch) {
  const double slots = static_cast<double>(epoch.counters.size()) * epoch.setup.rows;
  const double value = static_cast<double>(epoch.other) / kUnit / slots;
  const double deviations = DeviationsOf(1 - epoch.setup.confidence);
  // The same formula as Estimator::Bound, for a count without collisions.
  const double per_packet = deviations * deviations / slots * (1 / epoch.least_probability - 1);
  return {value, (per_packet + std::sqrt(per_packet * per_packet + 4 * per_packet * value)) / 2};
}

bool TookAsLong(const Epoch& a, const Epoch& b) {
  const auto length_a = static_cast<double>(a.end_cycles - a.start_cycles);
  const auto length_b = static_cast<double>(b.end_cycles - b.start_cycles);
  return std::abs(length_a - length_b) <= 0.1 * std::max(length_a, length_b);
}

}  // namespace

Analyst::Analyst(const Setup& setup, uint64_t cycles_per_second)
    : cycles_per_second_(cycles_per_second),
      current_(std::make_unique<Epoch>(setup)),
      previous_(std::make_unique<Epoch>(setup)) {
  previous_->workers = 0;
}

Analyst::~Analyst() = default;

std::optional<EpochReport> Analyst::Report(std::span<const Epoch* const> epochs) {
  for (const Epoch* const epoch : epochs) {
    if (!(epoch->setup == current_->setup)) return std::nullopt;
  }
  if (epochs.empty()) return std::nullopt;
  Epoch& now = *current_;
  now.Clear();
  now.workers = 0;
  now.number = epochs[0]->number;
  now.start_cycles = epochs[0]->start_cycles;
  EpochReport report;
  for (const Epoch* const epoch : epochs) {
    if (!now.Merge(*epoch)) return std::nullopt;
    report.memory_bytes += 2 * epoch->memory_bytes();
  }
  report.number = now.number;
  report.start_ns = NsOf(now.start_cycles, cycles_per_second_);
  report.end_ns = NsOf(now.end_cycles, cycles_per_second_);
  report.workers = now.workers;
  report.total = now.total;
  report.other_pkts = OtherPkts(now);
  report.least_probability = now.least_probability;
  report.last_probability = now.last_probability;
  report.exact_pkts = now.exact_pkts;
  const bool comparable = previous_->workers != 0 && TookAsLong(*previous_, now);
  for (size_t key = 0; key < now.counters.size(); ++key) {
    const FlowCounter& counter = now.counters[key];
    const FlowEstimator estimator(counter, now);
    KeyReport& of_key = report.keys.emplace_back();
    of_key.spec = counter.spec();
    of_key.table = TableOf(counter.exact());
    of_key.heavy_hitters = HeavyHitters(now, counter, estimator);
    if (comparable) of_key.changes = Changes(*previous_, now, key);
    if (now.setup.levels > 1) {
      const Universal universal = EstimateUniversal(now, key);
      of_key.distinct_flows = universal.distinct_flows;
      of_key.entropy = universal.entropy;
    }
    if (counter.oracle().enabled()) of_key.oracle = Compare(counter, estimator);
  }
  std::swap(current_, previous_);
  return report;
}

}  // namespace sluice::engine::telemetry
