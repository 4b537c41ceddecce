// SPDX-License-Identifier: BSD-3-Clause
//
// Metric values and families that follow Prometheus's conventions ("Metric and label naming" in its
// docs): names begin with sluice_, counters end with _total, and units are base units and part of
// the name.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::runtime {

using MetricFamilies = std::vector<prometheus::MetricFamily>;
using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

/// Converts a counter to Prometheus's number type. Exact up to 2^53.
inline double Number(uint64_t value) { return static_cast<double>(value); }

inline prometheus::ClientMetric CounterValue(double value, MetricLabels labels = {}) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  return metric;
}

inline prometheus::ClientMetric GaugeValue(double value, MetricLabels labels = {}) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

/// Adds a counter without labels.
inline void AddCounter(MetricFamilies& families, std::string name, std::string help, double value) {
  families.push_back(
      {std::move(name), std::move(help), prometheus::MetricType::Counter, {CounterValue(value)}});
}
inline void AddGauge(MetricFamilies& families, std::string name, std::string help, double value) {
  families.push_back(
      {std::move(name), std::move(help), prometheus::MetricType::Gauge, {GaugeValue(value)}});
}

}  // namespace sluice::runtime
