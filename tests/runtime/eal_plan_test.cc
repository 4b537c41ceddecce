// SPDX-License-Identifier: BSD-3-Clause
//
// Tests which arguments EAL gets on different machines and command lines (docs/command-line.md).
#include "runtime/eal_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::runtime {
namespace {

const HostResources kTwoCpus{{0, 1}, true, true, 1ull << 30};

CommandLine Line(std::vector<std::string> eal = {}, bool own_port = false) {
  CommandLine line;
  line.app = "echo";
  line.eal = std::move(eal);
  line.own_port = own_port;
  line.options.wire = "gen:size=64";
  return line;
}

bool Has(const EalPlan& plan, std::string_view argument) {
  return std::ranges::find(plan.arguments, argument) != plan.arguments.end();
}

bool Mentions(const EalPlan& plan, std::string_view start) {
  return std::ranges::any_of(plan.arguments,
                             [&](const std::string& a) { return a.starts_with(start); });
}

TEST(EalPlan, WorkerAndModelDoNotShareACpuOnTwoCpus) {
  const EalPlan plan = PlanEal(Line(), kTwoCpus, 7);
  EXPECT_TRUE(Has(plan, "--lcores=0@0,1@1"));
  EXPECT_TRUE(Has(plan, "--vdev=net_ipu0,wire=gen:size=64,device_cpu=0"));
  EXPECT_EQ(plan.embedded, "net_ipu0");
  EXPECT_TRUE(plan.warning.empty());
}

TEST(EalPlan, TheModelHasACpuOfItsOwnWhereThereIsOne) {
  CommandLine line = Line();
  line.options.workers = 2;
  const EalPlan plan = PlanEal(line, {{2, 3, 6, 9}, true, true, 1ull << 30}, 7);
  EXPECT_TRUE(Has(plan, "--lcores=0@2,1@3,2@6"));
  EXPECT_TRUE(Has(plan, "--vdev=net_ipu0,wire=gen:size=64,device_cpu=9"));
}

TEST(EalPlan, TooFewCpusAreSharedAndSaidSo) {
  CommandLine line = Line();
  line.options.workers = 3;
  const EalPlan plan = PlanEal(line, kTwoCpus, 7);
  EXPECT_TRUE(Has(plan, "--lcores=0@0,1@1,2@1,3@1"));
  EXPECT_FALSE(plan.warning.empty());
  EXPECT_TRUE(Has(PlanEal(Line(), {{4}, false, 0}, 7), "--lcores=0@4,1@4"));
}

TEST(EalPlan, StreamingTakesTheEnsoModel) {
  CommandLine line = Line();
  line.options.iface = nic::FindInterface("streaming");
  line.options.seed = 5;
  EXPECT_TRUE(Has(PlanEal(line, kTwoCpus, 7),
                  "--vdev=net_enso0,wire=gen:size=64,device_cpu=0,pipe_flits=4096,seed=5"));
}

TEST(EalPlan, PipesAreAsLargeAsTheHardwaresWhereAPacedWireDoesNotWait) {
  CommandLine line = Line();
  line.options.iface = nic::FindInterface("streaming");
  line.options.wire = "gen:size=64+rate=1000";
  EXPECT_TRUE(
      Has(PlanEal(line, kTwoCpus, 7), "--vdev=net_enso0,wire=gen:size=64+rate=1000,device_cpu=0"));
}

TEST(EalPlan, PipesOfAWorkerAreSmallWhereManyMustFit) {
  // 128 MiB hold 2^21 flits of 64 bytes. Each of 64 pipes gets 2^15 flits, as in hardware.
  for (const auto& [pipes, size] : {std::pair(64u, ""),
                                    {65u, ",pipe_flits=16384"},
                                    {256u, ",pipe_flits=8192"},
                                    {1024u, ",pipe_flits=2048"}}) {
    CommandLine line = Line();
    line.options.iface = nic::FindInterface("streaming");
    line.options.interface.pipes = pipes;
    line.options.wire = "gen:rate=1M";
    EXPECT_TRUE(Has(PlanEal(line, kTwoCpus, 7),
                    std::string("--vdev=net_enso0,wire=gen:rate=1M,device_cpu=0") + size))
        << pipes;
  }
}

TEST(EalPlan, WhatDoesNotComeBackAsItWasSentIsNotVerified) {
  CommandLine line = Line();
  line.options.answers = false;
  EXPECT_TRUE(
      Has(PlanEal(line, kTwoCpus, 7), "--vdev=net_ipu0,wire=gen:size=64,device_cpu=0,verify=off"));
}

TEST(EalPlan, AModelOnACardNeedsNoCpu) {
  CommandLine line = Line();
  line.options.on = "threads:threads=2";
  EXPECT_TRUE(
      Has(PlanEal(line, kTwoCpus, 7), "--vdev=net_ipu0,wire=gen:size=64,on=threads:threads=2"));
  line.options.on = "cpu";
  EXPECT_TRUE(Has(PlanEal(line, kTwoCpus, 7), "--vdev=net_ipu0,wire=gen:size=64,device_cpu=0"));
}

TEST(EalPlan, BilateralTakesTheIpuModel) {
  CommandLine line = Line();
  line.options.iface = nic::FindInterface("bilateral");
  EXPECT_TRUE(Has(PlanEal(line, kTwoCpus, 7), "--vdev=net_ipu0,wire=gen:size=64,device_cpu=0"));
}

TEST(EalPlan, HugepagesIfRootAndEnoughElseNone) {
  EXPECT_FALSE(Mentions(PlanEal(Line(), kTwoCpus, 7), "--no-huge"));
  EXPECT_EQ(PlanEal(Line(), kTwoCpus, 7).memory, "hugepages");
  for (const auto& [host, reason] :
       {std::pair{HostResources{{0, 1}, false, true, 1ull << 30}, "not root"},
        std::pair{HostResources{{0, 1}, true, false, 1ull << 30}, "hugetlbfs is not mounted"},
        std::pair{HostResources{{0, 1}, true, true, 2ull << 20}, "too few are free"}}) {
    const EalPlan plan = PlanEal(Line(), host, 7);
    EXPECT_TRUE(Has(plan, "--no-huge"));
    EXPECT_TRUE(plan.memory.starts_with(std::string("no hugepages (") + reason));
  }
}

TEST(EalPlan, AGivenDeviceMeansNoModel) {
  for (const CommandLine& line :
       {Line({"-a", "0000:81:00.0"}, true), Line({"--vdev=net_null0"}, true)}) {
    const EalPlan plan = PlanEal(line, kTwoCpus, 7);
    EXPECT_TRUE(plan.embedded.empty());
    EXPECT_FALSE(Mentions(plan, "--vdev=net_ipu"));
    EXPECT_FALSE(Mentions(plan, "--lcores"));
  }
}

TEST(EalPlan, WhatTheUserSaysStays) {
  const EalPlan plan =
      PlanEal(Line({"-l", "0-1", "-m", "64", "--no-huge", "--file-prefix=mine"}), kTwoCpus, 7);
  EXPECT_FALSE(Mentions(plan, "--lcores"));
  EXPECT_FALSE(Mentions(plan, "--huge-unlink"));
  EXPECT_EQ(std::ranges::count(plan.arguments, "-m"), 1);
  EXPECT_FALSE(Mentions(plan, "--file-prefix=sluice"));
  EXPECT_TRUE(Mentions(plan, "--vdev=net_ipu0"));
}

TEST(EalPlan, InstancesDoNotMeet) {
  const EalPlan plan = PlanEal(Line(), kTwoCpus, 7);
  EXPECT_TRUE(Has(plan, "--file-prefix=sluice-echo-7"));
  EXPECT_EQ(plan.file_prefix, "sluice-echo-7");
  for (const char* own : {"--file-prefix=mine", "--in-memory"}) {
    EXPECT_EQ(PlanEal(Line({own}), kTwoCpus, 7).file_prefix, "") << "not ours to remove";
  }
}

}  // namespace
}  // namespace sluice::runtime
