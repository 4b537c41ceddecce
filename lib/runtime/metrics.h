// SPDX-License-Identifier: BSD-3-Clause
//
// Serves the run's counters to Prometheus over HTTP (--metrics), in addition to EAL's telemetry.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/metric_values.h"
#include "runtime/page_server.h"
#include "runtime/report.h"

namespace sluice::runtime {

/// Returns a gauge with value 1 and labels that name the program.
MetricFamilies BuildInfo(const std::string& app, const std::string& iface);

/// Returns the values in `sample` as metrics. Every family is named "sluice_…", and drop reasons
/// are labels.
MetricFamilies MetricsOf(const Sample& sample, std::span<const std::string_view> reasons);

/// Serves http://ADDRESS:PORT/metrics in text format 0.0.4, from a separate thread, while the
/// object exists.
class MetricsServer {
 public:
  /// `where` is PORT, for connections from this host only, or ADDRESS:PORT. IPv6 addresses are in
  /// brackets; port 0 selects any free port. If it cannot listen, returns null and sets `error` to
  /// one line that names the flag.
  static std::unique_ptr<MetricsServer> Open(std::string_view where, std::string* error);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  /// Returns the page's URL.
  const std::string& url() const { return url_; }
  /// Sets the function that the server's thread calls for each scrape. Null serves an empty page.
  /// When Serve returns, the previous function is no longer running.
  void Serve(std::function<MetricFamilies()> collect);

 private:
  MetricsServer() = default;
  std::string Text();

  std::mutex mutex_;
  std::function<MetricFamilies()> collect_;
  std::string url_;
  std::unique_ptr<PageServer> pages_;  ///< Must be destroyed first: its thread calls Text().
};

}  // namespace sluice::runtime
