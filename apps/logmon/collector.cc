// SPDX-License-Identifier: BSD-3-Clause
#include "collector.h"

#include <rte_cycles.h>

#include <chrono>
#include <utility>

#include "report.h"

namespace sluice::logmon {

namespace {

constexpr std::chrono::milliseconds kPeriod{100};
constexpr size_t kMinutesKept = 1000;  // Maximum number of stored minutes, summed over all filters.

WorkerFigures Plus(WorkerFigures sum, const WorkerFigures& more) {
  using engine::logmon::ScanCounters;
  for (const auto total :
       {&ScanCounters::lines, &ScanCounters::matched_lines, &ScanCounters::asked,
        &ScanCounters::given_up, &ScanCounters::unread_json, &ScanCounters::truncated_lines,
        &ScanCounters::torn_lines, &ScanCounters::no_memory_lines}) {
    sum.scan.*total += more.scan.*total;
  }
  for (size_t i = 0; i < sum.sources.events.size(); ++i) {
    sum.sources.events[i] += more.sources.events[i];
  }
  for (const auto total :
       {&WorkerFigures::known_sources, &WorkerFigures::state_bytes, &WorkerFigures::shown_lines,
        &WorkerFigures::lost_lines, &WorkerFigures::lost_hosts}) {
    sum.*total += more.*total;
  }
  return sum;
}

}  // namespace

Collector::Collector(const Settings& settings, const WallClock& clock, uint32_t workers,
                     std::FILE* text)
    : settings_(settings),
      clock_(clock),
      text_(text),
      ledger_(settings.config),
      alerts_(settings.config, settings.alert_exec),
      figures_(workers) {
  for (uint32_t i = 0; i < workers; ++i) {
    batches_.push_back(std::make_unique<runtime::Handover<Batch>>(settings.config));
  }
}

bool Collector::Open(std::string* flag, std::string* fix) {
  *flag = "lines";
  if (!settings_.lines.empty() && !lines_.Open(settings_.lines, fix)) return false;
  *flag = "minutes";
  if (!settings_.minutes.empty() && !minutes_.Open(settings_.minutes, fix)) return false;
  *flag = "alerts";
  return settings_.alerts.empty() || alerts_.WriteTo(settings_.alerts, fix);
}

void Collector::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Collector::Stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
  Collect();
  const std::scoped_lock lock(mutex_);
  Close(ledger_.RemoveAll());
}

void Collector::Loop() {
  while (!stop_.load(std::memory_order_relaxed)) {
    Collect();
    std::this_thread::sleep_for(kPeriod);
  }
}

void Collector::Collect() {
  const std::scoped_lock lock(mutex_);
  for (size_t worker = 0; worker < batches_.size(); ++worker) {
    batches_[worker]->Consume([&](Batch& batch) {
      ledger_.Add(batch);
      batch.alerts.Drain([this](const AlertEvent& event) { alerts_.Add(event); });
      // A worker that has left may have two batches, and the older one may arrive last.
      if (batch.figures.scan.lines >= figures_[worker].scan.lines) figures_[worker] = batch.figures;
      ShowLines(batch.shown);
    });
  }
  const uint64_t now_ns = clock_.Ns(rte_rdtsc());
  for (const std::string& line : alerts_.Update(now_ns / 1'000'000)) {
    std::fprintf(text_, "%s\n", line.c_str());
    std::fflush(text_);
  }
  Close(ledger_.RemoveBefore(static_cast<int64_t>((now_ns - kGraceNs) / 60'000'000'000)));
}

void Collector::Close(const std::vector<FilterMinute>& minutes) {
  for (const FilterMinute& minute : minutes) {
    over_.push_back(MinuteJson(minute, settings_.config));
    if (minutes_.is_open()) {
      minutes_.Write(AsciiLine(over_.back()));
    }
    if (over_.size() > kMinutesKept) over_.pop_front();
  }
  if (minutes_.is_open() && !minutes.empty()) minutes_.Flush();
}

void Collector::ShowLines(ShownLines& lines) {
  if (!lines_.is_open()) return;
  lines.Drain(
      [this](const ShownLine& line) { lines_.Write(ShownLineText(line, settings_.config)); });
  lines_.Flush();
}

Figures Collector::ReadFigures() const {
  const std::scoped_lock lock(mutex_);
  Figures figures{.lines = ledger_.lines(),
                  .filters = {},
                  .workers = {},
                  .alerts = alerts_.fired(),
                  .lost_hosts = alerts_.lost_hosts(),
                  .failed_programs = alerts_.failed_programs()};
  for (const FilterTotals& totals : ledger_.totals()) {
    FilterTotals& copy = figures.filters.emplace_back();
    copy.events = totals.events;
    copy.metric.Merge(totals.metric);
  }
  for (const WorkerFigures& worker : figures_) {
    figures.workers = Plus(std::move(figures.workers), worker);
  }
  figures.lost_hosts += figures.workers.lost_hosts;
  return figures;
}

nlohmann::ordered_json Collector::Minutes() const {
  const std::scoped_lock lock(mutex_);
  auto minutes = nlohmann::ordered_json::array();
  for (const nlohmann::ordered_json& minute : over_) minutes.push_back(minute);
  return minutes;
}

}  // namespace sluice::logmon
