// SPDX-License-Identifier: BSD-3-Clause
#include "figures.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/counter_rows.h"
#include "host/measures.h"

namespace sluice::sched {
namespace {

using Json = nlohmann::ordered_json;

using engine::sched::Status;

constexpr auto kStatusNames = base::Names<Status, engine::sched::kStatuses, Status::kComplete>(
    {{Status::kComplete, "complete"},
     {Status::kAborted, "aborted"},
     {Status::kTargetOnCpu, "target_on_cpu"},
     {Status::kTargetStale, "target_stale"},
     {Status::kTargetNotFound, "target_not_found"},
     {Status::kTargetNotRunnable, "target_not_runnable"},
     {Status::kAgentStale, "agent_stale"},
     {Status::kCpuOffline, "cpu_offline"},
     {Status::kCpuUnavailable, "cpu_unavailable"},
     {Status::kInvalidFlags, "invalid_flags"},
     {Status::kInvalidTarget, "invalid_target"},
     {Status::kNotPermitted, "not_permitted"},
     {Status::kInvalidCpu, "invalid_cpu"},
     {Status::kNoAgent, "no_agent"},
     {Status::kUnsupportedVersion, "unsupported_version"},
     {Status::kPoisoned, "poisoned"}});

double PerSecond(uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}
double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Json Statuses(const std::array<uint64_t, engine::sched::kStatuses>& counts) {
  Json json = Json::object();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) json[std::string(kStatusNames[i])] = counts[i];
  }
  return json;
}

// Returns a percentile in microseconds, padded to a column.
std::string Us(const Histogram& times, double share) {
  if (times.count() == 0) return "       -";
  const double us = static_cast<double>(times.Percentile(share)) / 1e3;
  return us < 1000 ? absl::StrFormat(" %7.1f", us) : absl::StrFormat(" %7.0f", us);
}

}  // namespace

std::string_view StatusName(Status status) {
  return kStatusNames[static_cast<size_t>(static_cast<int64_t>(status) - INT_MIN)];
}

void Figures::Add(const Figures& more) {
  requests += more.requests;
  refused += more.refused;
  answered += more.answered;
  switches += more.switches;
  preemptions += more.preemptions;
  cuts += more.cuts;
  busy_cycles += more.busy_cycles;
  for (size_t i = 0; i < latency.size(); ++i) latency[i].Add(more.latency[i]);
  decision.Add(more.decision);
}

uint64_t Result::Ruled() const {
  return std::accumulate(host.counters.statuses.begin(), host.counters.statuses.end(), uint64_t{0});
}
uint64_t Result::Refused() const {
  // Statuses 0 and 1 are kComplete and kAborted.
  return Ruled() - host.counters.statuses[0] - host.counters.statuses[1];
}

bool Result::IsDisturbed() const {
  constexpr double kSwitchesPerSecond = 20;
  return disturbance.stolen_ms > 0 ||
         static_cast<double>(disturbance.switches) > kSwitchesPerSecond * std::max(seconds, 1.0);
}

Json Result::ToJson() const {
  return {{"policy", policy},
          {"mode", mode},
          {"window", mode == "local" ? "none" : "model"},
          {"seconds", seconds},
          {"busy", busy},
          {"stolen_ms", disturbance.stolen_ms},
          {"involuntary_switches", disturbance.switches},
          {"requests", figures.requests},
          {"refused", figures.refused},
          {"answered", figures.answered},
          {"unfinished", host.unfinished},
          {"requests_per_s", PerSecond(figures.answered, seconds)},
          {"short", host::LatencyNsJson(figures.latency[kShortClass])},
          {"long", host::LatencyNsJson(figures.latency[kLongClass])},
          {"decisions", Ruled()},
          {"decisions_refused", Refused()},
          {"decisions_per_s", PerSecond(Ruled(), seconds)},
          {"decision", host::LatencyNsJson(figures.decision)},
          {"switches", figures.switches},
          {"preemptions", figures.preemptions},
          {"cuts", figures.cuts},
          {"host",
           {{"statuses", Statuses(host.counters.statuses)},
            {"prestage_hits", host.counters.prestage_hits},
            {"prestage_stale", host.counters.prestage_stale},
            {"prestage_empty", host.counters.prestage_empty},
            {"watchdog_expired", host.counters.watchdog_expired},
            {"discoveries", host.counters.discoveries},
            {"local_choices", host.counters.local_choices},
            {"overflows", host.overflows},
            {"faults", host.faults}}},
          {"agent",
           {{"agents", agents},
            {"messages", agent.messages},
            {"decisions", agent.decisions},
            {"enforced", agent.enforced},
            {"refused", Statuses(agent.refused)},
            {"preemptions", agent.preemptions},
            {"prestaged", agent.prestaged},
            {"recalled_in_time", agent.recalled_in_time},
            {"recalled_too_late", agent.recalled_too_late},
            {"losses", agent.losses},
            {"unknown_tasks", agent.unknown_tasks}}}};
}

Json Result::LatencyJson() const {
  return {{"short", host::BucketsJson(figures.latency[kShortClass])},
          {"long", host::BucketsJson(figures.latency[kLongClass])},
          {"decision", host::BucketsJson(figures.decision)}};
}

std::string TableHead() {
  return "                                             |    short requests, us   |     long "
         "requests, "
         "us   |       decisions         | refused prestage | stolen switched\n"
         "policy              mode          requests/s |     p50     p99   p99.9 |     p50     p99 "
         "  "
         "p99.9 |      /s  p50 us  p99 us |       %   hits % |     ms      out";
}

std::string TableRow(const Result& result) {
  const Figures& f = result.figures;
  const uint64_t looked = result.host.counters.prestage_hits + result.host.counters.prestage_stale +
                          result.host.counters.prestage_empty;
  return absl::StrFormat("%-19s %-13s %10.0f |%s%s%s |%s%s%s | %7.0f%s%s | %7.2f   %6.1f | %6d %8d",
                         result.policy, result.mode, PerSecond(f.answered, result.seconds),
                         Us(f.latency[0], 0.5), Us(f.latency[0], 0.99), Us(f.latency[0], 0.999),
                         Us(f.latency[1], 0.5), Us(f.latency[1], 0.99), Us(f.latency[1], 0.999),
                         PerSecond(result.Ruled(), result.seconds), Us(f.decision, 0.5),
                         Us(f.decision, 0.99), Percent(result.Refused(), result.Ruled()),
                         Percent(result.host.counters.prestage_hits, looked),
                         result.disturbance.stolen_ms, result.disturbance.switches);
}

bool Board::Publish(uint32_t worker, const Figures& figures, const HostFigures* host, bool wait) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return false;
  }
  figures_[worker] = figures;
  if (host != nullptr) host_ = *host;
  return true;
}

void Board::Sum(Figures* figures, HostFigures* host) const {
  const std::scoped_lock lock(mutex_);
  *figures = {};
  for (const Figures& own : figures_) figures->Add(own);
  *host = host_;
}

void Board::Finish(Result result) {
  const std::scoped_lock lock(mutex_);
  results_.push_back(std::move(result));
  Clear();
}

void Board::Restart() {
  const std::scoped_lock lock(mutex_);
  Clear();
}

void Board::Clear() {
  for (Figures& figures : figures_) figures = {};
  host_ = {};
}

std::vector<Result> Board::results() const {
  const std::scoped_lock lock(mutex_);
  return results_;
}

}  // namespace sluice::sched
