// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the configuration file: the meaning and default of each member, and the error messages.
// Also checks that the schema accepts the same files.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/maglev/config/config.h"
#include "sample.h"
#include "timing/at_once.h"

namespace sluice::maglev {
namespace {

using engine::maglev::Additions;
using engine::maglev::BackendState;
using engine::maglev::Config;
using engine::maglev::Encapsulation;
using engine::maglev::HealthCheck;
using engine::maglev::IpAddress;
using engine::maglev::IpPrefix;
using engine::maglev::ParseConfig;
using engine::maglev::Profile;
using engine::maglev::ReadConfig;
using engine::maglev::WeightRule;
using nlohmann::json;

std::string FileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> ErrorsOf(std::string_view text) {
  std::vector<std::string> errors;
  const bool good = ParseConfig(text, &errors).has_value();
  EXPECT_EQ(good, errors.empty());
  return errors;
}

Config Parse(std::string_view text) {
  std::vector<std::string> errors;
  auto config = ParseConfig(text, &errors);
  EXPECT_TRUE(config) << (errors.empty() ? "" : errors.front());
  return config.value_or(Config());
}

// Returns a valid configuration that tests modify.
json Good() {
  return json::parse(R"({
    "next_hop": "02:00:00:00:00:01",
    "vips": [
      {"name": "a", "address": "10.0.0.1", "port": 80,
       "backends": [{"name": "x", "address": "10.1.0.1"}, {"name": "y", "address": "10.1.0.2"}],
       "sources": [{"prefix": "10.2.0.0/16", "backend": "x"}]},
      {"name": "b", "address": "10.0.0.2", "port": 53, "protocol": "udp", "backends": []}
    ]})");
}

TEST(Config, AdditionsComeBehindTheFiles) {
  std::vector<std::string> errors;
  const auto config =
      ParseConfig(Good().dump(), &errors,
                  {{"vips/c", R"({"address": "10.0.0.3", "health": {"type": "icmp"}})"},
                   {"backends/c/any/thing", R"({"address": "10.1.0.7"})"},
                   {"backends/a/1", R"({"address": "10.1.0.3", "weight": 5})"}});
  ASSERT_TRUE(config) << errors.front();
  const auto& vips = config->setup.vips;
  ASSERT_EQ(vips.size(), 3u);
  EXPECT_EQ(vips[2].name, "c");
  ASSERT_EQ(vips[2].backends.size(), 1u);
  EXPECT_EQ(vips[2].backends[0].name, "10.1.0.7");
  ASSERT_EQ(vips[0].backends.size(), 3u);
  EXPECT_EQ(vips[0].backends[2].weight, 5u);
  ASSERT_EQ(config->health.size(), 3u);
  EXPECT_FALSE(config->health[0]);
  EXPECT_TRUE(config->health[2]);
}

TEST(Config, AdditionsThatAreWrongAreNamedByTheirKeys) {
  const std::string backend = R"({"address": "10.1.0.7"})", vip = R"({"address": "10.0.0.3"})";
  const struct {
    std::string key, value, said;
  } kCases[] = {
      {"vips/", vip, "vips/: name the key vips/NAME or backends/NAME/ANYTHING"},
      {"vips/a/b", vip, "vips/a/b: name the key vips/NAME or backends/NAME/ANYTHING"},
      {"", vip, ": name the key vips/NAME or backends/NAME/ANYTHING"},
      {"backend/a/1", backend, "backend/a/1: name the key vips/NAME or backends/NAME/ANYTHING"},
      {"backends/", backend, "backends/: unknown VIP"},
      {"backends/c/1", backend, "backends/c/1: unknown VIP"},
      {"backends/a/1", "[]", "backends/a/1: []: give an object, { ... }"},
      {"backends/a/1", "{}", "backends/a/1.address: "},
      {"backends/a/1", "", "backends/a/1: not JSON: "},
      {"backends/a/1", R"({"address": "10.1.0.7", "address": "10.1.0.8"})",
       "backends/a/1: \"address\": duplicate member"},
      {"vips/c", R"({"address": "10.0.0.3", "name": "d"})", "vips/c.name: omit it"},
      {"vips/c", R"({"address": "10.0.0.3", "backends": [{"m": 1}]})", "vips/c.backends[0]"},
      {"vips/a", vip, "vips/a: vip \"a\": another VIP has this name"},
      {"backends/a/1", R"({"name": "x", "address": "10.1.0.9"})",
       "backends/a/1: vip \"a\": backend \"x\": another backend"},
  };
  for (const auto& [key, value, said] : kCases) {
    std::vector<std::string> errors;
    const auto config = ParseConfig(
        Good().dump(), &errors, {{key, value}, {"backends/b/good", R"({"address": "10.1.0.9"})"}});
    ASSERT_TRUE(config) << key << ": " << errors.front();
    ASSERT_EQ(config->skipped.size(), 1u) << key;
    EXPECT_EQ(config->skipped.begin()->first, key);
    const std::string& line = config->skipped.begin()->second;
    EXPECT_TRUE(line.starts_with(said)) << line;
    EXPECT_TRUE(line.starts_with(key)) << line;
    ASSERT_EQ(config->setup.vips.size(), 2u);
    EXPECT_EQ(config->setup.vips[0].backends.size(), 2u);
    EXPECT_EQ(config->setup.vips[1].backends.size(), 1u) << "the other key applies";
  }
}

/// Returns the keys that are skipped when `additions` are added to `file`.
std::set<std::string> SkippedOf(const json& file, const Additions& additions) {
  std::vector<std::string> errors;
  const auto config = ParseConfig(file.dump(), &errors, additions);
  EXPECT_TRUE(config) << (errors.empty() ? "" : errors.front());
  std::set<std::string> keys;
  for (const auto& [key, line] : config.value_or(Config()).skipped) keys.insert(key);
  return keys;
}

TEST(Config, AnAdditionThatContradictsTheFileOrAnEarlierOneIsSkipped) {
  using Keys = std::set<std::string>;
  // The VIP has the address of a backend in the file, although that backend is checked later.
  EXPECT_EQ(SkippedOf(Good(), {{"vips/c", R"({"address": "10.1.0.2"})"}}), Keys{"vips/c"});
  // Backends of a skipped VIP are skipped too.
  EXPECT_EQ(SkippedOf(Good(), {{"vips/c", R"({"address": "10.0.0.1", "port": 80})"},
                               {"backends/c/1", R"({"address": "10.1.0.7"})"},
                               {"backends/a/1", R"({"address": "10.1.0.7"})"}}),
            (Keys{"vips/c", "backends/c/1"}));
  // If two keys contradict each other, the first one applies.
  EXPECT_EQ(SkippedOf(Good(), {{"backends/a/1", R"({"name": "n", "address": "10.1.0.7"})"},
                               {"backends/a/2", R"({"name": "n", "address": "10.1.0.8"})"}}),
            Keys{"backends/a/2"});
  // If both VIPs used this NAT backend, its answers would be ambiguous. The later VIP in the file
  // stays unchanged.
  json file = Good();
  file["vips"][0]["encapsulation"] = "nat";
  file["vips"][1].update({{"encapsulation", "nat"}, {"port", 80}, {"protocol", "tcp"}});
  file["vips"][1]["backends"] = {{{"address", "10.1.0.7"}}};
  EXPECT_EQ(SkippedOf(file, {{"backends/a/1", R"({"address": "10.1.0.7"})"}}),
            Keys{"backends/a/1"});
}

TEST(Config, AdditionsBeyondTheLimitsAreSkippedInLittleTime) {
  const std::clock_t start = std::clock();
  Additions additions;
  for (int i = 0; i < 5000; ++i) {
    additions["vips/v" + std::to_string(10'000 + i)] =
        R"({"address": "10.0.1.1", "port": )" + std::to_string(i + 1) + "}";
    additions["backends/nobody/" + std::to_string(i)] = R"({"address": "10.1.0.7"})";
  }
  EXPECT_EQ(SkippedOf(Good(), additions).size(), 5000u + 5002 - 4096);
  additions["backends/a/\xff\n"] = "\xff";
  std::vector<std::string> errors;
  const auto config = ParseConfig(Good().dump(), &errors, additions);
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->skipped.at("backends/a/\xff\n").starts_with("backends/a/??: not JSON"));
  EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC);
}

/// Returns "item,item,…" with `count` items.
std::string Many(size_t count, const std::string& item) {
  std::string text = item;
  for (size_t i = 1; i < count; ++i) text += "," + item;
  return text;
}

TEST(Config, LimitsComeBeforeTheWorkAndErrorsAreToldInPart) {
  const std::clock_t start = std::clock();
  const auto vips = [](const std::string& items) { return R"({"vips": [)" + items + "]}"; };
  const std::string backend = R"({"address": "127.0.0.1", "m": 1})";
  EXPECT_EQ(ErrorsOf(vips(Many(200'000, "1"))),
            std::vector<std::string>{"vips: 200000 elements: give at most 4096"});
  const auto pool = [&](size_t count) {
    return vips(R"({"address": "10.0.0.1", "backends": [)" + Many(count, backend) + "]}");
  };
  EXPECT_EQ(ErrorsOf(pool(65'536)),
            std::vector<std::string>{"vips[0].backends: 65536 elements: give at most 65535"});
  for (const std::string& text : {vips(Many(4096, "{}")), pool(65'535),
                                  R"({"vips": [], "balancers": [)" + Many(4096, "1") + "]}"}) {
    const std::vector<std::string> errors = ErrorsOf(text);
    ASSERT_EQ(errors.size(), 101u);
    EXPECT_EQ(errors.back(), "and more");
  }
  // The errors concern the entire file: the next hop is missing, and every backend has a loopback
  // address and the same name.
  const std::vector<std::string> errors =
      ErrorsOf(vips(R"({"address": "10.0.0.1", "backends": [)" +
                    Many(50'000, R"({"address": "127.0.0.1"})") + "]}"));
  EXPECT_EQ(errors.size(), 101u);
  // The time limit is that of six parsed configurations.
  EXPECT_LT(std::clock() - start, 6 * kAtOnce);
}

TEST(Config, EveryMemberIsRead) {
  const Config config = Parse(R"({
    "profile": "katran", "slots": 1021, "weight_rule": "proportional", "mtu": 9000,
    "next_hop": "02:00:00:00:00:0a", "source_ipv4": "192.0.2.1", "source_ipv6": "2001:db8::1",
    "gue_port": 9886, "decrement_ttl": false, "connections": 100, "fragments": 50,
    "flood_rate": 125000,
    "timeouts": {"tcp_s": 1, "tcp_opening_s": 2, "tcp_closing_s": 3, "udp_s": 4, "fragment_s": 5},
    "balancers": ["10.9.0.1", "10.9.0.2"], "own_address": "10.9.0.2",
    "vips": [{
      "name": "v", "address": "10.0.0.1", "port": 443, "protocol": "udp", "encapsulation": "gue",
      "quic": true, "connections": false, "destination_port_only": true, "no_source_port": true,
      "backends": [{"name": "w", "address": "10.1.0.1", "weight": 7, "state": "draining",
                    "mac": "02:00:00:00:00:0b", "quic_id": 77, "quic_ids": [78, 4294967295]}],
      "sources": [{"prefix": "198.51.100.0/24", "backend": "w"},
                  {"prefix": "203.0.113.9", "backend": "w"}],
      "health": {"type": "http", "interval_s": 0.5, "timeout_s": 0.25, "rise": 4, "fall": 5,
                 "port": 8080, "path": "/up", "fail_open": true}}]})");
  const engine::maglev::Setup& setup = config.setup;
  EXPECT_EQ(setup.profile, Profile::kKatran);
  EXPECT_EQ(setup.slots, 1021u);
  EXPECT_EQ(setup.weight_rule, WeightRule::kProportional);
  EXPECT_EQ(setup.mtu, 9000u);
  EXPECT_EQ(setup.next_hop, (packet::MacAddress{2, 0, 0, 0, 0, 10}));
  EXPECT_EQ(setup.source_ipv4, IpAddress::Parse("192.0.2.1"));
  EXPECT_EQ(setup.source_ipv6, IpAddress::Parse("2001:db8::1"));
  EXPECT_EQ(setup.gue_port, 9886);
  EXPECT_FALSE(setup.decrement_ttl);
  EXPECT_EQ(setup.connections, 100u);
  EXPECT_EQ(setup.fragments, 50u);
  EXPECT_EQ(setup.flood_rate, 125000u);
  EXPECT_EQ(setup.timeouts.tcp_s, 1u);
  EXPECT_EQ(setup.timeouts.tcp_opening_s, 2u);
  EXPECT_EQ(setup.timeouts.tcp_closing_s, 3u);
  EXPECT_EQ(setup.timeouts.udp_s, 4u);
  EXPECT_EQ(setup.timeouts.fragment_s, 5u);
  ASSERT_EQ(setup.balancers.size(), 2u);
  EXPECT_EQ(setup.own_address, setup.balancers[1]);
  ASSERT_EQ(setup.vips.size(), 1u);
  const engine::maglev::VipSetup& vip = setup.vips[0];
  EXPECT_EQ(vip.name, "v");
  EXPECT_EQ(vip.address, IpAddress::Parse("10.0.0.1"));
  EXPECT_EQ(vip.port, 443);
  EXPECT_EQ(vip.protocol, 17);
  EXPECT_EQ(vip.encapsulation, Encapsulation::kGue);
  EXPECT_TRUE(vip.quic);
  EXPECT_FALSE(vip.connections);
  EXPECT_TRUE(vip.destination_port_only);
  EXPECT_TRUE(vip.no_source_port);
  ASSERT_EQ(vip.backends.size(), 1u);
  EXPECT_EQ(vip.backends[0].name, "w");
  EXPECT_EQ(vip.backends[0].weight, 7u);
  EXPECT_EQ(vip.backends[0].state, BackendState::kDraining);
  EXPECT_EQ(vip.backends[0].mac, (packet::MacAddress{2, 0, 0, 0, 0, 11}));
  EXPECT_EQ(vip.backends[0].quic_ids, (std::vector<uint32_t>{77, 78, 4294967295}));
  EXPECT_EQ(vip.host_bits, 0);
  using Sources = std::vector<engine::maglev::SourceSetup>;
  EXPECT_EQ(vip.sources, (Sources{{*IpPrefix::Parse("198.51.100.0/24"), "w"},
                                  {*IpPrefix::Parse("203.0.113.9"), "w"}}));
  ASSERT_TRUE(config.health[0]);
  EXPECT_EQ(*config.health[0],
            (HealthCheck{HealthCheck::Kind::kHttp, 0.5, 0.25, 4, 5, 8080, "/up", true}));
}

TEST(Config, EveryEncapsulationHasAWord) {
  for (const std::string word : {"ip", "gue", "gre", "nat", "mac"}) {
    const Config config = Parse(R"({"next_hop": "02:00:00:00:00:0a", "vips": [
                                {"address": "192.0.2.1", "encapsulation": ")" +
                                word +
                                R"(", "backends": [{"address": "10.0.0.1",
                                                    "mac": "02:00:00:00:00:0b"}]}]})");
    EXPECT_EQ(EncapsulationName(config.setup.vips[0].encapsulation), word);
  }
}

TEST(Config, AVipMayBeAPrefix) {
  const Config config = Parse(R"({"vips": [{"address": "192.0.2.0/24", "port": 80},
                                           {"address": "2001:db8::/32"}]})");
  EXPECT_EQ(config.setup.vips[0].prefix(), IpPrefix::Parse("192.0.2.0/24"));
  EXPECT_EQ(config.setup.vips[0].name, "tcp 192.0.2.0/24:80");
  EXPECT_EQ(config.setup.vips[1].prefix(), IpPrefix::Parse("2001:db8::/32"));
  EXPECT_EQ(config.setup.vips[1].name, "tcp [2001:db8::/32]:any");
}

TEST(Config, WhatIsNotSaidHasADefault) {
  const Config config = Parse(R"({"next_hop": "02:00:00:00:00:01",
    "vips": [{"address": "fc00::1", "backends": [{"address": "fc00::2"}]}]})");
  EXPECT_EQ(config.setup.profile, Profile::kSluice);
  EXPECT_FALSE(config.setup.mtu);
  EXPECT_FALSE(config.setup.weight_rule);
  EXPECT_EQ(config.setup.vips[0].name, "tcp [fc00::1]:any");
  EXPECT_EQ(config.setup.vips[0].backends[0].name, "fc00::2");
  EXPECT_EQ(config.setup.vips[0].backends[0].weight, 1u);
  EXPECT_FALSE(config.health[0]);
}

TEST(Config, CommentsMayStandAnywhere) {
  EXPECT_TRUE(ErrorsOf("// A line\n{/* here */ \"vips\": [] // and there\n}").empty());
}

// A change of a valid configuration, and the beginning of the error that it causes.
struct Wrong {
  const char* pointer;
  json value;
  const char* error;
};

TEST(Config, EveryErrorNamesItsPlace) {
  const Wrong cases[] = {
      {"/vip", json::array(), "vip: unknown"},
      {"/vips/0/adress", "10.0.0.1", "vips[0].adress: unknown"},
      {"/vips/0/backends/1/wieght", 1, "vips[0].backends[1].wieght: unknown"},
      {"/vips/0/backends/0/weight", -1, "vips[0].backends[0].weight: -1: give a whole number"},
      {"/vips/0/backends/0/weight", 65536, "vips[0].backends[0].weight: 65536"},
      {"/vips/0/backends/0/weight", 1.5, "vips[0].backends[0].weight: 1.5"},
      {"/vips/0/backends/0/weight", "1", "vips[0].backends[0].weight: \"1\""},
      {"/vips/0/backends/0/address", "10.0.0", "vips[0].backends[0].address: \"10.0.0\""},
      {"/vips/0/backends/0/state", "gone", "vips[0].backends[0].state: \"gone\": give up"},
      {"/vips/0/backends/0/mac", "02:00:00:00:00", "vips[0].backends[0].mac"},
      {"/vips/0/backends/0", "10.0.0.1", "vips[0].backends[0]: \"10.0.0.1\": give an object"},
      {"/vips/0/backends", json::object(), "vips[0].backends: {}: give an array"},
      {"/vips/0/port", 65536, "vips[0].port: 65536"},
      {"/vips/0/protocol", "sctp", "vips[0].protocol: \"sctp\": give tcp or udp"},
      {"/vips/0/encapsulation", "vxlan",
       "vips[0].encapsulation: \"vxlan\": give ip, gue, gre, nat or mac"},
      {"/vips/0/quic", 1, "vips[0].quic: 1: give true or false"},
      {"/vips/0/name", nullptr, "vips[0].name: null: must be a string"},
      {"/vips/0/address", "10.0.0.1/24", "vips[0].address: \"10.0.0.1/24\": give an IPv4"},
      {"/vips/0/address", "10.0.0.0/33", "vips[0].address: \"10.0.0.0/33\": give an IPv4"},
      {"/vips/0/backends/0/quic_ids", json::array({1, 0}), "vips[0].backends[0].quic_ids[1]"},
      {"/vips/0/backends/0/quic_ids", json::array({4294967296}), "vips[0].backends[0].quic_ids[0]"},
      {"/vips/0/backends/0/quic_ids", json::array({-1}), "vips[0].backends[0].quic_ids[0]"},
      {"/vips/0/sources", json::array({1}), "vips[0].sources[0]: 1: give an object"},
      {"/vips/0/sources/0/prefix", "10.0.0.1/24", "vips[0].sources[0].prefix: \"10.0.0.1/24\""},
      {"/vips/0/sources/0/backend", 7, "vips[0].sources[0].backend: 7: must be a string"},
      {"/vips/0/sources/0/backend", "z", "vip \"a\": source 10.2.0.0/16: the VIP has no backend"},
      {"/vips/0/health", {{"type", "tcp"}, {"fail_open", 1}}, "vips[0].health.fail_open: 1"},
      {"/vips/0/health", {{"type", "ftp"}}, "vips[0].health.type: \"ftp\""},
      {"/vips/0/health", json::object(), "vips[0].health.type: is missing"},
      {"/vips/0/health", {{"type", "tcp"}, {"fall", 0}}, "vips[0].health.fall: 0"},
      {"/vips/0/health", {{"type", "tcp"}, {"interval_s", 0}}, "vips[0].health.interval_s: 0"},
      {"/vips/0/health", {{"type", "http"}, {"path", "up"}}, "vips[0].health.path"},
      {"/vips/0/health", {{"type", "http"}, {"path", "/a b"}}, "vips[0].health.path"},
      {"/profile", "Katran", "profile: \"Katran\": give sluice"},
      {"/weight_rule", "fair", "weight_rule: \"fair\""},
      {"/timeouts", {{"tcp", 5}}, "timeouts.tcp: unknown"},
      {"/timeouts", {{"tcp_s", 0}}, "timeouts.tcp_s: 0"},
      {"/balancers", {"10.0.0.1", 7}, "balancers[1]: give an IPv4 or IPv6 address"},
      {"/next_hop", "router", "next_hop: \"router\": give a MAC address"},
      {"/slots", "65537", "slots: \"65537\": give a whole number"},
  };
  for (const Wrong& wrong : cases) {
    json broken = Good();
    broken[json::json_pointer(wrong.pointer)] = wrong.value;
    const std::vector<std::string> errors = ErrorsOf(broken.dump());
    ASSERT_EQ(errors.size(), 1u) << wrong.error;
    EXPECT_TRUE(errors[0].starts_with(wrong.error)) << errors[0] << "\nis not: " << wrong.error;
    EXPECT_EQ(errors[0].find('\n'), std::string::npos);
  }
}

TEST(Config, EveryErrorIsTold) {
  json broken = Good();
  broken["vips"][0]["backends"][0]["weight"] = -1;
  broken["vips"][1]["port"] = 70000;
  broken["more"] = 1;
  EXPECT_EQ(ErrorsOf(broken.dump()).size(), 3u);
}

TEST(Config, AVipMustHaveAnAddressAndTheFileVips) {
  EXPECT_EQ(ErrorsOf("{}"), std::vector<std::string>{"vips: is missing"});
  EXPECT_EQ(ErrorsOf(R"({"vips": [{}]})"), std::vector<std::string>{"vips[0].address: is missing"});
}

TEST(Config, WhatTheEngineRefusesIsToldWithTheVipsName) {
  json twice = Good();
  twice["vips"].push_back(twice["vips"][0]);
  twice["vips"][2]["name"] = "c";
  const std::vector<std::string> errors = ErrorsOf(twice.dump());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("\"c\""), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find("\"a\""), std::string::npos) << errors[0];
}

TEST(Config, AnEmptyPoolAndWeightsOfZeroAreNoErrors) {
  json empty = Good();
  for (json& backend : empty["vips"][0]["backends"]) backend["weight"] = 0;
  EXPECT_TRUE(ErrorsOf(empty.dump()).empty());
}

TEST(Config, AMemberThatIsThereTwiceIsAnError) {
  const auto errors = ErrorsOf(R"({"vips": [], "mtu": 1500, "mtu": 9000})");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("\"mtu\""), std::string::npos);
}

TEST(Config, TextThatIsNoJsonIsRefused) {
  for (const char* text : {"", "{", "[]", "7", "{\"vips\": [}", "{\"vips\": []} x", "\xff\xfe"}) {
    EXPECT_EQ(ErrorsOf(text).size(), 1u) << text;
  }
  const std::string deep(100'000, '[');
  EXPECT_EQ(ErrorsOf(deep).size(), 1u);
  EXPECT_EQ(ErrorsOf("{\"vips\": " + deep + std::string(100'000, ']') + "}").size(), 1u);
}

TEST(Config, AFileThatCannotBeReadIsNamed) {
  std::vector<std::string> errors;
  EXPECT_FALSE(ReadConfig("/nonexistent/maglev.json", &errors));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("/nonexistent/maglev.json"), std::string::npos);
}

TEST(Config, TheSamplesAreRight) {
  const std::string folder = SLUICE_CONFIGS;
  EXPECT_EQ(FileText(folder + "/maglev-sample.json"), kSample);
  EXPECT_TRUE(ErrorsOf(kSample).empty());
  EXPECT_TRUE(ErrorsOf(FileText(folder + "/maglev-katran.json")).empty());
}

// An object in the schema with its members, and the corresponding part of a configuration.
struct SchemaObject {
  const char* pointer;  ///< Pointer into the schema.
  const char* place;    ///< Pointer into Good().
};
constexpr SchemaObject kObjects[] = {{"", ""},
                                     {"/$defs/timeouts", "/timeouts"},
                                     {"/$defs/vip", "/vips/0"},
                                     {"/$defs/backend", "/vips/0/backends/0"},
                                     {"/$defs/source", "/vips/0/sources/0"},
                                     {"/$defs/health", "/vips/0/health"}};

class Schema : public testing::Test {
 protected:
  const json schema_ = json::parse(FileText(SLUICE_SCHEMA));

  json Complete() const {
    json config = Good();
    config["timeouts"] = json::object();
    config["vips"][0]["health"] = {{"type", "tcp"}};
    for (json& backend : config["vips"][0]["backends"]) backend["mac"] = "02:00:00:00:00:0b";
    return config;
  }
  const json& Resolved(const json& type) const {
    if (!type.contains("$ref")) return type;
    return schema_.at(json::json_pointer(type["$ref"].get<std::string>().substr(1)));
  }
};

TEST_F(Schema, NamesTheMembersThatTheReaderKnows) {
  for (const SchemaObject& object : kObjects) {
    json config = Complete();
    config[json::json_pointer(object.place)]["?"] = 1;
    const std::vector<std::string> errors = ErrorsOf(config.dump());
    ASSERT_EQ(errors.size(), 1u);
    const size_t at = errors[0].find("use one of ");
    ASSERT_NE(at, std::string::npos) << errors[0];
    std::set<std::string> read;
    std::istringstream names(errors[0].substr(at + 11));
    for (std::string name; names >> name;) {
      std::erase(name, ',');
      read.insert(name);
    }
    std::set<std::string> said;
    const json& properties = schema_.at(json::json_pointer(object.pointer))["properties"];
    for (const auto& [name, type] : properties.items()) said.insert(name);
    EXPECT_EQ(read, said) << object.place;
  }
}

TEST_F(Schema, SaysTheTypesThatTheReaderWants) {
  const std::map<std::string, json> examples{{"string", "?"},          {"integer", 1},
                                             {"number", 0.7},          {"boolean", true},
                                             {"array", json::array()}, {"object", json::object()}};
  for (const SchemaObject& object : kObjects) {
    const json& properties = schema_.at(json::json_pointer(object.pointer))["properties"];
    for (const auto& [name, reference] : properties.items()) {
      const std::string type = Resolved(reference).value("type", "");
      ASSERT_TRUE(examples.contains(type)) << name;
      for (const auto& [other, example] : examples) {
        if (other == type || (type == "number" && other == "integer")) continue;
        json config = Complete();
        config[json::json_pointer(object.place)][name] = example;
        EXPECT_FALSE(ErrorsOf(config.dump()).empty())
            << object.place << " " << name << " " << other;
      }
    }
  }
}

TEST_F(Schema, SaysTheWordsThatTheReaderKnows) {
  for (const SchemaObject& object : kObjects) {
    const json& properties = schema_.at(json::json_pointer(object.pointer))["properties"];
    for (const auto& [name, type] : properties.items()) {
      if (!type.contains("enum")) continue;
      for (const json& word : type["enum"]) {
        json config = Complete();
        config[json::json_pointer(object.place)][name] = word;
        EXPECT_TRUE(ErrorsOf(config.dump()).empty()) << object.place << " " << name << " " << word;
      }
      // The error message for an invalid word lists the valid words, as in "give ip, gue or gre".
      // They must be those in the schema.
      json config = Complete();
      config[json::json_pointer(object.place)][name] = "?";
      const std::vector<std::string> errors = ErrorsOf(config.dump());
      ASSERT_EQ(errors.size(), 1u) << name;
      std::set<std::string> read;
      std::istringstream words(errors[0].substr(errors[0].find("give ") + 5));
      for (std::string word; words >> word;) {
        std::erase(word, ',');
        if (word != "or") read.insert(word);
      }
      EXPECT_EQ(read, type["enum"].get<std::set<std::string>>()) << object.place << " " << name;
    }
  }
}

TEST_F(Schema, SaysTheBoundsThatTheReaderHas) {
  for (const SchemaObject& object : kObjects) {
    const json& properties = schema_.at(json::json_pointer(object.pointer))["properties"];
    for (const auto& [name, type] : properties.items()) {
      for (const auto& [bound, step] : {std::pair("minimum", -1), std::pair("maximum", 1)}) {
        if (!type.contains(bound)) continue;
        json config = Complete();
        config[json::json_pointer(object.place)][name] = type[bound].get<double>() + step;
        if (type["type"] == "integer") {
          config[json::json_pointer(object.place)][name] = type[bound].get<int64_t>() + step;
        }
        EXPECT_FALSE(ErrorsOf(config.dump()).empty())
            << object.place << " " << name << " " << bound;
      }
    }
  }
}

TEST_F(Schema, DefaultsAreWhatTheReaderTakes) {
  const Config config = Parse(Complete().dump());
  const engine::maglev::Setup& setup = config.setup;
  const auto said = [&](const char* pointer) {
    return schema_.at(json::json_pointer(pointer))["default"];
  };
  EXPECT_EQ(said("/properties/slots"), setup.slots);
  EXPECT_EQ(said("/properties/gue_port"), setup.gue_port);
  EXPECT_EQ(said("/properties/decrement_ttl"), setup.decrement_ttl);
  EXPECT_EQ(said("/properties/connections"), setup.connections);
  EXPECT_EQ(said("/properties/fragments"), setup.fragments);
  EXPECT_EQ(said("/properties/flood_rate"), setup.flood_rate);
  EXPECT_EQ(said("/$defs/timeouts/properties/tcp_s"), setup.timeouts.tcp_s);
  EXPECT_EQ(said("/$defs/timeouts/properties/tcp_opening_s"), setup.timeouts.tcp_opening_s);
  EXPECT_EQ(said("/$defs/timeouts/properties/tcp_closing_s"), setup.timeouts.tcp_closing_s);
  EXPECT_EQ(said("/$defs/timeouts/properties/udp_s"), setup.timeouts.udp_s);
  EXPECT_EQ(said("/$defs/timeouts/properties/fragment_s"), setup.timeouts.fragment_s);
  EXPECT_EQ(said("/$defs/backend/properties/weight"), setup.vips[0].backends[0].weight);
  const HealthCheck& health = config.health[0].value();
  EXPECT_EQ(said("/$defs/health/properties/interval_s"), health.interval_s);
  EXPECT_EQ(said("/$defs/health/properties/timeout_s"), health.timeout_s);
  EXPECT_EQ(said("/$defs/health/properties/rise"), health.rise);
  EXPECT_EQ(said("/$defs/health/properties/fall"), health.fall);
  EXPECT_EQ(said("/$defs/health/properties/path"), health.path);
  EXPECT_EQ(said("/$defs/health/properties/fail_open"), health.fail_open);
}

}  // namespace
}  // namespace sluice::maglev
