// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::emulator {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

std::optional<Arguments> Parse(const Given& given, std::string* error = nullptr) {
  std::string ignored;
  return ParseArguments(given, error != nullptr ? error : &ignored);
}

TEST(Arguments, WithoutAnyTheWireIsALoopbackThatPauses) {
  const auto arguments = Parse({});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->wire, Arguments::WireKind::kLoopback);
  EXPECT_TRUE(arguments->pause);
  EXPECT_FALSE(arguments->device_cpu);
  EXPECT_FALSE(arguments->faults.Any());
}

TEST(Arguments, ReadsEveryGeneratorOption) {
  const auto arguments = Parse({{"wire",
                                 "gen:size=64/128/1518+flows=17+rate=14.88M+count=5000000000"
                                 "+order=random+proto=udp+seed=9"}});
  ASSERT_TRUE(arguments);
  const GeneratorOptions& gen = arguments->generator;
  EXPECT_EQ(arguments->wire, Arguments::WireKind::kGenerator);
  EXPECT_EQ(gen.list, (std::vector<uint32_t>{64, 128, 1518}));
  EXPECT_EQ(gen.flows, 17u);
  EXPECT_DOUBLE_EQ(gen.rate_pps, 14.88e6);
  EXPECT_EQ(gen.count, 5'000'000'000u);
  EXPECT_TRUE(gen.random_order);
  EXPECT_FALSE(gen.tcp);
  EXPECT_EQ(gen.seed, 9u);
}

TEST(Arguments, MixedSizesComeInRandomOrderUnlessAskedOtherwise) {
  EXPECT_FALSE(Parse({{"wire", "gen:size=64/128"}})->generator.random_order);
  EXPECT_TRUE(Parse({{"wire", "gen:size=imix"}})->generator.random_order);
  EXPECT_TRUE(Parse({{"wire", "gen:size=random"}})->generator.random_order);
  EXPECT_FALSE(Parse({{"wire", "gen:size=imix+order=rotate"}})->generator.random_order);
}

TEST(Arguments, ARateTurnsPauseOffAndFullVerificationOn) {
  EXPECT_TRUE(Parse({{"wire", "gen"}})->pause);
  EXPECT_EQ(Parse({{"wire", "gen"}})->verify, VerifyMode::kSampled);
  EXPECT_FALSE(Parse({{"wire", "gen:rate=1k"}})->pause);
  EXPECT_EQ(Parse({{"wire", "gen:rate=1k"}})->verify, VerifyMode::kFull);
  EXPECT_EQ(Parse({{"wire", "gen:count=1"}})->verify, VerifyMode::kFull);
  EXPECT_EQ(Parse({{"wire", "pcap:a+loop=2"}})->verify, VerifyMode::kFull);
  EXPECT_EQ(Parse({{"wire", "gen"}, {"faults", "corrupt:0.5"}})->verify, VerifyMode::kFull);
  const auto forced = Parse({{"verify", "off"}, {"pause", "on"}, {"wire", "gen:rate=1k"}});
  EXPECT_TRUE(forced->pause);
  EXPECT_EQ(forced->verify, VerifyMode::kOff);
}

TEST(Arguments, TheSeedIsThatOfGeneratorAndFaultsUnlessTheGeneratorHasItsOwn) {
  const auto common = Parse({{"wire", "gen"}, {"seed", "42"}});
  EXPECT_EQ(common->generator.seed, 42u);
  EXPECT_EQ(common->faults.seed, 42u);
  const auto own = Parse({{"wire", "gen:seed=7"}, {"seed", "42"}});
  EXPECT_EQ(own->generator.seed, 7u);
  EXPECT_EQ(own->faults.seed, 42u);
}

TEST(Arguments, ReadsCapturesWhoseNamesHoldAPlus) {
  const auto arguments = Parse({{"wire", "pcap:/data/a+b.pcap+rate=2k+loop=3"}});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->replay.file, "/data/a+b.pcap");
  EXPECT_DOUBLE_EQ(arguments->replay.rate_pps, 2000);
  EXPECT_EQ(arguments->replay.loop, 3u);
}

TEST(Arguments, ReadsWhatExecutesTheModel) {
  EXPECT_EQ(Parse({})->on.kind, OnOptions::Kind::kCpu);
  EXPECT_EQ(Parse({{"on", "cpu"}})->on.kind, OnOptions::Kind::kCpu);
  const auto gpu =
      Parse({{"wire", "gen"}, {"on", "gpu:index=3+receivers=2+senders=5+exchangers=4+batch=512"}});
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->on.kind, OnOptions::Kind::kGpu);
  EXPECT_EQ(gpu->on.index, 3u);
  EXPECT_EQ(gpu->on.roles.receivers, 2u);
  EXPECT_EQ(gpu->on.roles.senders, 5u);
  EXPECT_EQ(gpu->on.roles.exchangers, 4u);
  EXPECT_EQ(gpu->on.batch, 512u);
  const auto threads = Parse({{"wire", "gen"}, {"on", "threads:threads=4"}});
  ASSERT_TRUE(threads);
  EXPECT_EQ(threads->on.kind, OnOptions::Kind::kThreads);
  EXPECT_EQ(threads->on.threads, 4u);
  EXPECT_EQ(threads->on.roles.receivers, 1u);
  EXPECT_EQ(threads->on.roles.exchangers, 1u);
}

TEST(Arguments, ReadsPortsFaultsAndCpus) {
  const auto arguments =
      Parse({{"wire", "port:net_tap0"},
             {"device_cpu", "3"},
             {"faults",
              "drop:0.01+dup:0.02+reorder:0.03+corrupt:1+delay:50us+linkdown:1s/100ms+"
              "police:2.5M/32"}});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->port, "net_tap0");
  EXPECT_EQ(arguments->device_cpu, 3u);
  const FaultOptions& faults = arguments->faults;
  EXPECT_DOUBLE_EQ(faults.drop, 0.01);
  EXPECT_DOUBLE_EQ(faults.duplicate, 0.02);
  EXPECT_DOUBLE_EQ(faults.reorder, 0.03);
  EXPECT_DOUBLE_EQ(faults.corrupt, 1);
  EXPECT_EQ(faults.delay_ns, 50'000u);
  EXPECT_EQ(faults.down_period_ns, 1'000'000'000u);
  EXPECT_EQ(faults.down_length_ns, 100'000'000u);
  EXPECT_DOUBLE_EQ(faults.police_pps, 2.5e6);
  EXPECT_EQ(faults.police_frames, 32u);
}

TEST(Arguments, TheModelRunsOnACpuOfItsOwnOrOnWorkers) {
  EXPECT_FALSE(Parse({{"device_cpu", "3"}})->on_workers);
  const auto workers = Parse({{"device_cpu", "worker"}});
  ASSERT_TRUE(workers);
  EXPECT_TRUE(workers->on_workers);
  EXPECT_FALSE(workers->device_cpu);
  std::string error;
  EXPECT_FALSE(Parse({{"device_cpu", "workers"}}, &error));
  EXPECT_NE(error.find("worker"), std::string::npos) << error;
}

TEST(Arguments, ReadsTheNameOfACable) {
  const auto arguments = Parse({{"wire", "cable:lab"}});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->wire, Arguments::WireKind::kCable);
  EXPECT_EQ(arguments->cable, "lab");
  EXPECT_TRUE(arguments->pause);
  std::string error;
  EXPECT_FALSE(Parse({{"wire", "cable:"}}, &error));
  EXPECT_NE(error.find("wire=cable:"), std::string::npos) << error;
}

TEST(Arguments, ReadsLibrariesWhoseNamesHoldAPlus) {
  const auto arguments = Parse({{"wire", "library:/opt/c++/wire.so+a=1+b"}, {"seed", "7"}});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->library.file, "/opt/c++/wire.so");
  EXPECT_EQ(arguments->library.options, "a=1+b");
  EXPECT_EQ(arguments->library.seed, 7u);
  EXPECT_EQ(Parse({{"wire", "library:wire.so"}})->library.options, "");
}

TEST(LibraryWire, WhatIsNoLibraryOfOursIsNamed) {
  std::string error;
  EXPECT_EQ(LoadWire({.file = "/nowhere/wire.so"}, &error), nullptr);
  EXPECT_NE(error.find("/nowhere/wire.so"), std::string::npos) << error;
  // This library exists on every system but does not define a wire.
  EXPECT_EQ(LoadWire({.file = "libc.so.6"}, &error), nullptr);
  EXPECT_NE(error.find("sluice_create_wire"), std::string::npos) << error;
}

TEST(Arguments, RefusesNonsenseInOneLineThatNamesTheArgument) {
  const struct {
    Given given;
    const char* named;
  } cases[] = {
      {{{"wire", ""}}, "wire="},
      {{{"wire", "carrier-pigeon"}}, "wire=carrier-pigeon"},
      {{{"wire", "loopback:fast"}}, "wire="},
      {{{"wire", "gen:size=63"}}, "size=63"},
      {{{"wire", "gen:size=9019"}}, "size=9019"},
      {{{"wire", "gen:size=64/"}}, "size=64/"},
      {{{"wire", "gen:size=-64"}}, "size=-64"},
      {{{"wire", "gen:size=64x"}}, "size=64x"},
      {{{"wire", "gen:size=99999999999999999999"}}, "size="},
      {{{"wire", "gen:flows=0"}}, "flows=0"},
      {{{"wire", "gen:flows=1048577"}}, "flows="},
      {{{"wire", "gen:rate=0"}}, "rate=0"},
      {{{"wire", "gen:rate=-1"}}, "rate=-1"},
      {{{"wire", "gen:rate=nan"}}, "rate=nan"},
      {{{"wire", "gen:rate=inf"}}, "rate=inf"},
      {{{"wire", "gen:rate=1T"}}, "rate=1T"},
      {{{"wire", "gen:rate="}}, "rate="},
      {{{"wire", "gen:count=0"}}, "count=0"},
      {{{"wire", "gen:order=up"}}, "order=up"},
      {{{"wire", "gen:proto=sctp"}}, "proto=sctp"},
      {{{"wire", "gen:proto=tcp+size=64"}}, "size=64"},
      {{{"wire", "gen:colour=red"}}, "colour=red"},
      {{{"wire", "gen:size=64++"}}, "wire=gen: "},
      {{{"wire", "pcap:"}}, "pcap:"},
      {{{"wire", "pcap:a+rate=0"}}, "rate=0"},
      {{{"wire", "port:"}}, "port:"},
      {{{"wire", "library:"}}, "wire=library="},
      {{{"wire", "library:wire.dll"}}, "wire.dll"},
      {{{"faults", ""}}, "faults="},
      {{{"faults", "drop:1.1"}}, "drop:1.1"},
      {{{"faults", "drop:"}}, "drop:"},
      {{{"faults", "fire:1"}}, "fire:1"},
      {{{"faults", "delay:50"}}, "delay:50"},
      {{{"faults", "delay:2h"}}, "delay:2h"},
      {{{"faults", "linkdown:1s"}}, "linkdown:1s"},
      {{{"faults", "linkdown:1s/1s"}}, "linkdown:1s/1s"},
      {{{"faults", "police:fast"}}, "police:fast"},
      {{{"faults", "police:1M/0"}}, "police:1M/0"},
      {{{"verify", "maybe"}}, "verify=maybe"},
      {{{"pause", "1"}}, "pause=1"},
      {{{"seed", "abc"}}, "seed=abc"},
      {{{"on", ""}}, "on="},
      {{{"on", "card"}}, "on=card: use"},
      {{{"on", "cpu:index=1"}}, "on=cpu:index=1: use"},
      {{{"on", "gpu:threads=2"}}, "on=gpu:threads=2: threads=2"},
      {{{"on", "threads:index=0"}}, "on=threads:index=0: index=0"},
      {{{"on", "threads:batch=2049"}}, "batch=2049"},
      {{{"on", "gpu:senders=0"}}, "senders=0"},
      {{{"on", "gpu"}, {"wire", "cable:a"}}, "wire: "},
      {{{"on", "gpu"}, {"wire", "port:a"}}, "wire: "},
      {{{"on", "gpu"}, {"wire", "gen"}, {"faults", "drop:0.1"}}, "faults: "},
      {{{"on", "threads"}, {"wire", "gen"}, {"device_cpu", "worker"}}, "device_cpu: "},
      {{{"device_cpu", "1024"}}, "device_cpu=1024"},
      {{{"device_cpu", "-1"}}, "device_cpu=-1"},
      {{{"speed", "9"}}, "speed=9"},
      {{{"seed", "1"}, {"seed", "2"}}, "seed=2"},
  };
  for (const auto& c : cases) {
    std::string error;
    EXPECT_FALSE(Parse(c.given, &error)) << c.given[0].second;
    EXPECT_NE(error.find(c.named), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace sluice::emulator
