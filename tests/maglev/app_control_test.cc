// SPDX-License-Identifier: BSD-3-Clause
//
// Tests changes to a running balancer through its file, by operators and by health checks, and the
// commands that explain and plan.
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"
#include "control.h"
#include "explain.h"
#include "plan.h"
#include "ring_warnings.h"

namespace sluice::maglev {
namespace {

using engine::maglev::BackendSetup;
using engine::maglev::BackendState;
using engine::maglev::IpAddress;
using MaglevSetup = engine::maglev::Setup;
using engine::maglev::Tables;
using engine::maglev::VipSetup;
using nlohmann::json;

std::string Text(std::initializer_list<const char*> backends, const char* more = "") {
  json config = json::parse(R"({"next_hop": "02:00:00:00:00:01", "connections": 1000,
    "vips": [{"name": "web", "address": "10.0.0.1", "port": 80, "backends": []}]})");
  for (const char* name : backends) {
    config["vips"][0]["backends"].push_back(
        {{"name", name}, {"address", "10.1.0." + std::to_string(name[0])}});
  }
  if (*more != '\0') config.update(json::parse(more));
  return config.dump();
}

Config ParseText(const std::string& text) {
  std::vector<std::string> errors;
  auto config = ParseConfig(text, &errors);
  EXPECT_TRUE(config) << (errors.empty() ? "" : errors.front());
  return config.value_or(Config());
}

std::string StateOf(const Control& control, const std::string& name) {
  std::string state;
  control.View([&](const Config&, const Tables& tables) {
    for (const BackendSetup& backend : tables.setup().vips[0].backends) {
      if (backend.name == name) state = StateName(backend.state);
    }
  });
  return state;
}

uint64_t EpochOf(const Control& control) {
  uint64_t epoch = 0;
  control.View([&](const Config&, const Tables& tables) { epoch = tables.epoch(); });
  return epoch;
}

class ConfigFile {
 public:
  ConfigFile() : path_(testing::TempDir() + "/maglev_app_" + std::to_string(getpid()) + ".json") {}
  ~ConfigFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

 private:
  std::string path_;
};

TEST(Control, AnOperatorDrainsAndRestores) {
  Control control(ParseText(Text({"a", "b"})), "", 1);
  EXPECT_EQ(control.Drain({"web", "a"}), "");
  EXPECT_EQ(StateOf(control, "a"), "draining");
  EXPECT_EQ(EpochOf(control), 2u);
  EXPECT_EQ(control.Restore({"web", "a"}), "");
  EXPECT_EQ(StateOf(control, "a"), "up");
  EXPECT_EQ(EpochOf(control), 3u);
}

TEST(Control, WhatChangesNothingPublishesNothing) {
  Control control(ParseText(Text({"a", "b"})), "", 1);
  EXPECT_EQ(control.Restore({"web", "a"}), "");
  control.SetHealthy({{{"web", "a"}, true}});
  control.SetHealthy({{{"web", "nobody"}, false}});
  EXPECT_EQ(EpochOf(control), 1u);
}

TEST(Control, BackendsThatDoNotExistAreNamed) {
  Control control(ParseText(Text({"a"})), "", 1);
  EXPECT_NE(control.Drain({"web", "z"}).find("z"), std::string::npos);
  EXPECT_NE(control.Restore({"mail", "a"}).find("mail"), std::string::npos);
  EXPECT_EQ(EpochOf(control), 1u);
}

TEST(Control, ABackendThatDoesNotAnswerIsDownWhateverElseItWas) {
  Control control(ParseText(Text({"a", "b"})), "", 1);
  control.SetHealthy({{{"web", "a"}, false}});
  EXPECT_EQ(StateOf(control, "a"), "down");
  control.Drain({"web", "a"});
  EXPECT_EQ(StateOf(control, "a"), "down");
  control.SetHealthy({{{"web", "a"}, true}});
  EXPECT_EQ(StateOf(control, "a"), "draining");  // Health does not change the draining state.
}

/// Returns a configuration with checked backends `a` and `b`. `more` is the "health" object.
std::string CheckedText(const char* more) {
  json config = json::parse(Text({"a", "b"}));
  config["vips"][0]["health"] = json::parse(more);
  return config.dump();
}

bool FailedOpen(const Control& control) {
  bool open = false;
  control.View(
      [&](const Config&, const Tables& tables) { open = tables.setup().vips[0].failed_open; });
  return open;
}

TEST(Control, WithoutAnyHealthyBackendAVipMayFailOpen) {
  for (const bool fail_open : {false, true}) {
    Control control(ParseText(CheckedText(fail_open ? R"({"type": "tcp", "fail_open": true})"
                                                    : R"({"type": "tcp"})")),
                    "", 1);
    const auto states = [&] { return StateOf(control, "a") + " " + StateOf(control, "b"); };
    control.SetHealthy({{{"web", "a"}, false}});
    EXPECT_EQ(states(), "down up");
    EXPECT_FALSE(FailedOpen(control));
    control.SetHealthy({{{"web", "b"}, false}});
    EXPECT_EQ(states(), fail_open ? "up up" : "down down");
    EXPECT_EQ(FailedOpen(control), fail_open);
    control.SetHealthy({{{"web", "a"}, true}});
    EXPECT_EQ(states(), "up down");
    EXPECT_FALSE(FailedOpen(control));
  }
}

TEST(Control, BackendsThatFailAtOnceAreOneChange) {
  Control control(ParseText(CheckedText(R"({"type": "tcp", "fail_open": true})")), "", 1);
  control.SetHealthy({{{"web", "a"}, false}, {{"web", "b"}, false}});
  EXPECT_TRUE(FailedOpen(control));
  EXPECT_EQ(StateOf(control, "a"), "up");
  EXPECT_EQ(EpochOf(control), 2u) << "no table in which only one of them had failed";
}

TEST(Control, FailingOpenIsNoWayAroundFileAndOperator) {
  json config = json::parse(CheckedText(R"({"type": "tcp", "fail_open": true})"));
  Control drained(ParseText(config.dump()), "", 1);
  drained.Drain({"web", "b"});
  drained.SetHealthy({{{"web", "a"}, false}});
  EXPECT_EQ(StateOf(drained, "a"), "up") << "the only one that may take new flows";
  EXPECT_EQ(StateOf(drained, "b"), "draining");
  drained.Drain({"web", "a"});
  EXPECT_EQ(StateOf(drained, "a"), "down") << "nobody may take new flows: nothing to open";
  config["vips"][0]["backends"][1]["state"] = "down";
  Control down(ParseText(config.dump()), "", 1);
  down.SetHealthy({{{"web", "a"}, false}});
  EXPECT_EQ(StateOf(down, "a"), "up");
  EXPECT_EQ(StateOf(down, "b"), "down");
  config["vips"][0]["backends"][1].update({{"state", "up"}, {"weight", 0}});
  Control weightless(ParseText(config.dump()), "", 1);
  weightless.SetHealthy({{{"web", "a"}, false}});
  EXPECT_TRUE(FailedOpen(weightless)) << "a backend without weight gets no new flows";
}

TEST(Control, AReloadTakesUpTheFileAndKeepsDrains) {
  const ConfigFile file;
  file.Write(Text({"a", "b"}));
  Control control(ParseText(Text({"a", "b"})), file.path(), 1);
  control.Drain({"web", "b"});
  file.Write(Text({"a", "b", "c"}));
  EXPECT_EQ(control.Reload(), "");
  EXPECT_EQ(StateOf(control, "b"), "draining");
  EXPECT_EQ(StateOf(control, "c"), "up");
  EXPECT_EQ(EpochOf(control), 3u);
}

TEST(Control, ADrainOfABackendThatIsRemovedIsForgotten) {
  const ConfigFile file;
  Control control(ParseText(Text({"a", "b"})), file.path(), 1);
  control.Drain({"web", "b"});
  file.Write(Text({"a"}));
  EXPECT_EQ(control.Reload(), "");
  file.Write(Text({"a", "b"}));
  EXPECT_EQ(control.Reload(), "");
  EXPECT_EQ(StateOf(control, "b"), "up");
}

TEST(Control, ABadFileChangesNothing) {
  const ConfigFile file;
  file.Write("{\"vips\": [7]}");
  Control control(ParseText(Text({"a"})), file.path(), 1);
  EXPECT_NE(control.Reload().find("vips[0]"), std::string::npos);
  EXPECT_EQ(EpochOf(control), 1u);
  EXPECT_NE(Control(ParseText(Text({"a"})), "", 1).Reload(), "");
}

TEST(Control, WhatWorkersAreBuiltWithCannotBeReloaded) {
  const ConfigFile file;
  file.Write(Text({"a"}, R"({"connections": 2000, "timeouts": {"udp_s": 7}})"));
  Control control(ParseText(Text({"a"})), file.path(), 1);
  const std::string error = control.Reload();
  EXPECT_NE(error.find("connections, timeouts.udp_s"), std::string::npos) << error;
}

// Additions from etcd.
constexpr char kC[] = R"({"name": "c", "address": "10.1.0.99"})";
constexpr char kVip[] = R"({"address": "10.0.0.2", "port": 53, "protocol": "udp"})";

TEST(Control, AdditionsComeAndGo) {
  const std::string text = Text({"a"});
  Control control(ParseText(text), "", 1, {text, {}});
  EXPECT_EQ(control.Add({{"backends/web/3", kC}}), "");
  EXPECT_EQ(StateOf(control, "a"), "up");
  EXPECT_EQ(StateOf(control, "c"), "up");
  EXPECT_EQ(control.configurations(), 1u);
  EXPECT_EQ(control.Drain({"web", "c"}), "");
  EXPECT_EQ(control.Add({{"backends/web/3", kC}, {"vips/dns", kVip}, {"backends/dns/1", kC}}), "");
  EXPECT_EQ(StateOf(control, "c"), "draining");
  EXPECT_TRUE(control.Has({"dns", "c"}));
  EXPECT_EQ(control.Add({}), "");
  EXPECT_EQ(StateOf(control, "c"), "");
  EXPECT_FALSE(control.Has({"dns", "c"}));
}

TEST(Control, TheSameAdditionsPublishNothing) {
  const std::string text = Text({"a"});
  Control control(ParseText(text), "", 1, {text, {}});
  EXPECT_EQ(control.Add({}), "");
  EXPECT_EQ(EpochOf(control), 1u);
  EXPECT_EQ(control.Add({{"backends/web/3", kC}}), "");
  EXPECT_EQ(control.Add({{"backends/web/3", kC}}), "");
  EXPECT_EQ(EpochOf(control), 2u);
}

TEST(Control, AWrongAdditionIsSkippedUntilTheFileFits) {
  const ConfigFile file;
  file.Write(Text({"a"}));
  Control control(ParseText(Text({"a"})), file.path(), 1, {Text({"a"}), {}});
  EXPECT_EQ(control.Add({{"backends/dns/1", kC}, {"backends/web/3", kC}, {"vips/web/x", "{"}}), "");
  EXPECT_EQ(StateOf(control, "c"), "up") << "the key that is right applies";
  const auto skipped = [&] {
    size_t keys = 0;
    control.View([&](const Config& config, const Tables&) { keys = config.skipped.size(); });
    return keys;
  };
  EXPECT_EQ(skipped(), 2u);
  EXPECT_EQ(control.Reload(), "");
  EXPECT_EQ(skipped(), 2u);
  EXPECT_EQ(StateOf(control, "c"), "up");
  file.Write(Text({"a"}, R"({"vips": [{"name": "web", "address": "10.0.0.1", "port": 80},
                                      {"name": "dns", "address": "10.0.0.2", "port": 53}]})"));
  EXPECT_EQ(control.Reload(), "");
  EXPECT_TRUE(control.Has({"dns", "c"}));
  EXPECT_TRUE(control.Has({"web", "c"}));
  EXPECT_FALSE(control.Has({"web", "a"}));
}

TEST(Control, IndicesThatGetNewOwnersAreTold) {
  const ConfigFile file;
  Control control(ParseText(Text({"a", "b"})), file.path(), 1);
  std::vector<uint16_t> renewed;
  control.set_on_new_owners([&](const auto& owners) { renewed = owners.backends; });
  file.Write(Text({"a", "c"}));
  EXPECT_EQ(control.Reload(), "");
  EXPECT_EQ(renewed, std::vector<uint16_t>{1});
}

TEST(Control, AnIndexThatNobodyHadForAWhileGetsANewOwner) {
  const ConfigFile file;
  const json one = json::parse(Text({"a"}));
  const auto with = [&](const char* name, int port) {
    json two = one;
    two["vips"].push_back(one["vips"][0]);
    two["vips"][1].update({{"name", name}, {"port", port}});
    return two.dump();
  };
  Control control(ParseText(with("dns", 53)), file.path(), 1);
  std::vector<uint16_t> renewed;
  control.set_on_new_owners([&](const auto& owners) { renewed = owners.vips; });
  for (const std::string& text : {one.dump(), with("ssh", 22)}) {
    renewed.clear();
    file.Write(text);
    EXPECT_EQ(control.Reload(), "");
    EXPECT_EQ(renewed, std::vector<uint16_t>{1}) << text;
  }
}

TEST(ParseFlow, ReadsBothFamilies) {
  const auto ipv4 = ParseFlow("tcp 1.2.3.4:5 10.0.0.1:80");
  ASSERT_TRUE(ipv4);
  EXPECT_EQ(ipv4->protocol, 6);
  EXPECT_EQ(ipv4->ip_version, 4);
  EXPECT_EQ(ipv4->source[3], 4);
  EXPECT_EQ(ipv4->source_port, 5);
  EXPECT_EQ(ipv4->destination_port, 80);
  const auto ipv6 = ParseFlow("udp [fc00::1]:65535 [fc00::2]:53");
  ASSERT_TRUE(ipv6);
  EXPECT_EQ(ipv6->protocol, 17);
  EXPECT_EQ(ipv6->ip_version, 6);
  EXPECT_EQ(ipv6->destination[15], 2);
}

TEST(ParseFlow, RefusesEverythingElse) {
  for (const char* text :
       {"", "tcp", "tcp 1.2.3.4:5", "icmp 1.2.3.4:5 10.0.0.1:80", "tcp 1.2.3.4 10.0.0.1:80",
        "tcp 1.2.3.4:65536 10.0.0.1:80", "tcp 1.2.3.4:-1 10.0.0.1:80", "tcp 1.2.3.4:5 10.0.0.1:",
        "tcp fc00::1:5 [fc00::2]:80", "tcp [1.2.3.4]:5 10.0.0.1:80", "tcp []:5 10.0.0.1:80",
        "tcp 1.2.3.4:5 [fc00::2]:80", "tcp 1.2.3.4:5 10.0.0.1:80 x", "tcp :5 :80"}) {
    EXPECT_FALSE(ParseFlow(text)) << text;
  }
}

// The expected slot is from docs/maglev-peers.md, "Katran: the slot of a flow": 48717 for
// 192.168.1.1:31337 to port 80.
TEST(Explain, NamesSlotAndBackend) {
  const Config config = ParseText(Text({"a"}, R"({"profile": "katran"})"));
  const auto tables = Tables::Build(config.setup, nullptr);
  const auto answer = Explain(*tables, *ParseFlow("tcp 192.168.1.1:31337 10.0.0.1:80"));
  EXPECT_EQ(answer["verdict"], "forward");
  EXPECT_EQ(answer["vip"], "web");
  EXPECT_EQ(answer["slot"], 48717);
  EXPECT_EQ(answer["slots"], 65537);
  EXPECT_EQ(answer["backend"], "a");
}

TEST(Explain, NamesTheSourceThatDecided) {
  const Config config = ParseText(R"({"next_hop": "02:00:00:00:00:01", "vips": [
    {"name": "net", "address": "192.0.2.0/24", "port": 80,
     "backends": [{"name": "a", "address": "10.1.0.1"}, {"name": "b", "address": "10.1.0.2",
                                                         "weight": 0}],
     "sources": [{"prefix": "198.51.100.0/24", "backend": "b"}]}]})");
  const auto tables = Tables::Build(config.setup, nullptr);
  const auto by_source = Explain(*tables, *ParseFlow("tcp 198.51.100.255:5 192.0.2.77:80"));
  EXPECT_EQ(by_source["vip"], "net");
  EXPECT_EQ(by_source["backend"], "b");
  EXPECT_FALSE(by_source.contains("slot"));
  EXPECT_NE(by_source["why"].get<std::string>().find("sources"), std::string::npos);
  const auto by_ring = Explain(*tables, *ParseFlow("tcp 198.51.101.0:5 192.0.2.77:80"));
  EXPECT_EQ(by_ring["backend"], "a");
  EXPECT_TRUE(by_ring.contains("slot"));
}

TEST(Explain, SaysWhyAFlowIsNotForwarded) {
  const Config config = ParseText(Text({}));
  const auto tables = Tables::Build(config.setup, nullptr);
  const auto verdict = [&](const char* flow) {
    return Explain(*tables, *ParseFlow(flow))["verdict"];
  };
  EXPECT_EQ(verdict("tcp 1.2.3.4:5 10.0.0.1:80"), "drop");  // An empty pool.
  EXPECT_EQ(verdict("tcp 1.2.3.4:5 10.0.0.1:81"), "drop");  // No service.
  EXPECT_EQ(verdict("tcp 1.2.3.4:5 10.0.0.2:80"), "pass");  // The address is not a VIP.
}

TEST(Plan, TheSameConfigurationMovesNothing) {
  const Config config = ParseText(Text({"a", "b"}));
  const auto tables = Tables::Build(config.setup, nullptr);
  const auto plan = Plan(*tables, config.setup, std::nullopt);
  EXPECT_EQ(plan["web"]["change"], "same");
  EXPECT_EQ(plan["web"]["gone"], 0);
  EXPECT_EQ(plan["web"]["others"], 0);
  EXPECT_FALSE(plan["web"].contains("flows"));
}

/// Returns `count` VIPs with two backends each.
json ManyVips(int count) {
  json config = {{"next_hop", "02:00:00:00:00:01"}};
  for (int i = 0; i < count; ++i) {
    config["vips"].push_back({{"name", "v" + std::to_string(i)},
                              {"address", "10.0.0.1"},
                              {"port", i + 1},
                              {"backends",
                               {{{"name", std::to_string(i)}, {"address", "10.1.0.1"}},
                                {{"name", "x"}, {"address", "10.1.0.2"}}}}});
  }
  return config;
}

TEST(Plan, OfTwoSetupsIsThatOfTheirTables) {
  const json now = ManyVips(5);
  json next = ManyVips(7);
  next["vips"].erase(1);                                   // Removed.
  next["vips"][1]["backends"].erase(1);                    // "v2": backend x is removed.
  next["vips"][2]["backends"][0]["address"] = "10.1.0.9";  // "v3"
  next["vips"][3]["encapsulation"] = "gre";                // "v4"
  for (const json& other : {next, now, ManyVips(0)}) {
    json after = other;
    if (!after.contains("vips")) after["vips"] = json::array();
    const Config one = ParseText(now.dump()), two = ParseText(after.dump());
    EXPECT_EQ(Plan(one.setup, two.setup),
              Plan(*Tables::Build(one.setup, nullptr), two.setup, std::nullopt));
  }
  json smaller = now;
  smaller["slots"] = 101;
  EXPECT_EQ(Plan(ParseText(now.dump()).setup, ParseText(smaller.dump()).setup)["v0"]["change"],
            "changed");
}

TEST(Plan, OfManyVipsOfWhichFewChangeIsMadeInLittleTime) {
  const Config now = ParseText(ManyVips(4096).dump());
  json next = ManyVips(4096);
  next["vips"][7]["backends"].erase(1);
  const Config then = ParseText(next.dump());
  const std::clock_t start = std::clock();
  const auto plan = Plan(now.setup, then.setup);
  EXPECT_LT(std::clock() - start, 3 * CLOCKS_PER_SEC);
  EXPECT_EQ(plan.size(), 4096u);
  EXPECT_EQ(plan["v7"]["change"], "changed");
  EXPECT_EQ(plan["v8"]["change"], "same");
  EXPECT_EQ(plan["v8"]["slots"], 65537);
}

TEST(Plan, OfVipsWithEqualPoolsCostsLessThanARingEach) {
  const auto cpu_time_of = [](bool equal_pools) {
    json now = ManyVips(128);
    for (json& vip : now["vips"]) {
      if (equal_pools) vip["backends"][0]["name"] = "a";
      for (int i = 0; i < 30; ++i) {
        vip["backends"].push_back({{"name", "y" + std::to_string(i)}, {"address", "10.1.0.3"}});
      }
    }
    json next = now;
    for (json& vip : next["vips"]) vip["backends"].erase(1);
    const Config one = ParseText(now.dump()), two = ParseText(next.dump());
    const std::clock_t start = std::clock();
    const auto plan = Plan(one.setup, two.setup);
    const std::clock_t spent = std::clock() - start;
    for (const auto& vip : plan) EXPECT_EQ(vip["change"], "changed");
    return spent;
  };
  EXPECT_LT(2 * cpu_time_of(true), cpu_time_of(false));
}

TEST(RingWarnings, NameVipsWithMoreBackendsThanSlots) {
  const auto warnings = [](const char* more) {
    return RingWarnings(ParseText(Text({"a", "b", "c"}, more)).setup);
  };
  EXPECT_TRUE(warnings("").empty());
  EXPECT_TRUE(warnings(R"({"slots": 3})").empty());
  ASSERT_EQ(warnings(R"({"slots": 2})").size(), 1u);
  EXPECT_TRUE(warnings(R"({"slots": 2})")[0].starts_with(
      "vip \"web\": 3 backends share 2 slots: at least 1 of them get no new flows"));
}

// Two equal backends own 32768 and 32769 of the 65537 slots.
TEST(Plan, WhatARemovedBackendHadMovesAndNothingElseOfTwo) {
  const auto tables = Tables::Build(ParseText(Text({"a", "b"})).setup, nullptr);
  const auto plan = Plan(*tables, ParseText(Text({"a"})).setup, std::nullopt);
  EXPECT_EQ(plan["web"]["change"], "changed");
  EXPECT_GE(plan["web"]["gone"], 32768);
  EXPECT_LE(plan["web"]["gone"], 32769);
  EXPECT_EQ(plan["web"]["others"], 0);
}

TEST(Plan, ABackendThatTakesAnothersPlaceIsNotTheSame) {
  const auto tables = Tables::Build(ParseText(Text({"a", "b"})).setup, nullptr);
  const auto plan = Plan(*tables, ParseText(Text({"a", "c"})).setup, std::nullopt);
  EXPECT_GE(plan["web"]["gone"], 32768);
  EXPECT_LE(plan["web"]["gone"], 32769);
}

TEST(Plan, FlowsOfDrainedBackendsStayAndThoseOfDownOnesMove) {
  const Config now = ParseText(Text({"a", "b", "c"}));
  const auto tables = Tables::Build(now.setup, nullptr);
  const std::vector<uint32_t> live{10, 20, 30};
  MaglevSetup next = now.setup;
  next.vips[0].backends[0].state = BackendState::kDraining;
  next.vips[0].backends[2].state = BackendState::kDown;
  const auto plan = Plan(*tables, next, std::span<const uint32_t>(live));
  EXPECT_EQ(plan["web"]["flows"], 60);
  EXPECT_EQ(plan["web"]["flows_lost"], 30);
  EXPECT_NEAR(plan["web"]["gone"].get<double>(), 65537 * 2.0 / 3, 2);
}

TEST(Plan, OtherSourcesOrAnotherPrefixAreAChange) {
  const auto tables = Tables::Build(ParseText(Text({"a", "b"})).setup, nullptr);
  MaglevSetup next = tables->setup();
  next.vips[0].sources = {{*engine::maglev::IpPrefix::Parse("10.2.0.0/16"), "a"}};
  EXPECT_EQ(Plan(*tables, next, std::nullopt)["web"]["change"], "changed");
  next = tables->setup();
  next.vips[0].address = *IpAddress::Parse("10.0.0.0");
  next.vips[0].host_bits = 8;
  EXPECT_EQ(Plan(*tables, next, std::nullopt)["web"]["change"], "changed");
}

TEST(Plan, VipsThatComeAndGoAreNamed) {
  const auto tables = Tables::Build(ParseText(Text({"a"})).setup, nullptr);
  MaglevSetup next = tables->setup();
  next.vips[0].name = "mail";
  const std::vector<uint32_t> live{5};
  const auto plan = Plan(*tables, next, std::span<const uint32_t>(live));
  EXPECT_EQ(plan["web"]["change"], "removed");
  EXPECT_EQ(plan["web"]["flows_lost"], 5);
  EXPECT_EQ(plan["mail"]["change"], "new");
  EXPECT_NE(PlanText(plan).find("web: removed"), std::string::npos);
}

TEST(AskInstance, SaysWhoCannotBeAsked) {
  std::string error;
  for (const char* prefix : {"", "../x", "sluice_test_nobody"}) {
    error.clear();
    EXPECT_FALSE(AskInstance(prefix, "/sluice/maglev/plan", "x", &error));
    EXPECT_NE(error.find("--file-prefix"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace sluice::maglev
