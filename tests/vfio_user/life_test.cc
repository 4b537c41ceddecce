// SPDX-License-Identifier: BSD-3-Clause
//
// Tests bus mastering, resets, reboots, and successive clients. Each session must start in the
// power-on state.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "emulator/enso_model.h"
#include "emulator/ipu_model.h"
#include "emulator/vfio_user/config_space.h"
#include "guests.h"
#include "rig.h"
#include "traffic.h"

namespace sluice::emulator::vfio_user::test {
namespace {

TEST(BusFunction, WithoutBusMasteringItTouchesNothing) {
  Rig rig(kIpuModel, Replay("0"));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
  client.Enable();
  IpuGuest guest(client, memory);
  guest.Start();
  ASSERT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > 100; }));
  client.Enable(false);
  const Bytes before(memory.At(0), memory.At(0) + memory.bytes());
  const uint64_t returned = rig["wire_returned"];
  for (int i = 0; i < 100; ++i) guest.Load(regs::ipu::kDeviceId);
  EXPECT_EQ(std::memcmp(before.data(), memory.At(0), before.size()), 0);
  EXPECT_EQ(rig["wire_returned"], returned);
  client.Enable();
  EXPECT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > returned + 100; }));
  EXPECT_EQ(rig["wire_corrupted"], 0u);
  EXPECT_EQ(rig["wire_lost"], 0u);
}

TEST(BusFunction, WithoutBusMasteringStoresOfHeadsTouchNothing) {
  using namespace regs::enso;  // NOLINT: most lines use these names
  Rig rig(kEnsoModel, Replay("0"), EnsoSettings(EnsoGuest::kPipeFlits, EnsoGuest::kSlots, false));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
  client.Enable();
  EnsoGuest guest(client, memory);
  guest.Start();
  ASSERT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > 100; }));
  client.Enable(false);
  // The buffer has space for a notification, and the pipe has an event to report.
  guest.Store(NbPage(0) + kRxHead, guest.Load(NbPage(0) + kRxTail));
  const uint32_t head = guest.Load(PipePage(0) + kRxTail) ^ 1;
  const Bytes before(memory.At(0), memory.At(0) + memory.bytes());
  const uint64_t notified = rig["model_rx_notifications"];
  guest.Store(PipePage(0) + kRxHead, head);
  EXPECT_EQ(guest.Load(PipePage(0) + kRxHead), head);
  EXPECT_EQ(std::memcmp(before.data(), memory.At(0), before.size()), 0);
  EXPECT_EQ(rig["model_rx_notifications"], notified);
  client.Enable();
  guest.Store(PipePage(0) + kRxHead, head);
  EXPECT_TRUE(Eventually([&] { return rig["model_rx_notifications"] > notified; }));
}

/// Checks that a function that a driver has used is in its power-on state after a call to `reset`.
template <typename Reset>
void ExpectPowerOnAfter(Reset&& reset) {
  Rig rig(kIpuModel, Replay("0"));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
  for (int life = 0; life < 3; ++life) {
    client.Enable();
    IpuGuest guest(client, memory);
    std::memset(memory.At(0), 0, memory.bytes());
    const uint64_t before = rig["wire_returned"];
    guest.Start();
    ASSERT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > before + 50; })) << life;
    client.Write(2, 64, 8, 77);
    reset(client);
    const Bytes left(memory.At(0), memory.At(0) + memory.bytes());
    EXPECT_EQ(client.Read(kConfigRegion, 4, 2), 0u);
    client.Enable();
    EXPECT_EQ(guest.Load(regs::ipu::kPortControl), 0u);
    EXPECT_EQ(guest.Load(regs::ipu::QueuePage(0) + regs::ipu::kRingStatus), 0u);
    EXPECT_EQ(client.Read(2, 64, 8), 0u);
    EXPECT_EQ(std::memcmp(left.data(), memory.At(0), left.size()), 0) << "no write came later";
    EXPECT_EQ(rig["wire_corrupted"], 0u);
  }
}

TEST(BusFunction, AResetIsAPowerOn) {
  ExpectPowerOnAfter([](Client& client) { EXPECT_TRUE(client.Grants(Command::kReset, {})); });
}

TEST(BusFunction, AFunctionLevelResetIsAPowerOn) {
  ExpectPowerOnAfter(
      [](Client& client) { client.Write(kConfigRegion, ConfigSpace::kExpress + 8, 2, 0x8000); });
}

TEST(BusFunction, OneThatEndsLeavesThePathToWhoTookItOver) {
  auto old = std::make_unique<Rig>(kIpuModel);
  ASSERT_EQ(unlink(TestSocket().c_str()), 0);
  Rig rig(kIpuModel);
  old.reset();
  rig.ExpectServes();
}

TEST(BusFunction, AGuestThatRebootsMapsAnew) {
  Rig rig(kEnsoModel, Replay("0"), EnsoSettings(EnsoGuest::kPipeFlits, EnsoGuest::kSlots, false));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  for (int boot = 0; boot < 3; ++boot) {
    // A BIOS maps and unmaps memory before a driver starts.
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(client.Map(0, 0xa0000, memory.fd()));
      ASSERT_TRUE(client.Map(0xfffc'0000, 0x4'0000, -1, 0, kDmaReadable));
      ASSERT_TRUE(i % 2 == 0 ? client.Unmap(0, 0, kUnmapAll)
                             : client.Unmap(0, 0xa0000) && client.Unmap(0xfffc'0000, 0x4'0000));
    }
    ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
    client.Enable();
    EnsoGuest guest(client, memory);
    guest.Start();
    const uint64_t before = rig["wire_returned"];
    ASSERT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > before + 50; })) << boot;
    ASSERT_TRUE(client.Grants(Command::kReset, {}));
    ASSERT_TRUE(client.Unmap(0, 0, kUnmapAll));
  }
  EXPECT_EQ(rig["wire_corrupted"], 0u);
  EXPECT_EQ(rig["model_dma_faults"], 0u);
}

TEST(BusFunction, AClientThatIsLeftFindsTheEndOfItsConnectionAndNoError) {
  auto rig = std::make_unique<Rig>(kIpuModel);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  rig->Stop();
  // The device no longer reads these stores, which must not lead to ECONNRESET, because QEMU's
  // client does not survive it.
  const Bytes store =
      MakeMessage(Command::kRegionWrite, Join(RegionAccess{regs::ipu::kMaxFrame, 0, 4}, 1000u));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.Send(store));
  rig.reset();
  uint8_t byte;
  EXPECT_EQ(recv(client.fd(), &byte, 1, 0), 0) << std::strerror(errno);
}

TEST(BusFunction, OneClientComesAfterAnother) {
  Rig rig(kIpuModel, Replay("0"));
  for (int life = 0; life < 4; ++life) {
    SharedMemory memory(1 << 20);
    Client client(TestSocket());
    ASSERT_TRUE(client.Greet()) << life;
    EXPECT_EQ(client.Read(kConfigRegion, 4, 2), 0u) << "as after power-on";
    {
      Client second(TestSocket());
      EXPECT_TRUE(second.Ended()) << "one at a time";
    }
    ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
    client.Enable();
    IpuGuest guest(client, memory);
    guest.Start();
    const uint64_t before = rig["wire_returned"];
    ASSERT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > before + 50; })) << life;
    client.Disconnect();  // Disconnects while there is traffic.
  }
  EXPECT_EQ(rig["wire_corrupted"], 0u);
  rig.ExpectServes();
}

}  // namespace
}  // namespace sluice::emulator::vfio_user::test
