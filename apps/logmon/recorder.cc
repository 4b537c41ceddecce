// SPDX-License-Identifier: BSD-3-Clause
#include "recorder.h"

#include <optional>
#include <span>

namespace sluice::logmon {

using engine::logmon::MatchedLine;
using engine::logmon::Source;
using engine::logmon::SyslogHeader;

Recorder::Recorder(const Config& config, const WallClock& clock, runtime::Handover<Batch>& batches)
    : config_(&config), clock_(&clock), batches_(&batches) {
  for (size_t i = 0; i < config.about.size(); ++i) {
    shown_[i] = config.about[i].show;
    metrics_[i] = config.about[i].has_metric();
    alerts_[i] = config.about[i].alert.has_value();
    by_host_[i] = config.about[i].alert_by_host;
  }
}

MinuteCounts& Recorder::Counts() {
  std::vector<MinuteCounts>& counts = batches_->filling().counts;
  if (counts.empty() || counts.back().minute != minute_) {
    counts.push_back({minute_, 0, std::vector<uint64_t>(config_->about.size())});
  }
  return counts.back();
}

void Recorder::OnMatch(const Source& source, const SyslogHeader* header, const MatchedLine& line,
                       uint64_t now) {
  if (minute_ == 0) minute_ = clock_->Minute(now);
  MinuteCounts& counts = Counts();
  for (size_t i = 0; i < counts.events.size(); ++i) counts.events[i] += line.filters[i];
  if ((line.filters & metrics_).any()) {
    for (size_t i = 0; i < counts.events.size(); ++i) {
      if (line.filters[i] && metrics_[i]) CountMetric(i, line.text);
    }
  }
  if ((line.filters & alerts_).any()) CountForAlerts(line);
  if ((line.filters & shown_).any()) Show(source, header, line, now);
}

void Recorder::CountForAlerts(const MatchedLine& line) {
  for (size_t i = 0; i < config_->about.size(); ++i) {
    if (!line.filters[i] || !alerts_[i]) continue;
    const std::string_view host = by_host_[i] ? line.HostOf(i) : std::string_view();
    if (!batches_->filling().alerts.Add(i, host, line.text)) ++lost_hosts_;
  }
}

void Recorder::CountMetric(size_t filter, std::string_view line) {
  const FilterConfig& about = config_->about[filter];
  const std::optional<double> value = about.value ? about.value->Of(line, scratch_) : 1;
  about.dimensions.Of(line, scratch_, dimensions_);
  batches_->filling().metrics[filter].AddEvent(
      minute_, value, std::span(dimensions_.texts).first(about.dimensions.names().size()));
}

void Recorder::Show(const Source& source, const SyslogHeader* header, const MatchedLine& line,
                    uint64_t now) {
  const bool kept =
      batches_->filling().shown.Add({.source = source,
                                     .filters = line.filters & shown_,
                                     .time_ns = clock_->Ns(now),
                                     .is_syslog = header != nullptr,
                                     .truncated = line.truncated,
                                     .header = header != nullptr ? *header : SyslogHeader{},
                                     .text = line.text});
  ++(kept ? shown_lines_ : lost_lines_);
}

void Recorder::AtRest(uint64_t now, uint64_t lines) {
  if (lines != lines_) {
    if (minute_ == 0) minute_ = clock_->Minute(now);
    Counts().lines += lines - lines_;
    lines_ = lines;
  }
  minute_ = clock_->Minute(now);
}

}  // namespace sluice::logmon
