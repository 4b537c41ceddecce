// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the report: its fields (docs/command-line.md, "The JSON report"), their units, and the
// verdict on a run.
#include "runtime/report.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

namespace sluice::runtime {
namespace {

constexpr std::array<std::string_view, 2> kReasons{"malformed", "too_old"};

// 1000 frames of 60 bytes are received in two seconds: 900 sent, 40 consumed, 60 dropped.
RunFigures Example() {
  RunFigures run;
  run.app = "echo";
  run.iface = "packetized";
  run.traffic = "gen:size=64";
  run.frame_size = "64";
  run.reasons = kReasons;
  run.final.counters.rx_pkts = 1000;
  run.final.counters.rx_bytes = 60000;
  run.final.counters.tx_pkts = 900;
  run.final.counters.tx_bytes = 54000;
  run.final.counters.consumed_pkts = 40;
  run.final.counters.engine_drops[1] = 50;
  run.final.counters.tx_full = 10;
  run.final.seconds = 2.5;
  run.measured = run.final;
  run.measured.seconds = 2;
  run.measured.busy_cycles = 20000;
  run.measured.total_cycles = 80000;
  run.port_begin = PortStats({{"model_busy_cycles", 100}, {"model_total_cycles", 1000}});
  run.port_measured = PortStats({{"model_busy_cycles", 600}, {"model_total_cycles", 2000}});
  run.port_final = PortStats({{"wire_offered", 1000},
                              {"wire_outstanding", 100},
                              {"wire_corrupted", 3},
                              {"wire_duplicated", 4},
                              {"wire_reordered", 5}});
  run.drained = true;
  return run;
}

TEST(Report, HasTheFieldsThatScriptsRelyOn) {
  const auto json = nlohmann::json::parse(JsonReport(Example()));
  for (const char* field : {"app",          "iface",
                            "traffic",      "frame_size",
                            "duration_s",   "rx_pkts",
                            "tx_pkts",      "consumed_pkts",
                            "drops",        "rx_bytes",
                            "tx_bytes",     "mpps",
                            "gbps",         "cycles_per_pkt",
                            "worker_busy",  "device_busy",
                            "lost",         "corrupted",
                            "duplicated",   "reordered",
                            "config",       "version",
                            "ctx_switches", "sent_pkts",
                            "nic_drops",    "nic_dropped_pkts",
                            "rx_nombuf",    "foreign",
                            "passed_pkts",  "rx_desync_flits"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["frame_size"], 64);
  EXPECT_EQ(json["rx_pkts"], 1000);
  EXPECT_EQ(json["drops"]["malformed"], 0);
  EXPECT_EQ(json["drops"]["too_old"], 50);
  EXPECT_EQ(json["drops"]["tx_full"], 10);
  EXPECT_EQ(json["lost"], 0);
  EXPECT_EQ(json["corrupted"], 3);
  EXPECT_EQ(json["duplicated"], 4);
  EXPECT_EQ(json["reordered"], 5);
  EXPECT_DOUBLE_EQ(json["mpps"], 900 / 2.0 / 1e6);
  EXPECT_DOUBLE_EQ(json["cycles_per_pkt"], 20.0);
  EXPECT_DOUBLE_EQ(json["worker_busy"], 0.25);
  EXPECT_DOUBLE_EQ(json["device_busy"], 0.5);
}

RunFigures WithNicDrops() {
  RunFigures run = Example();
  run.final.nic = {
      {{"rx_no_descriptor", 1488}, {"rx_oversize", 0}, {"tx_bad_descriptor", 2}}, 2, 1488, 7};
  run.port_final = PortStats({{"wire_offered", 2490}, {"wire_outstanding", 102}});
  return run;
}

TEST(Report, ListsPeriodsWithoutALink) {
  RunFigures run = Example();
  EXPECT_EQ(nlohmann::json::parse(JsonReport(run))["link_downs"], nlohmann::json::array());
  run.link_downs = {{.at_s = 1.5, .duration_s = 4}};
  EXPECT_EQ(nlohmann::json::parse(JsonReport(run))["link_downs"],
            nlohmann::json::array({{{"at_s", 1.5}, {"duration_s", 4.0}}}));
}

TEST(Report, AnApplicationsFindingsStandForTheWires) {
  RunFigures run = Example();
  run.findings = {.lost = 11, .corrupted = 12, .duplicated = 13, .reordered = 14, .foreign = 15};
  const auto json = nlohmann::json::parse(JsonReport(run));
  EXPECT_EQ(json["lost"], 11);
  EXPECT_EQ(json["corrupted"], 12);
  EXPECT_EQ(json["duplicated"], 13);
  EXPECT_EQ(json["reordered"], 14);
  EXPECT_EQ(json["foreign"], 15);
  EXPECT_NE(Totals(run).find("lost 11, corrupted 12, duplicated 13, reordered 14, foreign 15"),
            std::string::npos);
  EXPECT_EQ(Verdict(run), "") << "what it measures fails no run";
}

TEST(Report, TellsWhatTheNicDropped) {
  const RunFigures run = WithNicDrops();
  const auto json = nlohmann::json::parse(JsonReport(run));
  EXPECT_EQ(
      json["nic_drops"],
      (nlohmann::json{{"rx_no_descriptor", 1488}, {"rx_oversize", 0}, {"tx_bad_descriptor", 2}}));
  EXPECT_EQ(json["nic_dropped_pkts"], 1490);
  EXPECT_EQ(json["rx_nombuf"], 7);
  EXPECT_EQ(json["lost"], 0) << "what the NIC dropped behind the host has its ending";
  EXPECT_EQ(Verdict(run), "") << "and is no violation";
}

TEST(Report, AWireOfWhichNoFrameReachedAWorkerFailsTheRun) {
  RunFigures run = Example();
  run.final.counters = {};
  run.port_final = PortStats({{"wire_offered", 1037}});
  run.final.nic = {.by_name = {{"rx_no_descriptor", 7}, {"rx_oversize", 1030}}, .on_the_way = 1037};
  EXPECT_EQ(Verdict(run),
            "no frame from the wire reached a worker: the NIC dropped 1030 as rx_oversize");
  run.final.counters.rx_pkts = run.final.counters.consumed_pkts = 1;
  EXPECT_EQ(Verdict(run), "") << "one did";
  run.final.counters = {};
  run.final.nic = {.by_name = {{"rx_filtered", 1037}}};
  EXPECT_EQ(Verdict(run), "") << "a filter was to drop them";
  run.final.nic = {.by_name = {{"imissed", 3}}, .on_the_way = 3};
  run.port_final = {};
  EXPECT_EQ(Verdict(run), "") << "what else is on a network is not known";
}

TEST(Totals, WhatIsLostIsRedOnATerminal) {
  const RunFigures run = WithNicDrops();
  const std::string plain = Totals(run);
  EXPECT_NE(plain.find("dropped 60, dropped by the NIC 1490; lost 0"), std::string::npos) << plain;
  EXPECT_NE(plain.find("  NIC drop rx_no_descriptor     1488\n"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("rx_oversize"), std::string::npos) << "nothing was";
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  const std::string color = Totals(run, true);
  EXPECT_NE(color.find("\x1b[31mdropped by the NIC 1490\x1b[0m; lost 0, "), std::string::npos);
  EXPECT_NE(color.find("\x1b[31m  NIC drop rx_no_descriptor     1488\x1b[0m\n"), std::string::npos);
}

TEST(Report, OfLinksSaysWhatHappenedToThem) {
  RunFigures run = Example();
  const auto without = nlohmann::json::parse(JsonReport(run));
  EXPECT_FALSE(without.contains("links")) << "there are none";
  EXPECT_FALSE(without["unit_notes"].contains(""));
  run.iface = "bilateral";
  run.figures = {"links", "of regions", {{"swaps", 12}, {"resets", 1}}};
  const auto json = nlohmann::json::parse(JsonReport(run));
  EXPECT_EQ(json["links"], (nlohmann::json{{"swaps", 12}, {"resets", 1}}));
  EXPECT_EQ(json["unit_notes"]["links"], "of regions");
}

TEST(Report, RatesAreLayerOne) {
  // A 64-byte frame occupies 84 bytes of a 10 Gb/s wire: 14,880,952 frames per second.
  EXPECT_NEAR(Gbps(60ull * 14'880'952, 14'880'952, 1), 10.0, 1e-5);
  EXPECT_EQ(Gbps(60, 1, 0), 0);
}

TEST(Report, SizesThatAreNoNumber) {
  RunFigures run = Example();
  run.frame_size = "imix";
  EXPECT_EQ(nlohmann::json::parse(JsonReport(run))["frame_size"], "imix");
  run.frame_size = "";
  EXPECT_TRUE(nlohmann::json::parse(JsonReport(run))["frame_size"].is_null());
}

TEST(Verdict, ACleanRunHasNothingToSay) { EXPECT_EQ(Verdict(Example()), ""); }

TEST(Verdict, AFrameWithoutAnEndingIsSaidWithNumbers) {
  RunFigures run = Example();
  run.final.counters.tx_pkts = 899;
  EXPECT_NE(Verdict(run).find("received 1000, sent 899"), std::string::npos);
}

TEST(Verdict, FramesThatTheApplicationSentUnaskedAreNoViolation) {
  RunFigures run = Example();
  run.final.counters.tx_pkts += 25;
  EXPECT_NE(Verdict(run), "");
  run.final.counters.sent_pkts = 27;
  run.final.counters.tx_full += 2;
  EXPECT_EQ(Verdict(run), "");
  EXPECT_EQ(nlohmann::json::parse(JsonReport(run))["sent_pkts"], 27);
  EXPECT_NE(Totals(run).find("sent (or tried) beyond answers 27"), std::string::npos);
}

TEST(Verdict, EntriesThatDescribeNoFrameAreADropLikeOthers) {
  RunFigures run = Example();
  run.final.counters.tx_pkts -= 7;
  run.final.counters.rx_bad_entry = 7;
  run.port_final = PortStats({{"wire_offered", 1000}, {"wire_outstanding", 107}});
  EXPECT_EQ(Verdict(run), "");
  EXPECT_EQ(nlohmann::json::parse(JsonReport(run))["drops"]["rx_bad_entry"], 7);
}

TEST(Verdict, FramesBetweenHostAndWireAreLost) {
  RunFigures run = Example();
  run.port_final = PortStats({{"wire_offered", 1000}, {"wire_outstanding", 103}});
  EXPECT_EQ(Lost(run), 3u);
  EXPECT_NE(Verdict(run).find("3 frames"), std::string::npos);
  run.drained = false;  // The missing frames may still be in flight.
  EXPECT_EQ(Verdict(run), "");
}

TEST(Verdict, LostFramingExcusesAFramePerFlit) {
  RunFigures run = Example();
  run.port_final = PortStats({{"wire_offered", 1000}, {"wire_outstanding", 103}});
  run.final.counters.rx_desync = 3;
  EXPECT_EQ(Lost(run), 0u);
}

TEST(StatsLine, SpeaksOfTheTimeBetweenTwoSamples) {
  Sample before, after;
  before.seconds = 1;
  before.counters.rx_pkts = before.counters.tx_pkts = 1'000'000;
  after = before;
  after.seconds = 3;
  after.counters.rx_pkts = after.counters.tx_pkts = 5'000'000;
  after.busy_cycles = 8'000'000;
  before.nic.by_name = {{"imissed", 10}};
  after.nic.by_name = {{"imissed", 15}, {"oerrors", 1}};
  const std::string line = StatsLine(before, after);
  EXPECT_NE(line.find("rx    2.000 Mpps"), std::string::npos) << line;
  EXPECT_NE(line.find("   2.0 cycles/pkt"), std::string::npos) << line;
  EXPECT_NE(line.find("nic drops 6 "), std::string::npos) << line;
}

}  // namespace
}  // namespace sluice::runtime
