// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/config/config.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "config/json_reader.h"
#include "packet/mac_text.h"

namespace sluice::engine::maglev {

namespace {

using config::Errors;
using config::ObjectReader;
using nlohmann::json;

constexpr uint64_t kMax16 = 0xffff;
constexpr uint64_t kMax32 = 0xffffffff;
constexpr size_t kMaxBalancers = 4096;
constexpr size_t kMaxQuicIds = 65535;  // Per backend.

// The words that a member accepts and the value of each.
template <typename Value>
struct Word {
  std::string_view name;
  Value id;
};
template <typename Value, size_t kWords>
using Words = std::array<Word<Value>, kWords>;

// Lists the names of rows for an error message: "up, draining or down".
template <typename Rows>
std::string OneOf(const Rows& rows) {
  std::string text(rows[0].name);
  for (size_t i = 1; i < rows.size(); ++i)
    text.append(i + 1 < rows.size() ? ", " : " or ").append(rows[i].name);
  return text;
}

// Reads a member that must be the name of a row. `value` points to a variable for the row's id,
// which may be optional.
template <typename Rows>
void ReadWord(ObjectReader& reader, std::string_view key, const Rows& rows, auto* value) {
  const auto meaning = [&rows](std::string_view text) -> std::optional<decltype(rows[0].id)> {
    for (const auto& row : rows) {
      if (row.name == text) return row.id;
    }
    return std::nullopt;
  };
  reader.Parsed(key, OneOf(rows), meaning, value);
}

constexpr Words<WeightRule, 3> kWeightRules{{{"proportional", WeightRule::kProportional},
                                             {"first_round", WeightRule::kFirstRound},
                                             {"cilium", WeightRule::kCilium}}};
constexpr Words<BackendState, 3> kStates{{{"up", BackendState::kUp},
                                          {"draining", BackendState::kDraining},
                                          {"down", BackendState::kDown}}};
constexpr Words<uint8_t, 2> kProtocols{{{"tcp", 6}, {"udp", 17}}};
constexpr Words<HealthCheck::Kind, 3> kHealthKinds{{{"tcp", HealthCheck::Kind::kTcp},
                                                    {"http", HealthCheck::Kind::kHttp},
                                                    {"icmp", HealthCheck::Kind::kIcmp}}};

void ReadMac(ObjectReader& reader, std::string_view key, std::optional<packet::MacAddress>* mac) {
  reader.Parsed(key, "a MAC address such as 02:00:00:00:00:01", packet::ParseMac, mac);
}

template <typename Address>
bool ReadAddress(ObjectReader& reader, std::string_view key, Address* address) {
  return reader.Parsed(key, "an IPv4 or IPv6 address", IpAddress::Parse, address);
}

bool ReadPrefix(ObjectReader& reader, std::string_view key, IpPrefix* prefix) {
  constexpr std::string_view kFix = "an IPv4 or IPv6 address, or a prefix such as 192.0.2.0/24";
  return reader.Parsed(key, kFix, IpPrefix::Parse, prefix);
}

BackendSetup ReadBackend(const json& value, const std::string& path, Errors* errors) {
  ObjectReader reader(value, path, errors);
  BackendSetup backend;
  reader.Require("address");
  if (ReadAddress(reader, "address", &backend.address)) backend.name = backend.address.ToString();
  reader.Text("name", &backend.name);
  reader.Whole("port", 0, kMax16, &backend.port);
  reader.Whole("weight", 0, kMax16, &backend.weight);
  ReadWord(reader, "state", kStates, &backend.state);
  ReadMac(reader, "mac", &backend.mac);
  uint32_t quic_id = 0;
  reader.Whole("quic_id", 0, kMax32, &quic_id);
  if (quic_id != 0) backend.quic_ids.push_back(quic_id);
  reader.Array("quic_ids", kMaxQuicIds, [&](const json& item, const std::string& at) {
    const uint64_t id = item.is_number_unsigned() ? item.get<uint64_t>() : 0;
    if (id >= 1 && id <= kMax32) {
      backend.quic_ids.push_back(static_cast<uint32_t>(id));
    } else {
      config::AddError(errors, at + ": give a whole number, 1 ... 4294967295");
    }
  });
  reader.Finish();
  return backend;
}

SourceSetup ReadSource(const json& value, const std::string& path, Errors* errors) {
  ObjectReader reader(value, path, errors);
  SourceSetup source;
  reader.Require("prefix");
  ReadPrefix(reader, "prefix", &source.prefix);
  reader.Require("backend");
  reader.Text("backend", &source.backend);
  reader.Finish();
  return source;
}

HealthCheck ReadHealth(const json& value, const std::string& path, Errors* errors) {
  ObjectReader reader(value, path, errors);
  HealthCheck check;
  reader.Require("type");
  ReadWord(reader, "type", kHealthKinds, &check.kind);
  reader.Real("interval_s", 0.05, 3600, &check.interval_s);
  reader.Real("timeout_s", 0.01, 60, &check.timeout_s);
  reader.Whole("rise", 1, 1000, &check.rise);
  reader.Whole("fall", 1, 1000, &check.fall);
  reader.Whole("port", 0, kMax16, &check.port);
  if (reader.Text("path", &check.path) &&
      (!check.path.starts_with('/') ||
       std::ranges::any_of(check.path, [](unsigned char c) { return c <= ' ' || c >= 0x7f; }))) {
    reader.Complain("path", "give a path such as /health, without spaces");
  }
  reader.Flag("fail_open", &check.fail_open);
  reader.Finish();
  return check;
}

// Formats a VIP's endpoint: "tcp 10.0.0.1:80", or "tcp 10.0.0.1:any" for port 0.
std::string EndpointText(const VipSetup& vip) {
  const std::string address = vip.prefix().ToString();
  return std::string(vip.protocol == 6 ? "tcp " : "udp ") +
         (vip.address.ipv6 ? "[" + address + "]" : address) + ":" +
         (vip.port == 0 ? "any" : std::to_string(vip.port));
}

void ReadVip(const json& value, const std::string& path, Errors* errors, Config* config) {
  ObjectReader reader(value, path, errors);
  VipSetup vip;
  reader.Require("address");
  if (IpPrefix prefix; ReadPrefix(reader, "address", &prefix)) {
    vip.address = prefix.address;
    vip.host_bits = prefix.host_bits;
  }
  reader.Whole("port", 0, kMax16, &vip.port);
  ReadWord(reader, "protocol", kProtocols, &vip.protocol);
  vip.name = EndpointText(vip);
  reader.Text("name", &vip.name);
  ReadWord(reader, "encapsulation", kEncapsulations, &vip.encapsulation);
  reader.Flag("quic", &vip.quic);
  reader.Flag("connections", &vip.connections);
  reader.Flag("destination_port_only", &vip.destination_port_only);
  reader.Flag("no_source_port", &vip.no_source_port);
  reader.Array("backends", kMaxBackends, [&](const json& item, const std::string& at) {
    vip.backends.push_back(ReadBackend(item, at, errors));
  });
  reader.Array("sources", kMaxSources, [&](const json& item, const std::string& at) {
    vip.sources.push_back(ReadSource(item, at, errors));
  });
  std::optional<HealthCheck> health;
  std::string at;
  if (const json* const member = reader.Member("health", &at)) {
    health = ReadHealth(*member, at, errors);
    // TCP and HTTP checks need a port: the check's or the VIP's.
    if (health->kind != HealthCheck::Kind::kIcmp && health->port == 0 && vip.port == 0) {
      config::AddError(errors, at + ".port: required, since the VIP has no port");
    }
  }
  reader.Finish();
  config->setup.vips.push_back(std::move(vip));
  config->health.push_back(std::move(health));
}

void ReadTimeouts(const json& value, const std::string& path, Errors* errors, Timeouts* timeouts) {
  ObjectReader reader(value, path, errors);
  reader.Whole("tcp_s", 1, kMax32, &timeouts->tcp_s);
  reader.Whole("tcp_opening_s", 1, kMax32, &timeouts->tcp_opening_s);
  reader.Whole("tcp_closing_s", 1, kMax32, &timeouts->tcp_closing_s);
  reader.Whole("udp_s", 1, kMax32, &timeouts->udp_s);
  reader.Whole("fragment_s", 1, kMax32, &timeouts->fragment_s);
  reader.Finish();
}

Config ReadRoot(const json& root, Errors* errors) {
  Config config;
  Setup& setup = config.setup;
  ObjectReader reader(root, "", errors);
  reader.Parsed("profile", "sluice, paper, katran or cilium", ProfileByName, &setup.profile);
  reader.Whole("slots", 0, kMax32, &setup.slots);
  ReadWord(reader, "weight_rule", kWeightRules, &setup.weight_rule);
  if (uint32_t mtu = 0; reader.Whole("mtu", 0, kMax32, &mtu)) setup.mtu = mtu;
  ReadMac(reader, "next_hop", &setup.next_hop);
  ReadAddress(reader, "source_ipv4", &setup.source_ipv4);
  ReadAddress(reader, "source_ipv6", &setup.source_ipv6);
  reader.Whole("gue_port", 0, kMax16, &setup.gue_port);
  reader.Flag("decrement_ttl", &setup.decrement_ttl);
  reader.Whole("connections", 0, kMax32, &setup.connections);
  reader.Whole("fragments", 0, kMax32, &setup.fragments);
  reader.Whole("flood_rate", 0, kMax32, &setup.flood_rate);
  std::string at;
  if (const json* const timeouts = reader.Member("timeouts", &at)) {
    ReadTimeouts(*timeouts, at, errors, &setup.timeouts);
  }
  reader.Array("balancers", kMaxBalancers, [&](const json& item, const std::string& path) {
    const auto address =
        item.is_string() ? IpAddress::Parse(item.get<std::string>()) : std::nullopt;
    if (address) {
      setup.balancers.push_back(*address);
    } else {
      config::AddError(errors, path + ": give an IPv4 or IPv6 address");
    }
  });
  ReadAddress(reader, "own_address", &setup.own_address);
  reader.Require("vips");
  reader.Array("vips", kMaxVips, [&](const json& item, const std::string& path) {
    ReadVip(item, path, errors, &config);
  });
  reader.Finish();
  return config;
}

// Adds etcd keys to a configuration and records which key each VIP and backend comes from.
class Adder {
 public:
  // `skipped` contains keys that were found to be wrong. Add ignores them and may insert more.
  Adder(Config* config, SkippedKeys* skipped) : config_(*config), skipped_(*skipped) {
    for (const VipSetup& vip : vips()) Count(vip);
    sources_.resize(vips().size());
    for (size_t i = 0; i < vips().size(); ++i) {
      sources_[i].backends.resize(vips()[i].backends.size());
      by_name_.try_emplace(vips()[i].name, i);
    }
  }

  // Adds VIPs before backends, because an added backend may belong to an added VIP.
  void Add(const Additions& additions) {
    constexpr std::string_view kVips = "vips/", kBackends = "backends/";
    for (const auto& [key, value] : additions) {
      if (skipped_.contains(key) || key.starts_with(kBackends)) continue;
      const std::string name = key.starts_with(kVips) ? key.substr(kVips.size()) : "";
      if (name.empty() || name.find('/') != std::string::npos) {
        Skip(key, key + ": name the key vips/NAME or backends/NAME/ANYTHING");
      } else {
        AddVip(key, name, value);
      }
    }
    for (const auto& [key, value] : additions) {
      if (skipped_.contains(key) || !key.starts_with(kBackends)) continue;
      const size_t slash = std::min(key.find('/', kBackends.size()), key.size());
      AddBackend(key, key.substr(kBackends.size(), slash - kBackends.size()), value);
    }
  }

  // Skips the keys that cause `faults`. Returns false if a fault does not come from any key.
  bool Blame(const std::vector<Fault>& faults) {
    for (const Fault& fault : faults) {
      const std::string* key = KeyAt(fault.at);
      if (key == nullptr) key = KeyAt(fault.other);
      if (key == nullptr) return false;
      Skip(*key, *key + ": " + fault.text);
    }
    return true;
  }

 private:
  // The key that a VIP comes from; null: the file. A backend with a null key is part of the value
  // of its VIP.
  struct Source {
    const std::string* vip = nullptr;
    std::vector<const std::string*> backends;
  };

  std::vector<VipSetup>& vips() { return config_.setup.vips; }
  void Skip(const std::string& key, const std::string& line) {
    skipped_.try_emplace(key, Printable(line));
  }
  void Count(const VipSetup& vip) {
    backends_count_ += vip.backends.size();
    sources_count_ += vip.sources.size();
  }
  bool IsWithinLimits(const std::string& key, const VipSetup& more) {
    const bool within = vips().size() < kMaxVips &&
                        backends_count_ + more.backends.size() <= kMaxBackends &&
                        sources_count_ + more.sources.size() <= kMaxSources;
    if (!within) Skip(key, key + ": too many VIPs, backends or sources");
    return within;
  }

  // Parses the JSON object of a key. If the value is not an object, skips the key and returns
  // nullopt.
  std::optional<json> Read(const std::string& key, const std::string& value) {
    Errors wrong;
    std::optional<json> object = config::ParseJson(value, &wrong);
    if (!object) Skip(key, key + ": " + wrong.front());
    return object;
  }

  void AddVip(const std::string& key, const std::string& name, const std::string& value) {
    const std::optional<json> object = Read(key, value);
    if (!object) return;
    Errors wrong;
    if (object->is_object() && object->contains("name") && (*object)["name"] != name) {
      config::AddError(&wrong, key + ".name: omit it, since the key contains the VIP's name");
    }
    Config one;
    ReadVip(*object, key, &wrong, &one);
    VipSetup& vip = one.setup.vips.front();
    if (!wrong.empty()) return Skip(key, wrong.front());
    if (!IsWithinLimits(key, vip)) return;
    vip.name = name;
    Count(vip);
    by_name_.try_emplace(name, vips().size());
    sources_.push_back({&key, std::vector<const std::string*>(vip.backends.size())});
    vips().push_back(std::move(vip));
    config_.health.push_back(std::move(one.health.front()));
  }

  void AddBackend(const std::string& key, const std::string& name, const std::string& value) {
    const auto vip = by_name_.find(name);
    if (vip == by_name_.end()) return Skip(key, key + ": unknown VIP");
    const std::optional<json> object = Read(key, value);
    if (!object) return;
    Errors wrong;
    BackendSetup backend = ReadBackend(*object, key, &wrong);
    if (!wrong.empty()) return Skip(key, wrong.front());
    if (backends_count_ == kMaxBackends) {
      return Skip(key, key + ": too many backends");
    }
    ++backends_count_;
    vips()[vip->second].backends.push_back(std::move(backend));
    sources_[vip->second].backends.push_back(&key);
  }

  const std::string* KeyAt(const Place& place) const {
    if (place.vip >= sources_.size()) return nullptr;
    const Source& source = sources_[place.vip];
    const bool own = place.backend < source.backends.size() && source.backends[place.backend];
    return own ? source.backends[place.backend] : source.vip;
  }

  Config& config_;
  SkippedKeys& skipped_;
  std::vector<Source> sources_;  // Indexed by VIP.
  std::map<std::string, size_t, std::less<>> by_name_;
  size_t backends_count_ = 0;
  size_t sources_count_ = 0;
};

void ReportFaults(const std::vector<Fault>& faults, Errors* errors) {
  for (const Fault& fault : faults) config::AddError(errors, fault.text);
}

}  // namespace

std::string Printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::optional<Config> ParseConfig(std::string_view text, Errors* errors,
                                  const Additions& additions) {
  const size_t before = errors->size();
  const std::optional<json> root = config::ParseJson(text, errors);
  if (!root) return std::nullopt;
  const Config file = ReadRoot(*root, errors);
  if (errors->size() == before)
    ReportFaults(FindFaults(file.setup, config::kMaxErrors + 1), errors);
  if (errors->size() != before) return std::nullopt;
  // Another key may depend on a skipped one. Such a key becomes a fault in the next iteration and
  // is then skipped, too.
  for (SkippedKeys skipped;;) {
    Config config = file;
    Adder adder(&config, &skipped);
    adder.Add(additions);
    const std::vector<Fault> faults = FindFaults(config.setup);
    if (faults.empty()) {
      config.skipped = std::move(skipped);
      return config;
    }
    if (!adder.Blame(faults)) {
      ReportFaults(faults, errors);
      return std::nullopt;
    }
  }
}

std::optional<Config> ReadConfig(const std::string& path, Errors* errors) {
  const std::optional<std::string> text = config::ReadFile(path, errors);
  return text ? ParseConfig(*text, errors) : std::nullopt;
}

}  // namespace sluice::engine::maglev
