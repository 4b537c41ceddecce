// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/metrics.h"

#include <prometheus/text_serializer.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

namespace sluice::runtime {

namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr char kPath[] = "/metrics";
constexpr char kTextFormat[] = "text/plain; version=0.0.4; charset=utf-8";

struct Place {
  std::string address, port;
};

// Parses "[ADDRESS:]PORT".
std::optional<Place> Listening(std::string_view where) {
  const size_t colon = where.rfind(':');
  const std::string_view text = colon == std::string_view::npos ? where : where.substr(colon + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (colon == std::string_view::npos) return Place{"127.0.0.1", std::string(text)};
  const std::string_view address = where.substr(0, colon);
  if (address.empty() || address.find_first_not_of("0123456789abcdefABCDEF.:[]") != where.npos) {
    return std::nullopt;
  }
  return Place{std::string(address), std::string(text)};
}

// Returns the address. Removes the brackets of an IPv6 address.
std::string Bare(const std::string& address) {
  const bool bracketed = address.starts_with('[') && address.ends_with(']');
  return bracketed ? address.substr(1, address.size() - 2) : address;
}

// Returns the metric name of a counter: "rx_pkts" becomes sluice_rx_packets_total.
std::string MetricName(std::string_view counter) {
  constexpr std::string_view kPackets = "_pkts";
  const bool packets = counter.ends_with(kPackets);
  if (packets) counter.remove_suffix(kPackets.size());
  return "sluice_" + std::string(counter) + (packets ? "_packets_total" : "_total");
}

}  // namespace

MetricFamilies BuildInfo(const std::string& app, const std::string& iface) {
  return {{"sluice_build_info",
           "Labels describe the build; the value is always 1.",
           MetricType::Gauge,
           {GaugeValue(1, {{"app", app}, {"version", SLUICE_VERSION}, {"iface", iface}})}}};
}

MetricFamilies MetricsOf(const Sample& sample, std::span<const std::string_view> reasons) {
  MetricFamilies families;
  const auto count = [&](std::string name, const char* help, uint64_t value) {
    AddCounter(families, std::move(name), help, static_cast<double>(value));
  };
  const auto by_reason = [&](const char* name, const char* help, const auto& drops) {
    MetricFamily family{name, help, MetricType::Counter, {}};
    for (const auto& [reason, value] : drops) {
      family.metric.push_back(
          CounterValue(static_cast<double>(value), {{"reason", std::string(reason)}}));
    }
    families.push_back(std::move(family));
  };
  for (const nic::QueueCounter& counter : nic::kQueueCounters) {
    if (!counter.drop) {
      count(MetricName(counter.name), counter.help, sample.counters.*counter.member);
    }
  }
  count("sluice_busy_cycles_total", "TSC cycles that workers spent in polls that handled frames.",
        sample.busy_cycles);
  count("sluice_cycles_total", "TSC cycles that workers spent in all polls.", sample.total_cycles);
  count("sluice_rx_nombuf_total", "Failed allocations of receive buffers.", sample.nic.no_mbuf);
  by_reason("sluice_dropped_packets_total", "Frames discarded, by reason.",
            DropsOf(sample.counters, reasons));
  by_reason("sluice_nic_dropped_packets_total",
            "Frames dropped by the port or its wire, by reason.", sample.nic.by_name);
  return families;
}

std::unique_ptr<MetricsServer> MetricsServer::Open(std::string_view where, std::string* error) {
  const std::string flag = "--metrics=" + std::string(where) + ": ";
  const std::optional<Place> place = Listening(where);
  if (!place) {
    *error = flag + "give PORT or ADDRESS:PORT";
    errno = EINVAL;
    return nullptr;
  }
  std::unique_ptr<MetricsServer> server(new MetricsServer);
  server->pages_ =
      PageServer::Open(Bare(place->address), place->port,
                       {kPath, kTextFormat, [raw = server.get()] { return raw->Text(); }});
  if (server->pages_ == nullptr) {
    *error = flag + "cannot listen at this address: give an address of this host and a free port";
    return nullptr;
  }
  server->url_ = "http://" + place->address + ":" + std::to_string(server->pages_->port()) + kPath;
  return server;
}

std::string MetricsServer::Text() {
  const std::scoped_lock lock(mutex_);
  return collect_ ? prometheus::TextSerializer().Serialize(collect_()) : "";
}

void MetricsServer::Serve(std::function<MetricFamilies()> collect) {
  const std::scoped_lock lock(mutex_);
  collect_ = std::move(collect);
}

}  // namespace sluice::runtime
