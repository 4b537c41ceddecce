// SPDX-License-Identifier: BSD-3-Clause
//
// Tests two ends of a cable, and frames that are sent while the ends join, leave and return.
#include "emulator/cable.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "cable_rig.h"
#include "rig.h"

namespace sluice::emulator {
namespace {

TEST(Cable, CarriesFramesBothWays) {
  CableEnds ends;
  const auto a = ends.Open(), b = ends.Open();
  ASSERT_TRUE(ends.Connect(*a, *b));
  SendNumbered(*a, 0, 100);
  SendNumbered(*b, 1000, 50, 1514);
  EXPECT_EQ(ReceiveNumbered(*b, 0), 100u);
  EXPECT_EQ(ReceiveNumbered(*a, 1000), 50u);
  EXPECT_EQ(a->totals().offered, 50u);
  EXPECT_EQ(b->totals().offered, 100u);
  for (CableWire* wire : {a.get(), b.get()}) {
    EXPECT_EQ(Count(*wire, "cable_joins"), 1u);
    for (const char* drop : {"cable_full", "cable_down", "cable_cut_tx", "cable_cut_rx"}) {
      EXPECT_EQ(Count(*wire, drop), 0u) << drop;
    }
  }
}

TEST(Cable, WithoutAnotherEndThereIsNoCarrierAndFramesAreDropped) {
  CableEnds ends;
  const auto alone = ends.Open();
  ends.Pass(*alone, 1'000'000'000);
  EXPECT_FALSE(alone->LinkUp(ends.now_ns));
  EXPECT_TRUE(alone->Ready()) << "it does not wait";
  SendNumbered(*alone, 0, 7);
  EXPECT_TRUE(alone->Pull(0, 256).empty());
  EXPECT_EQ(Count(*alone, "cable_down"), 7u);
}

TEST(Cable, AThirdEndIsRefusedInOneLine) {
  CableEnds ends;
  const auto a = ends.Open(), b = ends.Open();
  ASSERT_TRUE(ends.Connect(*a, *b));
  MacAddress mac = {};
  std::string error;
  EXPECT_EQ(ends.OpenPatiently(&mac, &error, *a), nullptr);
  const std::string pid = std::to_string(getpid());
  EXPECT_NE(error.find("connects processes " + pid + " and " + pid), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
  SendNumbered(*a, 0, 3);
  EXPECT_EQ(ReceiveNumbered(*b, 0), 3u);
}

TEST(Cable, EitherEndMayComeBack) {
  for (const bool first_leaves : {true, false}) {
    CableEnds ends;
    auto leaves = ends.Open(), stays = ends.Open();
    if (!first_leaves) std::swap(leaves, stays);
    for (uint32_t time = 1; time <= 5; ++time) {
      ASSERT_TRUE(ends.Connect(*leaves, *stays)) << time;
      EXPECT_EQ(Count(*stays, "cable_joins"), time);
      SendNumbered(*stays, time, 20);
      EXPECT_EQ(ReceiveNumbered(*leaves, time), 20u);
      SendNumbered(*leaves, time, 20);
      EXPECT_EQ(ReceiveNumbered(*stays, time), 20u);
      leaves.reset();
      ends.Pass(*stays, 2 * CableEnds::kStep_ns);
      EXPECT_FALSE(stays->LinkUp(ends.now_ns));
      leaves = ends.Open();
    }
    EXPECT_EQ(Count(*stays, "cable_cut_tx") + Count(*stays, "cable_cut_rx"), 0u);
  }
}

TEST(Cable, FramesThatTheOtherEndDidNotTakeAreCountedWhenItGoes) {
  CableEnds ends;
  const auto a = ends.Open();
  auto b = ends.Open();
  ASSERT_TRUE(ends.Connect(*a, *b));
  SendNumbered(*a, 0, 10);
  EXPECT_EQ(b->Pull(0, 4).size(), 4u);  // The other end owns all ten frames now.
  SendNumbered(*a, 10, 5);
  b.reset();
  ends.Pass(*a, 2 * CableEnds::kStep_ns);
  SendNumbered(*a, 15, 1);
  EXPECT_EQ(Count(*a, "cable_cut_tx"), 5u);
  EXPECT_EQ(Count(*a, "cable_down"), 1u);
}

TEST(Cable, FramesThatWaitForRoomAreCountedWhenTheOtherEndGoes) {
  CableEnds ends;
  const auto a = ends.Open();
  auto b = ends.Open();
  ASSERT_TRUE(ends.Connect(*a, *b));
  const uint32_t sent = CableLane::kBytes / CableLane::kLine + 100;
  SendNumbered(*a, 0, sent);
  EXPECT_FALSE(a->Ready());
  b.reset();
  ends.Pass(*a, 2 * CableEnds::kStep_ns);
  EXPECT_EQ(Count(*a, "cable_cut_tx"), sent);
  EXPECT_TRUE(a->Ready());
}

TEST(Cable, WhatAVanishedEndHadSentStillArrivesForAWhile) {
  for (const bool late : {false, true}) {
    CableEnds ends;
    const auto a = ends.Open();
    auto b = ends.Open();
    ASSERT_TRUE(ends.Connect(*a, *b));
    SendNumbered(*b, 0, 10);
    b.reset();
    ends.Pass(*a, late ? 200'000'000 : 2 * CableEnds::kStep_ns);
    EXPECT_FALSE(a->LinkUp(ends.now_ns));
    EXPECT_EQ(ReceiveNumbered(*a, 0), late ? 0u : 10u);
    ends.Pass(*a, 200'000'000);
    EXPECT_EQ(Count(*a, "cable_cut_rx"), late ? 10u : 0u);
    b = ends.Open();
    EXPECT_TRUE(ends.Connect(*a, *b));
  }
}

TEST(Cable, ADeadProcesssSocketIsTakenOver) {
  CableEnds ends;
  const int dead = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ends.place.path().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(dead);
  const auto a = ends.Open(), b = ends.Open();
  EXPECT_TRUE(ends.Connect(*a, *b));
}

TEST(Cable, AnEndWhoseSocketWasTakenOverFindsTheOneWhoTookIt) {
  CableEnds ends;
  const auto a = ends.Open();
  unlink(ends.place.path().c_str());
  const auto b = ends.Open();
  EXPECT_TRUE(ends.Connect(*a, *b)) << "both listened";
}

TEST(Cable, TheSocketGoesWithTheLastEnd) {
  CableEnds ends;
  struct stat there {};
  {
    auto a = ends.Open(), b = ends.Open();
    ASSERT_TRUE(ends.Connect(*a, *b));
    a.reset();
    ends.Pass(*b, 3 * CableEnds::kStep_ns);
    EXPECT_EQ(lstat(ends.place.path().c_str(), &there), 0) << "the survivor listens";
  }
  EXPECT_NE(lstat(ends.place.path().c_str(), &there), 0);
}

TEST(Cable, ModelsOfOneNameGetDifferentAddresses) {
  CableEnds ends;
  const MacAddress same = {2, 0, 0, 0, 0, 6};
  const auto a = ends.Open(nullptr, same);
  EXPECT_EQ(ends.mac, same);
  MacAddress mac = same;
  std::string error;
  const auto b = ends.OpenPatiently(&mac, &error, *a);
  ASSERT_NE(b, nullptr) << error;
  EXPECT_NE(mac, same);
  EXPECT_EQ(mac[0], 2) << "unicast, locally administered";
}

TEST(Cable, WithPauseTheDeviceWaitsAndWithoutItFramesAreDropped) {
  constexpr uint32_t kFrames = 20'000;
  for (const bool pause : {true, false}) {
    CableEnds ends;
    auto owned = ends.Open();
    CableWire& a = *owned;
    const auto b = ends.Open();
    ASSERT_TRUE(ends.Connect(a, *b));
    Rig rig(std::move(owned), pause);
    for (uint32_t i = 0; i < kFrames; ++i) rig.device.held.push_back(NumberedFrame(i, 60));
    rig.Run(200);
    EXPECT_EQ(rig.device.held.empty(), !pause);
    const uint32_t passed = ReceiveNumbered(*b, 0);
    EXPECT_EQ(passed, CableLane::kBytes / CableLane::kLine);
    uint32_t all = passed;
    for (int i = 0; i < 1000; ++i) {
      rig.Run(1);
      all += ReceiveNumbered(*b, all);
    }
    EXPECT_TRUE(rig.device.held.empty());
    EXPECT_EQ(all + rig["wire_cable_full"], kFrames);
    EXPECT_EQ(rig["wire_cable_full"] == 0, pause);
  }
}

TEST(Cable, NamesLeadToThisUsersRuntimeFolderAndPathsToThemselves) {
  std::string error;
  TemporarySocketPath folder;
  const std::string own = folder.path().substr(0, folder.path().rfind('/'));
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string saved = before != nullptr ? before : "";
  setenv("XDG_RUNTIME_DIR", own.c_str(), 1);
  EXPECT_EQ(CablePath("lab-1.a_B", &error), own + "/sluice-cable-lab-1.a_B.sock");
  EXPECT_EQ(CablePath("./here", &error), "./here");
  EXPECT_EQ(CablePath("/some/where", &error), "/some/where");
  for (const std::string& bad : {std::string(), std::string("a b"), std::string("ä"),
                                 std::string("a+b"), std::string(49, 'a'), std::string("a\n")}) {
    error.clear();
    EXPECT_FALSE(CablePath(bad, &error)) << bad;
    EXPECT_NE(error.find("letters"), std::string::npos) << error;
  }
  before != nullptr ? setenv("XDG_RUNTIME_DIR", saved.c_str(), 1) : unsetenv("XDG_RUNTIME_DIR");
}

TEST(Cable, PathsWhereNoSocketCanBeAreRefusedInOneLine) {
  for (const std::string& path :
       {std::string("/does/not/exist"), "/" + std::string(200, 'a'), std::string("/dev/null")}) {
    MacAddress mac = {};
    std::string error;
    EXPECT_EQ(CableWire::Create(path, "net_test0", &mac, &error), nullptr) << path;
    EXPECT_EQ(error.find("wire=cable:" + path + ": "), 0u) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace sluice::emulator
