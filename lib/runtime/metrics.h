// SPDX-License-Identifier: BSD-3-Clause
//
// The run's figures for Prometheus, over HTTP (--metrics). The sidecar to EAL's telemetry for
// those who scrape.
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

/// Which program this is, as a gauge that is 1.
MetricFamilies BuildInfo(const std::string& app, const std::string& iface);

/// What `sample` says. Every family is named "sluice_…"; every drop reason is a label.
MetricFamilies MetricsOf(const Sample& sample, std::span<const std::string_view> reasons);

/// Serves http://ADDRESS:PORT/metrics in the text format 0.0.4 from a thread of its own while it
/// lives.
class MetricsServer {
 public:
  /// `where` is PORT, for this host alone, or ADDRESS:PORT; IPv6 addresses in brackets; port 0 is
  /// any that is free. Null, and one line in `error` that names the flag, if it cannot listen.
  static std::unique_ptr<MetricsServer> Open(std::string_view where, std::string* error);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  /// Where it listens.
  const std::string& url() const { return url_; }
  /// The server's thread calls `collect` for each scrape, until another function is given; null
  /// says nothing. When this returns, the function before it is not running any more.
  void Serve(std::function<MetricFamilies()> collect);

 private:
  MetricsServer() = default;
  std::string Text();

  std::mutex mutex_;
  std::function<MetricFamilies()> collect_;
  std::string url_;
  std::unique_ptr<PageServer> pages_;  ///< Its thread calls Text(): ends first.
};

}  // namespace sluice::runtime
