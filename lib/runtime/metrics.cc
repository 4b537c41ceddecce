// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <charconv>
#include <exception>
#include <mutex>
#include <utility>

namespace sluice::runtime {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric Count(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  return metric;
}

// "[ADDRESS:]PORT": what civetweb's listening_ports takes, or "".
std::string Listening(std::string_view where) {
  const size_t colon = where.rfind(':');
  const std::string_view text = colon == std::string_view::npos ? where : where.substr(colon + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return "";
  if (colon == std::string_view::npos) return "127.0.0.1:" + std::string(text);
  // A list of addresses, or options of civetweb behind the port, are not ours to pass on.
  const bool sound = where.find_first_not_of("0123456789abcdefABCDEF.:[]") == std::string_view::npos;
  return sound ? std::string(where) : "";
}

}  // namespace

MetricFamilies MetricsOf(const Sample& sample, std::span<const std::string_view> reasons) {
  const nic::QueueCounters& c = sample.counters;
  const struct {
    const char *name, *help;
    uint64_t value;
  } totals[] = {
      {"sluice_rx_packets_total", "Frames received by the workers.", c.rx_pkts},
      {"sluice_rx_bytes_total", "Their bytes, without FCS.", c.rx_bytes},
      {"sluice_tx_packets_total", "Frames sent by the workers.", c.tx_pkts},
      {"sluice_tx_bytes_total", "Their bytes, without FCS.", c.tx_bytes},
      {"sluice_own_packets_total", "Frames that the application sent beyond one answer per frame.",
       c.sent_pkts},
      {"sluice_consumed_packets_total", "Frames that the application kept.", c.consumed_pkts},
      {"sluice_passed_packets_total", "Frames handed to the exception port.", c.passed_pkts},
      {"sluice_rx_desync_flits_total", "64-byte flits that belong to no recognisable frame.",
       c.rx_desync},
      {"sluice_busy_cycles_total", "TSC cycles of polls that handled frames.", sample.busy_cycles},
      {"sluice_cycles_total", "TSC cycles of all polls.", sample.total_cycles},
  };
  MetricFamilies families;
  for (const auto& [name, help, value] : totals) {
    families.push_back(
        {name, help, MetricType::Counter, {Count(static_cast<double>(value))}});
  }
  MetricFamily drops{"sluice_dropped_packets_total", "Frames discarded, by reason.",
                     MetricType::Counter, {}};
  for (const auto& [reason, value] : DropsOf(c, reasons)) {
    drops.metric.push_back(Count(static_cast<double>(value), {{"reason", reason}}));
  }
  families.push_back(std::move(drops));
  return families;
}

// What the listener asks.
class MetricsServer::Answer : public prometheus::Collectable {
 public:
  MetricFamilies Collect() const override {
    const std::scoped_lock lock(mutex_);
    return collect_ ? collect_() : MetricFamilies{};
  }
  void Set(std::function<MetricFamilies()> collect) {
    const std::scoped_lock lock(mutex_);
    collect_ = std::move(collect);
  }

 private:
  mutable std::mutex mutex_;
  std::function<MetricFamilies()> collect_;
};

class MetricsServer::Listener : public prometheus::Exposer {
 public:
  using prometheus::Exposer::Exposer;
};

MetricsServer::MetricsServer() : answer_(std::make_shared<Answer>()) {}
MetricsServer::~MetricsServer() = default;

std::unique_ptr<MetricsServer> MetricsServer::Open(std::string_view where, std::string* error) {
  const std::string flag = "--metrics=" + std::string(where) + ": ";
  const std::string listening = Listening(where);
  if (listening.empty()) {
    *error = flag + "give PORT or ADDRESS:PORT";
    return nullptr;
  }
  std::unique_ptr<MetricsServer> server(new MetricsServer);
  try {
    server->listener_ = std::make_unique<Listener>(listening);
  } catch (const std::exception&) {  // The only way that civetweb has to say no.
    *error = flag + "cannot listen there: give an address of this host and a free port";
    return nullptr;
  }
  server->listener_->RegisterCollectable(server->answer_);
  server->url_ = "http://" + listening.substr(0, listening.rfind(':') + 1) +
                 std::to_string(server->listener_->GetListeningPorts().front()) + "/metrics";
  return server;
}

void MetricsServer::Serve(std::function<MetricFamilies()> collect) {
  answer_->Set(std::move(collect));
}

}  // namespace sluice::runtime
