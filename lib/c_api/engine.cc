// SPDX-License-Identifier: BSD-3-Clause
#include "c_api/engine.h"

#include <utility>

using sluice::c_api::ConfigText;
using sluice::c_api::Errors;
using sluice::c_api::Kind;
using sluice::c_api::WorkerTotals;

sluice_engine::sluice_engine(const Kind& kind, std::span<const std::string_view> reasons,
                             uint32_t headroom)
    : kind_(kind), reasons_(reasons.begin(), reasons.end()), headroom_(headroom) {
  reasons_.emplace_back("no_memory");
}

const char* sluice_engine::Reason(uint32_t number) const {
  return number < reasons_.size() ? reasons_[number].c_str() : nullptr;
}

void sluice_engine::VisitAll(const VisitCounter& visit) const {
  const auto sum = [this](auto total_of) {
    uint64_t value = 0;
    for (const auto& worker : workers_) value += WorkerTotals::Load(total_of(worker->totals()));
    return value;
  };
  for (size_t i = 0; i < WorkerTotals::kTotals; ++i) {
    visit(WorkerTotals::kNames[i],
          sum([i](const WorkerTotals& totals) -> const uint64_t& { return totals.totals[i]; }));
  }
  for (size_t i = 0; i < reasons_.size(); ++i) {
    visit("drop_" + reasons_[i],
          sum([i](const WorkerTotals& totals) -> const uint64_t& { return totals.drops[i]; }));
  }
  VisitCounters(visit);
}

void sluice_engine::NameCounters() {
  VisitAll([this](std::string_view name, uint64_t) { counter_names_.emplace_back(name); });
}

uint32_t sluice_engine::Counters(std::span<sluice_counter> counters) const {
  const std::scoped_lock lock(mutex_);
  size_t i = 0;
  VisitAll([&](std::string_view, uint64_t value) {
    if (i < counters.size()) counters[i] = {counter_names_[i].c_str(), value};
    ++i;
  });
  return static_cast<uint32_t>(i);
}

bool sluice_engine::Replace(const ConfigText& config, Errors* errors) {
  const std::scoped_lock lock(mutex_);
  return DoReplace(config, errors);
}

bool sluice_engine::DoReplace(const ConfigText&, Errors* errors) {
  sluice::config::AddError(errors,
                           "this engine's configuration cannot be replaced: create another engine");
  return false;
}

std::optional<std::string> sluice_engine::Report() {
  const std::scoped_lock lock(mutex_);
  return DoReport();
}

void sluice_engine::Finish(uint64_t now) {
  const std::scoped_lock lock(mutex_);
  DoFinish(now);
}
