// SPDX-License-Identifier: BSD-3-Clause
#include "control.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace sluice::maglev {

using engine::maglev::BackendSetup;
using engine::maglev::BackendState;
using engine::maglev::Setup;
using engine::maglev::VipSetup;

namespace {

// Says of which VIPs checks begin or cease to be ignored.
void TellOpened(const Setup& before, const Setup& now) {
  std::set<std::string_view> opened;
  for (const VipSetup& vip : before.vips) {
    if (vip.failed_open) opened.insert(vip.name);
  }
  for (const VipSetup& vip : now.vips) {
    if (vip.failed_open == opened.contains(vip.name)) continue;
    std::fprintf(
        stderr, "health: %s %s\n", vip.name.c_str(),
        vip.failed_open ? "fails open: no backend answers, all are used" : "no longer fails open");
  }
}

}  // namespace

std::string_view StateName(BackendState state) {
  switch (state) {
    case BackendState::kUp: return "up";
    case BackendState::kDraining: return "draining";
    case BackendState::kDown: return "down";
  }
  return "";
}

std::string FixedDifference(const Setup& now, const Setup& next) {
  std::vector<std::string> names;
  const auto compare = [&](std::string_view name, uint32_t one, uint32_t other) {
    if (one != other) names.emplace_back(name);
  };
  compare("connections", now.connections, next.connections);
  compare("fragments", now.fragments, next.fragments);
  compare("timeouts.tcp_s", now.timeouts.tcp_s, next.timeouts.tcp_s);
  compare("timeouts.tcp_opening_s", now.timeouts.tcp_opening_s, next.timeouts.tcp_opening_s);
  compare("timeouts.tcp_closing_s", now.timeouts.tcp_closing_s, next.timeouts.tcp_closing_s);
  compare("timeouts.udp_s", now.timeouts.udp_s, next.timeouts.udp_s);
  compare("timeouts.fragment_s", now.timeouts.fragment_s, next.timeouts.fragment_s);
  return absl::StrJoin(names, ", ");
}

Control::Control(Config config, std::string path, uint32_t workers)
    : config_(std::move(config)),
      path_(std::move(path)),
      published_(workers, Tables::Build(config_.setup, nullptr)) {}

void Control::View(const Look& look) const {
  const std::scoped_lock lock(mutex_);
  look(config_, published_.current());
}

Setup Control::Effective(const Config& config) const {
  const std::scoped_lock lock(mutex_);
  return Apply(config);
}

Setup Control::Apply(const Config& config) const {
  Setup setup = config.setup;
  for (size_t i = 0; i < setup.vips.size(); ++i) {
    VipSetup& vip = setup.vips[i];
    bool any_takes = false;
    bool any_takes_and_answers = false;
    for (BackendSetup& backend : vip.backends) {
      const BackendId id{vip.name, backend.name};
      if (backend.state == BackendState::kUp && drained_.contains(id)) {
        backend.state = BackendState::kDraining;
      }
      const bool takes = backend.state == BackendState::kUp && backend.weight != 0;
      any_takes |= takes;
      any_takes_and_answers |= takes && !unhealthy_.contains(id);
    }
    const std::optional<HealthCheck>& health = config.health[i];
    vip.failed_open = health && health->fail_open && any_takes && !any_takes_and_answers;
    if (vip.failed_open) continue;
    for (BackendSetup& backend : vip.backends) {
      if (unhealthy_.contains({vip.name, backend.name})) backend.state = BackendState::kDown;
    }
  }
  return setup;
}

bool Control::Has(const BackendId& id) const {
  const std::scoped_lock lock(mutex_);
  return Find(id) != nullptr;
}

const BackendSetup* Control::Find(const BackendId& id) const {
  for (const VipSetup& vip : config_.setup.vips) {
    if (vip.name != id.first) continue;
    const auto it = std::ranges::find(vip.backends, id.second, &BackendSetup::name);
    return it == vip.backends.end() ? nullptr : &*it;
  }
  return nullptr;
}

void Control::Publish() {
  const Tables& before = published_.current();
  std::unique_ptr<const Tables> next = Tables::Build(Apply(config_), &before);
  TellOpened(before.setup(), next->setup());
  std::vector<uint16_t> vips;
  std::vector<uint16_t> backends;
  for (size_t i = 0; i < std::min(before.vips().size(), next->vips().size()); ++i) {
    const auto index = static_cast<uint16_t>(i);
    if (before.VipName(index) != next->VipName(index)) vips.push_back(index);
  }
  for (size_t i = 0; i < std::min(before.backends().size(), next->backends().size()); ++i) {
    const auto index = static_cast<uint16_t>(i);
    if (before.BackendName(index) != next->BackendName(index) ||
        before.VipName(before.backends()[i].vip) != next->VipName(next->backends()[i].vip)) {
      backends.push_back(index);
    }
  }
  published_.Publish(std::move(next));
  if (new_owners_ && !(vips.empty() && backends.empty())) new_owners_(vips, backends);
}

std::string Control::Reload() {
  if (path_.empty()) return "the built-in sample is not a file: start with --config=FILE";
  std::vector<std::string> errors;
  std::optional<Config> next = ReadConfig(path_, &errors);
  if (!next) return path_ + ": " + absl::StrJoin(errors, "; ");
  const std::scoped_lock lock(mutex_);
  const std::string fixed = FixedDifference(config_.setup, next->setup);
  if (!fixed.empty()) return path_ + ": cannot change while workers run: " + fixed;
  config_ = *std::move(next);
  const auto is_gone = [this](const BackendId& id) { return Find(id) == nullptr; };
  std::erase_if(drained_, is_gone);
  std::erase_if(unhealthy_, is_gone);
  Publish();
  ++configurations_;
  return "";
}

std::string Control::Drain(const BackendId& id) {
  const std::scoped_lock lock(mutex_);
  if (Find(id) == nullptr) return "no backend " + id.second + " of VIP " + id.first;
  if (drained_.insert(id).second) Publish();
  return "";
}

std::string Control::Restore(const BackendId& id) {
  const std::scoped_lock lock(mutex_);
  const BackendSetup* const backend = Find(id);
  if (backend == nullptr) return "no backend " + id.second + " of VIP " + id.first;
  if (drained_.erase(id) != 0) {
    Publish();
  } else if (backend->state != BackendState::kUp) {
    return "the file says " + std::string(StateName(backend->state)) + ": change it there";
  }
  return "";
}

void Control::SetHealthy(const BackendId& id, bool healthy) {
  const std::scoped_lock lock(mutex_);
  if (Find(id) == nullptr) return;
  const bool changed = healthy ? unhealthy_.erase(id) != 0 : unhealthy_.insert(id).second;
  if (changed) Publish();
}

}  // namespace sluice::maglev
