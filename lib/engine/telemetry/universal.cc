// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/universal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/telemetry/estimator.h"

namespace sluice::engine::telemetry {

namespace {

double Square(double x) { return x * x; }
double TimesLog(double x) { return x > 0 ? x * std::log2(x) : 0; }

/// Estimate of a sum over all flows of one level, and its variance.
struct Sum {
  double value = 0;
  double variance = 0;

  /// Turns the sum over the next level into the sum over this level. The next level contains half
  /// of this level's flows: a flow that this level does not know contributes twice its term or 0.
  /// `known` is the sum over this level's known flows. `part` is that sum with the terms of flows
  /// in the next level subtracted instead of added. No unknown term exceeds `largest_unknown`.
  void Rise(double part, double known, double largest_unknown, double known_variance) {
    value = 2 * value + part;
    variance = 4 * variance + std::max(0.0, value - known) * largest_unknown + known_variance;
  }
  double Deviation() const { return std::sqrt(variance); }
};

struct Sums {
  Sum flows;
  Sum single;              ///< Number of flows with exactly one sample.
  Sum entropy;             ///< Σ f·log2 f.
  double named = 0;        ///< Number of flows that are in the table or known to the first level.
  double exact = 0;        ///< Number of flows that the table counted for the whole epoch.
  bool all_known = false;  ///< The last visited level knows all of its flows.
};

Sums SumUp(const Epoch& epoch, const FlowCounter& counter) {
  const auto levels = counter.levels();
  const ExactFlows& table = counter.exact();
  double most_before = 0;  // Highest packet count at which a flow moved to the sketch.
  for (const ExactFlows::Flow& flow : table.flows()) {
    const auto pkts = static_cast<double>(flow.pkts);
    if (!table.Counts(flow.hash)) most_before = std::max(most_before, pkts);
  }
  size_t last = 0;
  while (last + 1 < levels.size() && !levels[last].known.complete()) ++last;
  Sums sums;
  sums.all_known = levels[last].known.complete();
  const double deviations = DeviationsOf(1 - epoch.setup.confidence);
  for (size_t at = last + 1; at-- > 0;) {
    const Level& level = levels[at];
    const Estimator estimator(level, epoch);
    double flows = 0, flows_part = 0, single = 0, single_part = 0, terms = 0, terms_part = 0;
    double least = std::numeric_limits<double>::infinity(), variance = 0;
    for (const KnownFlows::Flow& flow : level.known.flows()) {
      const Estimate packets = estimator.Of(flow).packets;
      const ExactFlows::Flow* const in_table = table.Find(flow.hash);
      const double before = in_table == nullptr ? 0 : static_cast<double>(in_table->pkts);
      const double is_new = in_table == nullptr;
      const double term = TimesLog(before + packets.value) - TimesLog(before);
      const double is_single = in_table == nullptr && flow.whole && flow.samples == 1;
      const double part = at != last && counter.DepthOf(flow.hash) > at ? -1 : 1;
      flows += is_new;
      flows_part += part * is_new;
      single += is_single;
      single_part += part * is_single;
      terms += term;
      terms_part += part * term;
      least = std::min(least, packets.value);
      const double slope = std::log2(std::max(1.0, before + packets.value)) + std::numbers::log2e;
      variance += Square(slope * packets.bound / deviations);
    }
    if (level.known.flows().empty()) least = 0;
    sums.named = flows;
    sums.flows.Rise(flows_part, flows, 1, 0);
    sums.single.Rise(single_part, single, 1, 0);
    const double largest = TimesLog(most_before + least) - TimesLog(most_before);
    sums.entropy.Rise(terms_part, terms, std::max(0.0, largest), variance);
  }
  for (const ExactFlows::Flow& flow : table.flows()) {
    sums.flows.value += 1;
    sums.entropy.value += TimesLog(static_cast<double>(flow.pkts));
    sums.named += 1;
    sums.exact += table.Counts(flow.hash);
  }
  return sums;
}

}  // namespace

Universal EstimateUniversal(const Epoch& epoch, size_t key) {
  const FlowCounter& counter = epoch.counters[key];
  const Sums sums = SumUp(epoch, counter);
  const double rows = epoch.setup.rows;
  const double slots = rows * static_cast<double>(epoch.counters.size());
  const double packets = std::max(0.0, static_cast<double>(epoch.total.pkts) -
                                           static_cast<double>(epoch.other) / kUnit / slots);
  if (packets == 0) return {};
  const double p = epoch.least_probability;
  const double c = counter.exact().open() ? 0 : (1 - p) / (rows * p);  // See universal.h.
  const double deviations = DeviationsOf(1 - epoch.setup.confidence);

  Universal universal;
  Range& distinct = universal.distinct_flows;
  const double single = std::max(0.0, sums.single.value);
  // GEE (Charikar et al., PODS 2000): the number of flows with one sample plus the missed flows
  // lies between `single` and `single` · (1 + c). The estimate is the geometric mean of these
  // limits.
  distinct.value = sums.flows.value + single * (std::sqrt(1 + c) - 1);
  distinct.low = std::max(sums.named, sums.flows.value - deviations * sums.flows.Deviation());
  distinct.high = sums.all_known ? sums.flows.value + deviations * sums.flows.Deviation() +
                                       c * (single + deviations * sums.single.Deviation())
                                 : packets;
  if (c > 0) {
    // The number of flows with one sample is itself random.
    distinct.high += c * deviations * std::sqrt(single + 1);
  }
  distinct.high = std::max(distinct.low, std::min(distinct.high, std::max(packets, sums.named)));
  distinct.value = std::clamp(distinct.value, distinct.low, distinct.high);

  Range& entropy = universal.entropy;
  const double seen = std::log2(packets) - sums.entropy.value / packets;
  const double most_sampled = std::max(0.0, distinct.high - sums.exact);
  const double hidden = std::log2(1 + c * most_sampled / packets);
  const double spread = deviations * sums.entropy.Deviation() / packets;
  const double most = std::log2(std::max(1.0, distinct.high));
  entropy.low = std::clamp(seen - spread, 0.0, most);
  entropy.high = sums.all_known ? std::clamp(seen + spread + hidden, entropy.low, most) : most;
  // For flows with many packets, the expected error is half of the relative sampling variance.
  const double sampled = std::max(0.0, distinct.value - sums.exact);
  const double likely = c * sampled / packets * std::numbers::log2e / 2;
  entropy.value = std::clamp(seen + std::min(hidden, likely), entropy.low, entropy.high);
  return universal;
}

}  // namespace sluice::engine::telemetry
