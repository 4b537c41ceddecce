// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/estimator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace sluice::engine::telemetry {

namespace {

/// Returns the probability that more than `most` of `n` independent events of probability `q`
/// occur.
double MoreThan(uint32_t most, uint32_t n, double q) {
  double sum = 0, term = std::pow(1 - q, n);
  for (uint32_t i = 0; i <= most; ++i) {
    sum += term;
    term *= static_cast<double>(n - i) / (i + 1) * q / (1 - q);
  }
  return std::max(0.0, 1 - sum);
}

/// Returns the largest event probability q for which MoreThan(most, n, q) is at most `delta`.
double EachOf(uint32_t most, uint32_t n, double delta) {
  double low = 0, high = 1;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (MoreThan(most, n, middle) <= delta ? low : high) = middle;
  }
  return low;
}

constexpr double Packets(int64_t units) { return static_cast<double>(units) / kUnit; }

}  // namespace

double DeviationsOf(double delta) { return std::sqrt(2 * std::log(2 / delta)); }

Estimator::Estimator(const Level& level, const Epoch& epoch)
    : level_(level),
      every_packet_(epoch.least_probability == 1),
      delta_(1 - epoch.setup.confidence) {
  const double per_packet = 1 / epoch.least_probability - 1;
  packets_.samples = per_packet;
  bytes_.samples = per_packet * epoch.longest_bytes;
  MeasureCollisions();
}

void Estimator::MeasureCollisions() {
  const Shape& shape = level_.sketch.shape();
  const bool count_min = shape.kind == SketchKind::kCountMin;
  // Number of rows that can be wrong without affecting the estimate.
  const uint32_t spare = count_min && every_packet_ ? shape.rows - 1 : TrimmedRows(shape.rows);
  const double share_known =
      std::min(1.0, static_cast<double>(level_.known.flows().size()) / shape.columns);
  // Count sketch: maximum share of delta_ that may be spent on collisions with known flows.
  constexpr double kLittle = 0.05;
  // Count-min: permitted probability that a row is wrong because of collisions.
  double each = EachOf(spare, shape.rows, delta_);
  const bool without_known = count_min
                                 ? share_known < each / 2
                                 : MoreThan(spare, shape.rows, share_known) < kLittle * delta_;
  if (without_known) each -= share_known;
  double packets = 0, bytes = 0;
  std::vector<uint8_t> known(shape.columns);
  for (uint32_t row = 0; row < shape.rows; ++row) {
    const Cell* const cells = level_.sketch.Row(row);
    std::fill(known.begin(), known.end(), 0);
    if (without_known) {
      for (const KnownFlows::Flow& flow : level_.known.flows()) {
        known[static_cast<size_t>(level_.sketch.PlaceOf(row, flow.hash).cell - cells)] = 1;
      }
    }
    for (uint32_t column = 0; column < shape.columns; ++column) {
      if (known[column]) continue;
      const double p = Packets(cells[column].packets), b = Packets(cells[column].bytes);
      packets += count_min ? p : p * p;
      bytes += count_min ? b : b * b;
    }
  }
  packets /= static_cast<double>(shape.cells());
  bytes /= static_cast<double>(shape.cells());
  if (count_min) {
    packets_.excess = packets / each;
    bytes_.excess = bytes / each;
    packets_.collisions = packets_.excess * packets_.samples;
    bytes_.collisions = bytes_.excess * bytes_.samples;
  } else {
    packets_.collisions = packets;
    bytes_.collisions = bytes;
  }
}

/// Returns the bound b: if the true value is `value` + b, the estimate `value` is
/// DeviationsOf(delta_) standard deviations too low. `factor` scales the variance. The sampling
/// variance depends on the true value, not on the estimate.
double Estimator::Bound(double value, const Noise& noise, double factor) const {
  const double deviations = DeviationsOf(delta_);
  const double squared = deviations * deviations * factor;
  const double of_samples = squared * noise.samples;
  return (of_samples + std::sqrt(of_samples * of_samples +
                                 4 * squared * (noise.collisions + noise.samples * value))) /
         2;
}

Estimate Estimator::Combine(double* rows, const Noise& noise) const {
  const Shape& shape = level_.sketch.shape();
  if (shape.kind == SketchKind::kCountMin && every_packet_) {
    return {*std::min_element(rows, rows + shape.rows), noise.excess};
  }
  const double value = std::max(0.0, MiddleOf(rows, shape.rows));
  return {value, noise.excess + Bound(value, noise, std::numbers::pi / 2 / shape.rows)};
}

Estimate Estimator::OfWhole(int64_t count, const Noise& noise) const {
  const uint32_t rows = level_.sketch.shape().rows;
  const double value = Packets(count) / rows;
  return {value, Bound(value, {.samples = noise.samples}, 1.0 / rows)};
}

/// Estimates a flow that became known after its first packets. Collisions do not affect the counts
/// since then. The bound covers the worst case, in which the flow became known only at the end.
Estimate Estimator::OfLater(int64_t count, const Noise& noise) const {
  const uint32_t rows = level_.sketch.shape().rows;
  const double value = std::max(0.0, Packets(count) / rows);
  return {value, noise.excess + Bound(value, noise, std::numbers::pi / 2 / rows)};
}

Estimator::Counts Estimator::Of(const KnownFlows::Flow& flow) const {
  if (flow.whole) return {OfWhole(flow.count, packets_), OfWhole(flow.bytes, bytes_)};
  // For a count-min without sampling, the minimum over the rows is more accurate than the estimate
  // made when the flow became known.
  const bool least = level_.sketch.shape().kind == SketchKind::kCountMin && every_packet_;
  if (least) return FromSketch(flow.hash);
  return {OfLater(flow.count, packets_), OfLater(flow.bytes, bytes_)};
}

Estimator::Counts Estimator::Of(uint64_t hash) const {
  const KnownFlows::Flow* const flow = level_.known.Find(hash);
  if (flow != nullptr) return Of(*flow);
  // All flows are known: no packet of this flow was seen or sampled.
  if (level_.known.complete()) return {OfWhole(0, packets_), OfWhole(0, bytes_)};
  return FromSketch(hash);
}

Estimator::Counts Estimator::FromSketch(uint64_t hash) const {
  const uint32_t rows = level_.sketch.shape().rows;
  double packets[Setup::kMaxRows], bytes[Setup::kMaxRows];
  for (uint32_t row = 0; row < rows; ++row) {
    const Cell reading = level_.sketch.PlaceOf(row, hash).Read();
    packets[row] = Packets(reading.packets);
    bytes[row] = Packets(reading.bytes);
  }
  return {Combine(packets, packets_), Combine(bytes, bytes_)};
}

}  // namespace sluice::engine::telemetry
