// SPDX-License-Identifier: BSD-3-Clause
#include "alerts.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/time/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/child_process.h"
#include "report.h"

namespace sluice::logmon {

namespace {

using engine::logmon::Alert;

// Maximum concurrent programs, so that many alerts do not start many processes.
constexpr size_t kMaxPrograms = 8;

// Limits per alert. An alert stores up to `threshold` event times per host, so it has at most
// kMaxTimes / threshold hosts, clamped to kMinHosts…kMaxHosts.
constexpr size_t kMaxHosts = 65'536, kMinHosts = 16, kMaxTimes = 1 << 20;

size_t MaxHosts(uint64_t threshold) {
  return std::clamp<size_t>(kMaxTimes / threshold, kMinHosts, kMaxHosts);
}

}  // namespace

Alerts::Alerts(const Config& config, std::string program)
    : config_(config), program_(std::move(program)), hosts_(config.about.size()) {}

bool Alerts::WriteTo(const std::string& path, std::string* error) {
  return file_.Open(path, error);
}

void Alerts::Add(const AlertEvent& event) {
  const engine::logmon::AlertOptions& options = *config_.about[event.filter].alert;
  auto& hosts = hosts_[event.filter];
  const std::string host(event.host);
  auto found = hosts.find(host);
  if (found == hosts.end()) {
    std::string error;  // The configuration's parser has checked the bounds.
    auto alert = Alert::Create(options, &error);
    if (!alert || hosts.size() >= MaxHosts(options.threshold)) {
      lost_hosts_ += event.count;
      return;
    }
    found = hosts.emplace(host, HostAlert{*std::move(alert), 0, {}}).first;
  }
  found->second.new_events += event.count;
  found->second.line = event.line;
}

/// Counts new events. Returns whether the alert has changed its state; the caller must report the
/// change.
bool Alerts::Count(HostAlert& one, uint64_t now_ms, Transition* transition) {
  const uint64_t threshold = config_.about[transition->filter].alert->threshold;
  const uint64_t events = std::exchange(one.new_events, 0);
  Alert::Edge edge = one.alert.OnTime(now_ms);
  // Simultaneous events beyond the threshold have no effect.
  uint64_t counted = 0;
  while (counted < std::min(events, threshold) && edge != Alert::Edge::kFired) {
    edge = one.alert.OnEvent(now_ms);
    ++counted;
  }
  transition->fired = edge == Alert::Edge::kFired;
  transition->count = threshold + (events - counted);
  return edge != Alert::Edge::kNone;
}

std::vector<std::string> Alerts::Update(uint64_t now_ms) {
  Reap();
  std::vector<std::string> lines;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    for (auto at = hosts_[i].begin(); at != hosts_[i].end();) {
      auto& [host, one] = *at;
      Transition transition{
          .filter = i, .host = host, .line = one.line, .fired = false, .count = 0};
      if (Count(one, now_ms, &transition)) {
        lines.push_back(LineFor(transition));
        Publish(transition, now_ms);
      }
      if (one.alert.IsAtRest(now_ms)) {
        hosts_[i].erase(at++);
      } else {
        ++at;
      }
    }
  }
  return lines;
}

std::string Alerts::LineFor(const Transition& transition) const {
  const FilterConfig& about = config_.about[transition.filter];
  const std::string host =
      transition.host.empty() ? "" : absl::StrCat(" ", absl::CHexEscape(transition.host));
  // Names come from the operator, so they are not escaped.
  return absl::StrFormat("%s: \"%s\"%s, %d events in %d s", transition.fired ? "ALERT" : "normal",
                         about.name, host, about.alert->threshold, about.alert->window / 1000);
}

void Alerts::Publish(const Transition& transition, uint64_t now_ms) {
  fired_ += transition.fired;
  const FilterConfig& about = config_.about[transition.filter];
  if (file_.is_open()) {
    nlohmann::ordered_json json;
    json["time"] =
        absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(static_cast<int64_t>(now_ms)),
                         absl::UTCTimeZone());
    json["filter"] = about.name;
    json["firing"] = transition.fired;
    json["threshold"] = about.alert->threshold;
    json["window_s"] = about.alert->window / 1000;
    if (!transition.host.empty()) json["host"] = transition.host;
    if (transition.fired) {
      json["count"] = transition.count;
      json["line"] = transition.line;
    }
    file_.Write(AsciiLine(json));
    file_.Flush();
  }
  if (transition.fired && !program_.empty()) Run(transition);
}

// Runs the program with the alert in its environment. Log text is escaped to printable ASCII.
void Alerts::Run(const Transition& transition) {
  if (running_.size() >= kMaxPrograms) {
    ++failed_programs_;
    return;
  }
  const FilterConfig& about = config_.about[transition.filter];
  pid_t pid = 0;
  const int failed = host::Spawn(
      {.program = program_,
       .environment = {"SLUICE_FILTER=" + about.name,
                       absl::StrCat("SLUICE_HOST=", absl::CHexEscape(transition.host)),
                       "SLUICE_COUNT=" + std::to_string(transition.count),
                       absl::StrCat("SLUICE_LINE=", absl::CHexEscape(transition.line)),
                       "SLUICE_THRESHOLD=" + std::to_string(about.alert->threshold),
                       "SLUICE_WINDOW_S=" + std::to_string(about.alert->window / 1000)}},
      &pid);
  if (failed == 0) {
    running_.push_back(pid);
  } else {
    ++failed_programs_;
  }
}

void Alerts::Reap() {
  std::erase_if(running_, [this](pid_t pid) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == 0) return false;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++failed_programs_;
    return true;
  });
}

}  // namespace sluice::logmon
