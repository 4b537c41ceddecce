// SPDX-License-Identifier: BSD-3-Clause
#include "control.h"

#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "config/json_reader.h"

namespace sluice::maglev {

using engine::maglev::BackendSetup;
using engine::maglev::BackendState;
using engine::maglev::Setup;
using engine::maglev::VipSetup;

namespace {

// Prints the VIPs that start or stop failing open.
void ReportOpened(const Setup& before, const Setup& now) {
  std::set<std::string_view> opened;
  for (const VipSetup& vip : before.vips) {
    if (vip.failed_open) opened.insert(vip.name);
  }
  for (const VipSetup& vip : now.vips) {
    if (vip.failed_open == opened.contains(vip.name)) continue;
    std::fprintf(stderr, "health: %s %s\n", vip.name.c_str(),
                 vip.failed_open
                     ? "fails open: no backend answers health checks, so all backends are used"
                     : "no longer fails open: a backend answers health checks again");
  }
}

}  // namespace

std::string MtuFault(const Setup& setup, uint32_t port_packet_bytes) {
  const uint32_t longest = LongestPacket(setup);
  if (longest <= port_packet_bytes) return "";
  return absl::StrFormat(
      "mtu: the port receives packets of at most %d bytes, not %d, over this interface: give "
      "\"mtu\": %d or less",
      port_packet_bytes, longest, port_packet_bytes);
}

Control::Control(Config config, std::string path, uint32_t workers, Sources sources)
    : sources_(std::move(sources)),
      config_(std::move(config)),
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
  ReportOpened(before.setup(), next->setup());
  const auto owners = engine::maglev::NewOwners::Of(before, *next);
  published_.Publish(std::move(next));
  if (on_new_owners_ && !owners.empty()) on_new_owners_(owners);
}

std::optional<Config> Control::ReadOther(const std::string& path,
                                         std::vector<std::string>* errors) const {
  Additions additions;
  {
    const std::scoped_lock lock(sources_mutex_);
    additions = sources_.additions;
  }
  const std::optional<std::string> text = config::ReadFile(path, errors);
  return text ? ParseConfig(*text, errors, additions) : std::nullopt;
}

std::string Control::Reload() {
  if (path_.empty()) return "the built-in sample cannot be read again: start with --config=FILE";
  std::vector<std::string> errors;
  const std::optional<std::string> text = config::ReadFile(path_, &errors);
  if (!text) return errors.front();
  const std::scoped_lock lock(sources_mutex_);
  const std::string error = Reconfigure(*text, sources_.additions);
  return error.empty() ? "" : path_ + ": " + error;
}

std::string Control::Add(const Additions& additions) {
  const std::scoped_lock lock(sources_mutex_);
  return additions == sources_.additions ? "" : Reconfigure(sources_.text, additions);
}

std::string Control::Reconfigure(const std::string& text, const Additions& additions) {
  std::vector<std::string> errors;
  std::optional<Config> next = ParseConfig(text, &errors, additions);
  if (!next) return absl::StrJoin(errors, "; ");
  const std::scoped_lock lock(mutex_);
  const std::string fixed = FixedDifference(config_.setup, next->setup);
  if (!fixed.empty()) return "cannot change while workers run: " + fixed;
  if (const std::string fault = MtuFault(next->setup, port_packet_bytes_); !fault.empty()) {
    return fault + "; or restart, so that the port is opened for longer packets";
  }
  config_ = *std::move(next);
  const auto is_gone = [this](const BackendId& id) { return Find(id) == nullptr; };
  std::erase_if(drained_, is_gone);
  std::erase_if(unhealthy_, is_gone);
  Publish();
  ++configurations_;
  sources_ = {text, additions};
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
    return "the configuration sets this backend to " + std::string(StateName(backend->state)) +
           ": change the configuration";
  }
  return "";
}

void Control::SetHealthy(const std::vector<std::pair<BackendId, bool>>& found) {
  const std::scoped_lock lock(mutex_);
  bool changed = false;
  for (const auto& [id, healthy] : found) {
    if (Find(id) == nullptr) continue;
    changed |= healthy ? unhealthy_.erase(id) != 0 : unhealthy_.insert(id).second;
  }
  if (changed) Publish();
}

}  // namespace sluice::maglev
