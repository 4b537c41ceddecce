// SPDX-License-Identifier: BSD-3-Clause
#include "plan.h"

#include <absl/strings/str_format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace sluice::maglev {

namespace {

using engine::maglev::Backend;
using engine::maglev::BackendSetup;
using engine::maglev::BackendState;
using engine::maglev::Profile;
using engine::maglev::RingCache;
using engine::maglev::Setup;
using engine::maglev::Tables;
using engine::maglev::Vip;
using engine::maglev::VipSetup;
using engine::maglev::WeightRule;
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

// For each backend index of `now` or `next`, returns whether the index belongs to the same backend
// in both. A freed index may have a new owner.
std::vector<uint8_t> RetainedOwners(const Tables& now, const Tables& next) {
  const auto [fewer, more] = std::minmax({now.backends().size(), next.backends().size()});
  std::vector<uint8_t> kept(more);
  for (size_t i = 0; i < fewer; ++i) {
    const auto index = static_cast<uint16_t>(i);
    kept[i] = now.BackendName(index) == next.BackendName(index) &&
              now.VipName(now.backends()[i].vip) == next.VipName(next.backends()[i].vip);
  }
  return kept;
}

Json RingJson(const char* change, size_t slots, uint64_t gone, uint64_t others) {
  return {{"change", change}, {"slots", slots}, {"gone", gone}, {"others", others}};
}

// `next`: null if the VIP is removed. `kept`: the result of RetainedOwners.
Json CompareRings(const Vip& now, const Vip* next, const std::vector<uint8_t>& kept) {
  if (next == nullptr) return RingJson("removed", now.ring.size(), now.ring.size(), 0);
  // The loops contain no branch that depends on a slot, because such branches are unpredictable.
  std::vector<uint8_t> stays(kept.size());
  for (const uint16_t owner : next->ring) stays[owner] = kept[owner];
  const bool comparable =
      next->ring.size() == now.ring.size() && next->rule.profile == now.rule.profile;
  uint64_t stay = 0;
  uint64_t same = 0;
  for (const uint16_t owner : now.ring) stay += stays[owner];
  for (size_t slot = 0; comparable && slot < now.ring.size(); ++slot) {
    same += stays[now.ring[slot]] & (next->ring[slot] == now.ring[slot]);
  }
  const uint64_t gone = now.ring.size() - stay;
  const uint64_t others = stay - same;
  const bool changed = gone + others > 0 || now.ring.empty() != next->ring.empty();
  return RingJson(changed ? "changed" : "same", now.ring.size(), gone, others);
}

const engine::maglev::VipSetup* Find(const engine::maglev::Setup& setup, const std::string& name) {
  const auto it = std::ranges::find(setup.vips, name, &engine::maglev::VipSetup::name);
  return it == setup.vips.end() ? nullptr : &*it;
}

// Returns whether a VIP has different destinations in the two configurations, or forwards
// differently for reasons other than its ring.
bool Differs(const engine::maglev::VipSetup* one, const engine::maglev::VipSetup* other) {
  return one != nullptr && other != nullptr &&
         (one->prefix() != other->prefix() || one->port != other->port ||
          one->protocol != other->protocol || one->encapsulation != other->encapsulation ||
          one->sources != other->sources);
}

// Returns all ring parameters except the backends.
std::tuple<Profile, uint32_t, WeightRule> RingRule(const Setup& setup) {
  return {setup.profile, setup.slots != 0 ? setup.slots : DefaultSlots(setup.profile),
          setup.weight_rule.value_or(DefaultWeightRule(setup.profile))};
}

bool HasSlots(const BackendSetup& backend) {
  return backend.state == BackendState::kUp && backend.weight != 0;
}

// Returns true only if a VIP is certain to be the same in both configurations, so that its ring
// need not be built.
bool IsSame(const VipSetup& one, const VipSetup& other) {
  return !Differs(&one, &other) &&
         std::ranges::equal(one.backends, other.backends,
                            [](const BackendSetup& a, const BackendSetup& b) {
                              return a.name == b.name && a.address == b.address &&
                                     a.weight == b.weight && a.state == b.state;
                            });
}

std::string Percent(uint64_t part, uint64_t whole) {
  return absl::StrFormat(
      "%.2f%%", whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// Implements Plan, with a ring cache.
Json Compare(const Tables& now, const Setup& setup,
             const std::optional<std::span<const uint32_t>>& connections, RingCache* rings) {
  const std::unique_ptr<const Tables> next = Tables::Build(setup, &now, rings);
  const auto vips_after = VipsByName(*next);
  const std::vector<uint8_t> kept = RetainedOwners(now, *next);
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
        CompareRings(*vip, after == vips_after.end() ? nullptr : after->second, kept);
    if (Differs(Find(now.setup(), name), Find(setup, name))) json["change"] = "changed";
    if (!connections) continue;
    json["flows"] = flows[vip->index].all;
    json["flows_lost"] = flows[vip->index].lost;
  }
  for (const auto& [name, vip] : vips_after) {
    if (plan.contains(name)) continue;
    plan[name] = RingJson("new", 0, 0, 0);
  }
  return plan;
}

constexpr timeval kPatience{30, 0};
constexpr size_t kMaxAnswer = size_t{1} << 17;  // DPDK's limit is 16 KiB.

/// Returns the folder in which EAL creates its runtime folder. The candidates are in the order of
/// eal_create_runtime_dir: systemd's RuntimeDirectory= comes first.
std::string RuntimeFolder() {
  if (const char* const given = std::getenv("RUNTIME_DIRECTORY")) return given;
  if (geteuid() == 0) return "/var/run";
  const char* const folder = std::getenv("XDG_RUNTIME_DIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

struct Socket {
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ~Socket() {
    if (fd >= 0) close(fd);
  }
};

bool Receive(int fd, std::string* text) {
  std::vector<char> buffer(kMaxAnswer);
  const ssize_t bytes = recv(fd, buffer.data(), buffer.size(), 0);
  if (bytes <= 0) return false;
  text->assign(buffer.data(), static_cast<size_t>(bytes));
  return true;
}

}  // namespace

Json Plan(const Tables& now, const Setup& next,
          const std::optional<std::span<const uint32_t>>& connections) {
  RingCache rings;
  return Compare(now, next, connections, &rings);
}

Json Plan(const Setup& now, const Setup& next) {
  const auto by_name = [](const Setup& setup) {
    std::map<std::string_view, const VipSetup*> vips;
    for (const VipSetup& vip : setup.vips) vips[vip.name] = &vip;
    return vips;
  };
  const auto before = by_name(now);
  const auto after = by_name(next);
  const auto rule = RingRule(now);
  // The ring of a VIP does not depend on other VIPs. VIPs are compared one at a time, because
  // loading the rings of thousands of VIPs from memory takes longer than the comparison.
  RingCache rings;
  Setup one = now, other = next;
  Json plan = Json::object();
  for (const auto& [name, vip] : before) {
    one.vips = {*vip};
    other.vips.clear();
    if (const auto found = after.find(name); found != after.end()) {
      other.vips.push_back(*found->second);
      if (rule == RingRule(next) && IsSame(*vip, other.vips[0])) {
        const bool empty = std::ranges::none_of(vip->backends, HasSlots);
        plan.emplace(name, RingJson("same", empty ? 0 : std::get<uint32_t>(rule), 0, 0));
        continue;
      }
    }
    plan.update(Compare(*Tables::Build(one, nullptr, &rings), other, std::nullopt, &rings));
  }
  for (const auto& [name, vip] : after) {
    if (!before.contains(name)) plan.emplace(name, RingJson("new", 0, 0, 0));
  }
  return plan;
}

std::string PlanText(const Json& plan) {
  std::string text;
  for (const auto& [key, vip] : plan.items()) {
    // An instance's answer contains the name in a separate member: see runtime/supervisor.cc.
    const std::string name = vip.value("name", key);
    const uint64_t slots = vip.value("slots", uint64_t{0});
    const uint64_t gone = vip.value("gone", uint64_t{0});
    const uint64_t others = vip.value("others", uint64_t{0});
    absl::StrAppendFormat(&text,
                          "%s: %s; of %d slots, %s move: %s away from backends that get no new "
                          "flows, %s away from other backends; ",
                          name, vip.value("change", ""), slots, Percent(gone + others, slots),
                          Percent(gone, slots), Percent(others, slots));
    if (vip.contains("flows")) {
      absl::StrAppendFormat(&text, "of %d live flows, %d move\n", vip.value("flows", uint64_t{0}),
                            vip.value("flows_lost", uint64_t{0}));
    } else {
      text += "live flows unknown: give a running instance with --instance\n";
    }
  }
  return text;
}

std::optional<Json> AskInstance(const std::string& prefix, const std::string& command,
                                const std::string& parameters, std::string* error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = RuntimeFolder() + "/dpdk/" + prefix + "/dpdk_telemetry.v2";
  if (prefix.empty() || prefix.find('/') != std::string::npos ||
      path.size() >= sizeof(address.sun_path)) {
    *error = "give the --file-prefix of a running instance";
    return std::nullopt;
  }
  path.copy(address.sun_path, path.size());
  const Socket socket;
  setsockopt(socket.fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  std::string text;
  if (connect(socket.fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      !Receive(socket.fd, &text)) {
    *error = path + ": " + std::strerror(errno) + ": give the --file-prefix of a running instance";
    return std::nullopt;
  }
  const std::string question = command + "," + parameters;
  if (send(socket.fd, question.data(), question.size(), MSG_NOSIGNAL) < 0 ||
      !Receive(socket.fd, &text)) {
    *error = path + ": " + std::strerror(errno);
    return std::nullopt;
  }
  const Json answer = Json::parse(text, nullptr, false);
  if (!answer.is_object() || !answer.contains(command) || !answer[command].is_object()) {
    *error = path + ": does not answer " + command +
             ": give the --file-prefix of a running sluice-maglev";
    return std::nullopt;
  }
  return answer[command];
}

}  // namespace sluice::maglev
