// SPDX-License-Identifier: BSD-3-Clause
//
// Tests hostile cable ends: each one is refused or disconnected, and an honest end can join
// afterwards.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cable_rig.h"
#include "emulator/cable_link.h"
#include "emulator/channel.h"

namespace sluice::emulator {
namespace {

using std::chrono::milliseconds;

base::OwnedFd MemoryFile(size_t bytes, int seals) {
  base::OwnedFd file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(file.fd(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(fcntl(file.fd(), F_ADD_SEALS, seals), 0);
  return file;
}

/// Connects like an honest end, but sends arbitrary messages.
struct HostileEnd {
  explicit HostileEnd(const CableEnds& ends) : channel(ConnectTo(ends.place.path())) {
    EXPECT_TRUE(channel);
  }
  void SendMessage(const CableMessage& message, int file, size_t bytes = sizeof(CableMessage)) {
    channel.Send(&message, bytes, file);
  }
  /// Returns 0 if this end has joined, 1 if it was refused, and -1 if it was disconnected or there
  /// is no answer yet.
  int ReadAnswer() {
    CableMessage answer;
    base::OwnedFd none;
    const auto bytes = channel.Receive(&answer, sizeof(answer), &none, milliseconds(0));
    return bytes == sizeof(answer) ? answer.refused : -1;
  }
  /// Joins like an honest end and maps its memory in `lanes`.
  void Join(CableEnds& ends, CableWire& wire) {
    SendMessage({}, memory.fd());
    EXPECT_TRUE(ends.Connect(wire));
    EXPECT_EQ(ReadAnswer(), 0);
    lanes = static_cast<CableMemory*>(
        mmap(nullptr, CableMemory::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd(), 0));
    ASSERT_NE(lanes, MAP_FAILED);
  }
  ~HostileEnd() {
    if (lanes != nullptr) munmap(lanes, CableMemory::kBytes);
  }

  Channel channel;
  base::OwnedFd memory = MemoryFile(CableMemory::kBytes, F_SEAL_SHRINK);
  CableMemory* lanes = nullptr;
};

/// Expects that the wire loses its peer within 3 s and that an honest end can join.
void ExpectJoinsAnHonestEnd(CableEnds& ends, CableWire& wire) {
  ends.Pass(wire, 3'000'000'000);
  EXPECT_FALSE(wire.LinkUp(ends.now_ns));
  const auto honest = ends.Open();
  ASSERT_TRUE(ends.Connect(wire, *honest));
  SendNumbered(*honest, 0, 10);
  EXPECT_EQ(ReceiveNumbered(wire, 0), 10u);
}

TEST(HostileCable, AGreetingCutOffAtEveryByteIsRefused) {
  CableEnds ends;
  const auto wire = ends.Open();
  for (size_t bytes = 1; bytes < sizeof(CableMessage); ++bytes) {
    HostileEnd hostile(ends);
    hostile.SendMessage({}, hostile.memory.fd(), bytes);
    ends.Pass(*wire, 2 * CableEnds::kStep_ns);
    ASSERT_EQ(hostile.ReadAnswer(), 1) << bytes;
    ASSERT_EQ(hostile.ReadAnswer(), -1) << bytes;
  }
  ExpectJoinsAnHonestEnd(ends, *wire);
}

TEST(HostileCable, AGreetingThatLiesIsRefused) {
  CableEnds ends;
  const auto wire = ends.Open();
  CableMessage magic, version;
  magic.magic ^= 1;
  ++version.version;
  const base::OwnedFd unsealed = MemoryFile(CableMemory::kBytes, 0),
                      small = MemoryFile(4096, F_SEAL_SHRINK);
  const base::OwnedFd null(open("/dev/null", O_RDWR | O_CLOEXEC)),
      folder(open("/", O_RDONLY | O_CLOEXEC));
  const base::OwnedFd good = MemoryFile(CableMemory::kBytes, F_SEAL_SHRINK);
  const std::vector<std::pair<CableMessage, int>> lies = {
      {magic, good.fd()}, {version, good.fd()}, {{}, -1},          {{}, unsealed.fd()},
      {{}, small.fd()},   {{}, null.fd()},      {{}, folder.fd()},
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    HostileEnd hostile(ends);
    hostile.SendMessage(lies[i].first, lies[i].second);
    ends.Pass(*wire, 2 * CableEnds::kStep_ns);
    EXPECT_EQ(hostile.ReadAnswer(), 1) << i;
    EXPECT_FALSE(wire->LinkUp(ends.now_ns)) << i;
  }
  EXPECT_EQ(Count(*wire, "cable_joins"), 0u);
  ExpectJoinsAnHonestEnd(ends, *wire);
}

TEST(HostileCable, WhoSaysNothingKeepsNobodyElseOutForLong) {
  CableEnds ends;
  const auto wire = ends.Open();
  const HostileEnd silent(ends), silent_too(ends);
  ends.Pass(*wire, 5'000'000'000);
  ExpectJoinsAnHonestEnd(ends, *wire);
}

TEST(HostileCable, WhatAJoinedEndDoesCostsItTheLinkAndNobodyElse) {
  const std::vector<std::pair<const char*, std::function<void(HostileEnd&, CableWire&)>>> deeds = {
      {"a position that cannot be",
       [](HostileEnd& hostile, CableWire& wire) {
         hostile.lanes->from_connecting.written.bytes = 63;
         EXPECT_TRUE(wire.Pull(0, 256).empty());
       }},
      {"a length that cannot be",
       [](HostileEnd& hostile, CableWire& wire) {
         hostile.lanes->from_connecting.records.fill(0xff);
         hostile.lanes->from_connecting.written.bytes = 4096;
         EXPECT_TRUE(wire.Pull(0, 256).empty());
       }},
      {"it accepted frames that were not sent",
       [](HostileEnd& hostile, CableWire& wire) {
         hostile.lanes->from_listening.consumed.bytes = 1 << 20;
         SendNumbered(wire, 0, CableLane::kBytes / CableLane::kLine + 1);
       }},
      {"all of it overwritten",
       [](HostileEnd& hostile, CableWire& wire) {
         std::memset(static_cast<void*>(hostile.lanes), 0x5a, CableMemory::kBytes);
         EXPECT_TRUE(wire.Pull(0, 256).empty());
       }},
      {"a word on the socket",
       [](HostileEnd& hostile, CableWire&) { hostile.SendMessage({}, -1); }},
      {"a file on the socket",
       [](HostileEnd& hostile, CableWire&) { hostile.SendMessage({}, hostile.memory.fd()); }},
      {"it hangs up", [](HostileEnd& hostile, CableWire&) { hostile.channel = Channel(); }},
      {"it shuts down one half",
       [](HostileEnd& hostile, CableWire&) { shutdown(hostile.channel.fd(), SHUT_WR); }},
  };
  for (const auto& [name, deed] : deeds) {
    SCOPED_TRACE(name);
    CableEnds ends;
    const auto wire = ends.Open();
    HostileEnd hostile(ends);
    hostile.Join(ends, *wire);
    deed(hostile, *wire);
    ExpectJoinsAnHonestEnd(ends, *wire);
    EXPECT_EQ(Count(*wire, "cable_joins"), 2u);
  }
}

TEST(HostileCable, MemoryThatIsTakenAwayReadsAsZeroes) {
  CableEnds ends;
  const auto wire = ends.Open();
  HostileEnd hostile(ends);
  hostile.Join(ends, *wire);
  EXPECT_NE(ftruncate(hostile.memory.fd(), 0), 0) << "sealed";
  SendNumbered(*wire, 0, 10);
  ASSERT_EQ(fallocate(hostile.memory.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                      CableMemory::kBytes),
            0);
  EXPECT_TRUE(wire->Pull(0, 256).empty());
  SendNumbered(*wire, 10, 10);
  hostile.channel = Channel();
  ExpectJoinsAnHonestEnd(ends, *wire);
}

TEST(HostileCable, WhoListensAndLiesIsNotJoined) {
  const std::vector<std::function<void(Channel&)>> answers = {
      [](Channel&) {},  // Disconnects.
      [](Channel& channel) { channel.Send("x", 1); },
      [](Channel& channel) {
        CableMessage message;
        message.magic = 0;
        channel.Send(&message, sizeof(message));
      },
      [](Channel& channel) {
        CableMessage refusal;
        refusal.refused = 1;
        std::memset(refusal.text, 'x', sizeof(refusal.text));  // The text lacks a terminating zero.
        channel.Send(&refusal, sizeof(refusal));
      },
      [](Channel& channel) {
        CableMessage refusal;
        refusal.refused = 1;
        refusal.text[0] = '\n';
        channel.Send(&refusal, sizeof(refusal));
      },
  };
  for (size_t i = 0; i < answers.size(); ++i) {
    CableEnds ends;
    std::string error;
    base::OwnedFd listener = Listen(ends.place.path(), &error);
    ASSERT_TRUE(listener) << error;
    auto wire = ends.Open();
    {
      Channel channel(base::OwnedFd(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC)));
      ASSERT_TRUE(channel);
      answers[i](channel);
    }
    ends.Pass(*wire, 2 * CableEnds::kStep_ns);
    EXPECT_EQ(Count(*wire, "cable_joins"), 0u) << i;
    listener = base::OwnedFd();
    ExpectJoinsAnHonestEnd(ends, *wire);
  }
}

}  // namespace
}  // namespace sluice::emulator
