// SPDX-License-Identifier: BSD-3-Clause
//
// Tests clients that violate the protocol. Each of them must be disconnected or receive an errno,
// and the next client must be served.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "emulator/ipu_model.h"
#include "hostile_client.h"
#include "regs/ipu.h"
#include "rig.h"
#include "slow_model.h"

namespace sluice::emulator::vfio_user::test {
namespace {

std::string HostilePath() { return TestSocket() + ".hostile"; }

/// Distance between tested values. It is not 1, because each value needs a session with a newly
/// powered-on device. It is coprime to the sizes of all fields.
constexpr size_t kStride = 13;

TEST(HostileClients, AreOutlivedWhereverTheirMessagesEnd) {
  HostileClient hostile(HostilePath());
  for (const Bytes& actions : HonestActions()) {
    for (size_t end = 0; end <= actions.size(); end += kStride) {
      ASSERT_EQ(hostile.RunActions(actions.data(), end, true), nullptr) << end;
    }
    EXPECT_EQ(hostile.RunActions(actions.data(), actions.size(), false), nullptr);
  }
}

TEST(HostileClients, AreOutlivedWhateverByteIsWrong) {
  HostileClient hostile(HostilePath());
  for (Bytes actions : HonestActions()) {
    for (size_t at = 0; at < actions.size(); at += kStride) {
      uint8_t& byte = actions[at];
      const uint8_t right = byte;
      byte = static_cast<uint8_t>(~right);
      ASSERT_EQ(hostile.RunActions(actions.data(), actions.size(), true), nullptr) << at;
      byte = right;
    }
  }
}

/// Tests streams of bytes after which the device must close the connection.
class Streams : public testing::Test {
 protected:
  bool Ends(const Bytes& stream, bool greets = true, const std::vector<int>& files = {}) {
    Client client(TestSocket());
    EXPECT_TRUE(!greets || client.Greet());
    client.Send(stream, files);
    return client.Ended();
  }

  Rig rig_{kIpuModel};
};

TEST_F(Streams, ThatAreNotTheProtocolEndTheConnection) {
  const RegionAccess beyond{0, 0, kMaxTransferBytes + 1};
  const uint64_t lying = 3;
  const struct {
    const char* what;
    Bytes stream;
    bool greets;
  } kRows[] = {
      {"garbage", Bytes(64, 0x5a), false},
      {"HTTP",
       Bytes{'G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P', '/', '1', '.', '1', '\r', '\n'},
       false},
      {"no greeting", MakeMessage(Command::kGetInfo, Join(DeviceInfo{16, 0, 0, 0})), false},
      {"another version", MakeMessage(Command::kVersion, Join(VersionMessage{1, 0})), false},
      {"no version", MakeMessage(Command::kVersion, {}), false},
      {"two greetings", MakeMessage(Command::kVersion, VersionPayload()), true},
      {"an answer", MakeMessage(Command::kDmaRead, {}, 5, kReplyType), true},
      {"size 0", Join(Header{1, 4, 0, 0, 0}), true},
      {"size of 4 GiB", Join(Header{1, 10, ~0u, 0, 0}), true},
      {"info cut off", MakeMessage(Command::kGetInfo, Bytes(15)), true},
      {"region info cut off", MakeMessage(Command::kGetRegionInfo, Bytes(31)), true},
      {"irq info cut off", MakeMessage(Command::kGetIrqInfo, Bytes(15)), true},
      {"irqs cut off", MakeMessage(Command::kSetIrqs, Bytes(19)), true},
      {"bools cut off",
       MakeMessage(Command::kSetIrqs,
                   Join(IrqSet{20, kIrqDataBool | kIrqActionTrigger, kMsixIrq, 0, 32})),
       true},
      {"map cut off", MakeMessage(Command::kDmaMap, Bytes(31)), true},
      {"unmap cut off", MakeMessage(Command::kDmaUnmap, Bytes(23)), true},
      {"read cut off", MakeMessage(Command::kRegionRead, Bytes(15)), true},
      {"a read of more than a message", MakeMessage(Command::kRegionRead, Join(beyond)), true},
      {"a read without an answer",
       MakeMessage(Command::kRegionRead, Join(RegionAccess{0, 7, 4}), 1, kNoReplyFlag), true},
      {"a write without data", MakeMessage(Command::kRegionWrite, Join(RegionAccess{0, 0, 4})),
       true},
      {"a write with more data",
       MakeMessage(Command::kRegionWrite, Join(RegionAccess{0, 0, 4}, uint64_t{0})), true},
      {"writes without data", MakeMessage(Command::kRegionWriteMulti, Bytes(7)), true},
      {"writes that are fewer",
       MakeMessage(Command::kRegionWriteMulti, Join(lying, SingleWrite{0, 0, 4, 0})), true},
      {"writes beyond count",
       MakeMessage(Command::kRegionWriteMulti, Join(uint64_t{1} << 61, SingleWrite{0, 0, 4, 0})),
       true},
      {"a write of 9 bytes",
       MakeMessage(Command::kRegionWriteMulti, Join(uint64_t{1}, SingleWrite{0, 0, 9, 0})), true},
  };
  for (const auto& [what, stream, greets] : kRows) {
    EXPECT_TRUE(Ends(stream, greets)) << what;
  }
  rig_.ExpectServes();
}

TEST_F(Streams, WithFilesThatNobodyAskedForEndTheConnection) {
  const base::OwnedFd event(eventfd(0, EFD_CLOEXEC));
  const Bytes map = MakeMessage(Command::kDmaMap, Join(DmaMap{32, 3, 0, 4096, 4096}));
  EXPECT_TRUE(Ends(map, true, {event.fd(), event.fd()})) << "two files";
  EXPECT_TRUE(Ends(map, true, std::vector<int>(9, event.fd())));
  EXPECT_TRUE(Ends(map, true, std::vector<int>(40, event.fd())));
  const Bytes irqs = MakeMessage(
      Command::kSetIrqs, Join(IrqSet{20, kIrqDataEventfd | kIrqActionTrigger, kMsixIrq, 0, 3}));
  EXPECT_TRUE(Ends(irqs, true, {event.fd(), event.fd()})) << "fewer files than interrupts";
  const Bytes info = MakeMessage(Command::kGetInfo, Join(DeviceInfo{16, 0, 0, 0}));
  EXPECT_TRUE(Ends(info, true, {event.fd()}));
  const Bytes greeting = MakeMessage(Command::kVersion, VersionPayload());
  EXPECT_TRUE(Ends(greeting, false, {event.fd()}));
  rig_.ExpectServes();
}

TEST_F(Streams, ThatAskForWhatThereIsNotAreRefused) {
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  const SharedMemory memory(8192);
  const struct {
    Command command;
    Bytes payload;
    int error;
  } kRows[] = {
      {Command::kRegionRead, Join(RegionAccess{0, 1, 4}), EINVAL},
      {Command::kRegionRead, Join(RegionAccess{0, 9, 4}), EINVAL},
      {Command::kRegionRead, Join(RegionAccess{0, ~0u, 0}), EINVAL},
      {Command::kRegionRead, Join(RegionAccess{4093, 7, 4}), EINVAL},
      {Command::kRegionRead, Join(RegionAccess{4096, 7, 0}), EINVAL},
      {Command::kRegionRead, Join(RegionAccess{~uint64_t{0} - 1, 0, 4}), EINVAL},
      {Command::kRegionRead, Join(RegionAccess{0, 0, 4097}), EINVAL},
      {Command::kRegionWrite, Join(RegionAccess{131'072, 0, 4}, uint32_t{1}), EINVAL},
      {Command::kRegionWriteMulti, Join(uint64_t{1}, SingleWrite{131'070, 0, 4, 1}), EINVAL},
      {Command::kDmaMap, Join(DmaMap{32, 3, 0, 4096, 16384}), EINVAL},
      {Command::kDmaMap, Join(DmaMap{32, 3, 0, ~uint64_t{0xfff}, 8192}), EINVAL},
      {Command::kDmaMap, Join(DmaMap{32, 3, 8192, 4096, 4096}), EINVAL},
      {Command::kDmaUnmap, Join(DmaUnmap{24, 0, 1, 4096}), EINVAL},
      {Command::kGetRegionIoFds, Bytes(16), ENOTSUP},
      {static_cast<Command>(14), Bytes(16), ENOTSUP},
      {static_cast<Command>(999), Bytes(16), ENOTSUP},
  };
  for (const auto& [command, payload, error] : kRows) {
    const std::vector<int> files =
        command == Command::kDmaMap ? std::vector<int>{memory.fd()} : std::vector<int>{};
    EXPECT_EQ(client.Refusal(command, payload, files), error)
        << static_cast<int>(command) << ' ' << payload.size();
  }
  EXPECT_EQ(client.Read(kConfigRegion, 0, 4), 0x10f0'1af4u) << "it is still served";
}

TEST_F(Streams, ThatStallEndNoOtherConnection) {
  Client silent(TestSocket());
  Client honest(TestSocket());
  EXPECT_TRUE(honest.Greet()) << "waits until the other has waited long enough";
  EXPECT_TRUE(silent.Ended());
  honest.Disconnect();
  rig_.ExpectServes();
}

TEST(Newcomers, ForWhomThereIsNoDescriptorWaitAndCostNothing) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  PlainModel model(kIpuModel);
  const SettingValues settings{};
  std::string error;
  const auto server = BusServer::Create(HostilePath(), kIpuModel, settings, model, &error);
  ASSERT_NE(server, nullptr) << error;
  Client client(HostilePath());
  ASSERT_TRUE(client.Send(MakeMessage(Command::kVersion, VersionPayload())));
  // The limit is sufficient for poll, but all descriptors below it are in use.
  constexpr rlim_t kDescriptors = 64;
  std::vector<base::OwnedFd> taken;
  do {
    taken.emplace_back(dup(client.fd()));
  } while (taken.back().fd() + 1 < static_cast<int>(kDescriptors));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {kDescriptors, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  int turns = 0;
  for (const auto end = steady_clock::now() + 3 * Listener::kRest; steady_clock::now() < end;) {
    server->Turn(-1, milliseconds(1000));
    ++turns;
  }
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(turns, 20);
  EXPECT_EQ(server->Attached(), "");
  taken.clear();
  EXPECT_TRUE(Eventually([&] {
    server->Turn(-1, milliseconds(10));
    return !server->Attached().empty();
  }));
}

TEST_F(Streams, WhoseAnswersNobodyReadsEnd) {
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  const Bytes read = MakeMessage(Command::kRegionRead, Join(RegionAccess{0, 7, 4096}));
  pollfd room = {client.fd(), POLLOUT, 0};
  for (int i = 0; i < 100'000 && poll(&room, 1, 100) == 1; ++i) {
    if (!client.Send(read)) break;
  }
  EXPECT_TRUE(Eventually([&] {
    Client next(TestSocket());
    return next.Greet();
  }));
}

// A server that did not run for a while must not disconnect the client because of that delay.
TEST(LateServers, LookWhetherTheClientReadsBeforeTheyEndIt) {
  using std::chrono::milliseconds;
  PlainModel model(kIpuModel);
  const SettingValues settings{};
  std::string error;
  const auto server = BusServer::Create(HostilePath(), kIpuModel, settings, model, &error);
  ASSERT_NE(server, nullptr) << error;
  const auto turn = [&] { server->Turn(-1, milliseconds(10)); };
  Client client(HostilePath());
  ASSERT_TRUE(client.Send(MakeMessage(Command::kVersion, VersionPayload())));
  ASSERT_TRUE(Eventually([&] {
    turn();
    return !server->Attached().empty();
  }));
  // Requests answers of 4 KiB until some of them cannot be sent.
  const Bytes read = MakeMessage(Command::kRegionRead, Join(RegionAccess{0, 7, 4096}));
  pollfd room = {client.fd(), POLLOUT, 0};
  for (int quiet = 0; quiet < 20;) {
    if (poll(&room, 1, 0) == 1 && client.Send(read)) quiet = 0;
    turn();
    ++quiet;
  }
  std::this_thread::sleep_for(kMessagePatience + milliseconds(100));
  Bytes answers(1 << 20);
  EXPECT_GT(recv(client.fd(), answers.data(), answers.size(), MSG_DONTWAIT), 0);
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_NE(server->Attached(), "");
}

TEST(SlowReads, AreLeftWhenTheTurnIsOverAndWhenTheClientIsGone) {
  using std::chrono::milliseconds;
  SlowModel model;
  const SettingValues settings{};
  std::string error;
  const auto server = BusServer::Create(HostilePath(), kIpuModel, settings, model, &error);
  ASSERT_NE(server, nullptr) << error;
  Client client(HostilePath());
  Bytes stream = MakeMessage(Command::kVersion, VersionPayload());
  const auto add = [&stream](const Bytes& message) {
    stream.insert(stream.end(), message.begin(), message.end());
  };
  // The stream enables memory decoding, requests 100 reads of 8 registers, and ends with a posted
  // write.
  add(MakeMessage(Command::kRegionWrite, Join(RegionAccess{4, kConfigRegion, 2}, uint16_t{2})));
  for (int i = 0; i < 100; ++i) {
    add(MakeMessage(Command::kRegionRead, Join(RegionAccess{0, 0, 64})));
  }
  add(MakeMessage(Command::kRegionWrite, Join(RegionAccess{0x20, 0, 4}, uint32_t{1}), 1,
                  kNoReplyFlag));
  ASSERT_TRUE(client.Send(stream));
  for (int turn = 0; turn < 100 && model.reads() == 0; ++turn) {
    server->Turn(-1, milliseconds(1000));
  }
  // A register access takes at least a millisecond, and a turn lasts 50 ms. The current read is
  // always completed.
  EXPECT_GE(model.reads(), 8u);
  EXPECT_LE(model.reads(), 50u + 2 * 8);
  const uint64_t reads = model.reads();
  EXPECT_EQ(model.writes(), 0u);
  client.Disconnect();
  for (int turn = 0; turn < 10 && !server->Attached().empty(); ++turn) {
    server->Turn(-1, milliseconds(1000));
  }
  EXPECT_EQ(server->Attached(), "");
  EXPECT_EQ(model.reads(), reads) << "nobody gets the answers";
  EXPECT_EQ(model.writes(), 1u) << "the last store counts";
}

TEST_F(Streams, ThatTakeAwayMemoryInUseEnd) {
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(0x10000, memory.bytes(), memory.fd()));
  client.Enable();
  const uint32_t block = regs::ipu::QueuePage(0) + regs::ipu::kTxBlock;
  client.Write(0, block + regs::ipu::kRingBase, 8, 0x10000);
  client.Write(0, block + regs::ipu::kRingEntries, 4, 64);
  client.Write(0, block + regs::ipu::kRingControl, 4, 1);
  ASSERT_EQ(client.Read(0, block + regs::ipu::kRingStatus, 4), 1u);
  ASSERT_EQ(ftruncate(memory.fd(), 0), 0);
  client.Send(MakeMessage(Command::kRegionWrite,
                          Join(RegionAccess{block + regs::ipu::kRingTail, 0, 4}, uint32_t{8})));
  EXPECT_TRUE(client.Ended());
  rig_.ExpectServes();
}

}  // namespace
}  // namespace sluice::emulator::vfio_user::test
