// SPDX-License-Identifier: BSD-3-Clause
#include "plan.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace sluice::maglev {

namespace {

using engine::maglev::Backend;
using engine::maglev::Tables;
using engine::maglev::Vip;
using Json = nlohmann::ordered_json;

struct Flows {
  uint64_t all = 0;
  uint64_t lost = 0;
};

std::map<std::string, const Vip*> VipsByName(const Tables& tables) {
  std::map<std::string, const Vip*> vips;
  for (const Vip& vip : tables.vips()) {
    if (vip.in_use) vips[tables.VipName(vip.index)] = &vip;
  }
  return vips;
}

// Slots are compared by their owners' names: an index that was given up may have a new owner.
std::vector<std::string_view> Owners(const Tables& tables, const Vip& vip) {
  std::vector<std::string_view> owners;
  owners.reserve(vip.ring.size());
  for (const uint16_t owner : vip.ring) owners.push_back(tables.BackendName(owner));
  return owners;
}

Json CompareRings(const Vip& now_vip, const Tables& now_tables, const Vip* next,
                  const Tables& next_tables) {
  const std::vector<std::string_view> now = Owners(now_tables, now_vip);
  const std::vector<std::string_view> after =
      next == nullptr ? std::vector<std::string_view>() : Owners(next_tables, *next);
  const std::set<std::string_view> stays(after.begin(), after.end());
  const bool comparable =
      next != nullptr && after.size() == now.size() && next->rule.profile == now_vip.rule.profile;
  uint64_t gone = 0;
  uint64_t others = 0;
  for (size_t slot = 0; slot < now.size(); ++slot) {
    if (!stays.contains(now[slot])) {
      ++gone;
    } else if (!comparable || after[slot] != now[slot]) {
      ++others;
    }
  }
  const bool changed = gone + others > 0 || now.empty() != after.empty();
  return {{"change", next == nullptr ? "removed"
                     : changed       ? "changed"
                                     : "same"},
          {"slots", now.size()},
          {"gone", gone},
          {"others", others}};
}

const engine::maglev::VipSetup* Find(const engine::maglev::Setup& setup, const std::string& name) {
  const auto it = std::ranges::find(setup.vips, name, &engine::maglev::VipSetup::name);
  return it == setup.vips.end() ? nullptr : &*it;
}

// Whether a VIP of both configurations is somewhere else, or sends other than by its ring.
bool Differs(const engine::maglev::VipSetup* one, const engine::maglev::VipSetup* other) {
  return one != nullptr && other != nullptr &&
         (one->prefix() != other->prefix() || one->port != other->port ||
          one->protocol != other->protocol || one->encapsulation != other->encapsulation ||
          one->sources != other->sources);
}

std::string Percent(uint64_t part, uint64_t whole) {
  return absl::StrFormat(
      "%.2f%%", whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Json Plan(const Tables& now, const engine::maglev::Setup& setup,
          const std::optional<std::span<const uint32_t>>& connections) {
  const std::unique_ptr<const Tables> next = Tables::Build(setup, &now);
  const auto vips_after = VipsByName(*next);
  std::vector<Flows> flows(now.vips().size());
  for (size_t i = 0; connections && i < std::min(now.backends().size(), connections->size()); ++i) {
    const Backend& backend = now.backends()[i];
    if (backend.generation == 0) continue;
    const uint32_t live = (*connections)[i];
    flows[backend.vip].all += live;
    if (!next->Serves({static_cast<uint16_t>(i), backend.generation}, backend.vip)) {
      flows[backend.vip].lost += live;
    }
  }
  Json plan = Json::object();
  for (const auto& [name, vip] : VipsByName(now)) {
    const auto after = vips_after.find(name);
    Json& json = plan[name] =
        CompareRings(*vip, now, after == vips_after.end() ? nullptr : after->second, *next);
    if (Differs(Find(now.setup(), name), Find(setup, name))) json["change"] = "changed";
    if (!connections) continue;
    json["flows"] = flows[vip->index].all;
    json["flows_lost"] = flows[vip->index].lost;
  }
  for (const auto& [name, vip] : vips_after) {
    if (plan.contains(name)) continue;
    plan[name] = {{"change", "new"}, {"slots", 0}, {"gone", 0}, {"others", 0}};
  }
  return plan;
}

std::string PlanText(const Json& plan) {
  std::string text;
  for (const auto& [key, vip] : plan.items()) {
    const std::string name = vip.value("name", key);  // Of an instance: see runtime/telemetry.h.
    const uint64_t slots = vip.value("slots", uint64_t{0});
    const uint64_t gone = vip.value("gone", uint64_t{0});
    const uint64_t others = vip.value("others", uint64_t{0});
    absl::StrAppendFormat(&text,
                          "%s: %s; of %d slots %s move: %s of backends that take no new flows, %s "
                          "of others; ",
                          name, vip.value("change", ""), slots, Percent(gone + others, slots),
                          Percent(gone, slots), Percent(others, slots));
    if (vip.contains("flows")) {
      absl::StrAppendFormat(&text, "of %d live flows %d move\n", vip.value("flows", uint64_t{0}),
                            vip.value("flows_lost", uint64_t{0}));
    } else {
      text += "live flows unknown: name a running instance with --instance\n";
    }
  }
  return text;
}

}  // namespace sluice::maglev
