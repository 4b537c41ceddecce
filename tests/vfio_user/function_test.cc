// SPDX-License-Identifier: BSD-3-Clause
//
// Tests both models on a PCI bus. The tests drive the models register by register, as their drivers
// do. They check the information that a client gets, and pass the frames of a capture to the
// client's memory and back.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "emulator/enso_model.h"
#include "emulator/ipu_model.h"
#include "guests.h"
#include "rig.h"
#include "traffic.h"

namespace sluice::emulator::vfio_user::test {
namespace {

RegionInfo InfoOf(Client& client, uint32_t region, base::OwnedFd* file = nullptr) {
  Message reply = client.Ask(Command::kGetRegionInfo, Join(RegionInfo{32, 0, region, 0, 0, 0}));
  RegionInfo info{};
  if (reply.payload.size() == sizeof(info)) {
    std::memcpy(&info, reply.payload.data(), sizeof(info));
  }
  EXPECT_EQ(reply.files.size(), (info.flags & kRegionMappable) != 0 ? 1u : 0u);
  if (file != nullptr && !reply.files.empty()) *file = std::move(reply.files[0]);
  return info;
}

uint32_t IrqsOf(Client& client, uint32_t index) {
  const Message reply = client.Ask(Command::kGetIrqInfo, Join(IrqInfo{16, 0, index, 0}));
  IrqInfo info{};
  EXPECT_EQ(reply.payload.size(), sizeof(info));
  std::memcpy(&info, reply.payload.data(), std::min(reply.payload.size(), sizeof(info)));
  return info.count;
}

TEST(BusFunction, OfEnsoHasOneBarOfMessages) {
  Rig rig(kEnsoModel);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  const Message info = client.Ask(Command::kGetInfo, Join(DeviceInfo{16, 0, 0, 0}));
  EXPECT_EQ(info.payload, Join(DeviceInfo{16, 3, 9, 5})) << "resets, is PCI; regions, interrupts";
  for (uint32_t region = 0; region < 9; ++region) {
    const RegionInfo one = InfoOf(client, region);
    EXPECT_EQ(one.bytes, region == 2 ? 64u << 20 : region == 7 ? 4096u : 0u) << region;
    EXPECT_EQ(one.flags, one.bytes != 0 ? 3u : 0u) << region;
  }
  for (uint32_t index = 0; index < 5; ++index) EXPECT_EQ(IrqsOf(client, index), 0u) << index;
  EXPECT_EQ(client.Refusal(Command::kGetRegionInfo, Join(RegionInfo{32, 0, 9, 0, 0, 0})), EINVAL);
  EXPECT_EQ(client.Refusal(Command::kGetIrqInfo, Join(IrqInfo{16, 0, 5, 0})), EINVAL);
}

TEST(BusFunction, OfNetIpuHasInterruptsAndLinesThatAreMapped) {
  Rig rig(kIpuModel);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  EXPECT_EQ(InfoOf(client, 0).bytes, 128u << 10);
  EXPECT_EQ(InfoOf(client, 4).bytes, 4096u);
  EXPECT_EQ(IrqsOf(client, 2), 32u);
  base::OwnedFd lines;
  EXPECT_EQ(InfoOf(client, 2, &lines).flags, 7u);
  ASSERT_TRUE(lines);
  EXPECT_NE(ftruncate(lines.fd(), 0), 0) << "nobody resizes it";
  client.Enable(false);
  auto* const mapped = static_cast<uint8_t*>(
      mmap(nullptr, 64u << 20, PROT_READ | PROT_WRITE, MAP_SHARED, lines.fd(), 0));
  ASSERT_NE(mapped, MAP_FAILED);
  mapped[4097] = 42;
  EXPECT_EQ(client.Read(2, 4097, 1), 42u) << "messages reach the same memory";
  client.Write(2, 8, 8, 0x1122334455667788);
  EXPECT_EQ(mapped[8], 0x88);
  EXPECT_TRUE(client.Grants(Command::kReset, {}));
  EXPECT_EQ(mapped[4097], 0);
  EXPECT_EQ(mapped[8], 0);
  munmap(mapped, 64u << 20);
}

TEST(BusFunction, AnswersRegistersOnlyWhileItsMemoryIsDecoded) {
  Rig rig(kIpuModel);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  EXPECT_EQ(client.Read(0, regs::ipu::kDeviceId, 4), 0xffff'ffffu);
  client.Enable(false);
  EXPECT_EQ(client.Read(0, regs::ipu::kDeviceId, 4), regs::ipu::kDeviceIdValue);
  client.Write(0, regs::ipu::kMaxFrame, 4, 1000);
  client.Write(kConfigRegion, 4, 2, 0);
  client.Write(0, regs::ipu::kMaxFrame, 4, 2000);
  client.Enable(false);
  EXPECT_EQ(client.Read(0, regs::ipu::kMaxFrame, 4), 1000u);
  uint8_t mac[6];
  std::copy(rig.model().mac().begin(), rig.model().mac().end(), mac);
  uint64_t address = client.Read(0, regs::ipu::kPermanentAddress, 8);
  EXPECT_EQ(std::memcmp(&address, mac, sizeof(mac)), 0);
  EXPECT_EQ(address >> 48, 0u);
  EXPECT_EQ(client.Read(0, regs::ipu::kPortStatus, 4), regs::ipu::kPortCarrier);
}

TEST(BusFunction, StoresKeepTheirOrderAndReadsStayBehindThem) {
  Rig rig(kEnsoModel);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  client.Enable();
  const uint32_t tail = regs::enso::PipePage(7) + regs::enso::kRxTail;
  // The writes are posted, as in QEMU: the client does not wait for answers, but each answer must
  // arrive.
  Bytes stream;
  constexpr uint16_t kStores = 500;
  for (uint16_t i = 1; i <= kStores; ++i) {
    const Bytes one =
        i % 3 == 0
            ? MakeMessage(
                  Command::kRegionWriteMulti,
                  Join(uint64_t{2}, SingleWrite{tail, 2, 4, 0xffff}, SingleWrite{tail, 2, 4, i}), i,
                  kNoReplyFlag)
            : MakeMessage(Command::kRegionWrite, Join(RegionAccess{tail, 2, 4}, uint32_t{i}), i);
    stream.insert(stream.end(), one.begin(), one.end());
  }
  const Bytes read = MakeMessage(Command::kRegionRead, Join(RegionAccess{tail, 2, 4}), 9999);
  stream.insert(stream.end(), read.begin(), read.end());
  ASSERT_TRUE(client.Send(stream));
  for (uint16_t i = 1; i <= kStores; ++i) {
    if (i % 3 == 0) continue;
    ASSERT_EQ(client.Receive().header.id, i);
  }
  const Message reply = client.Receive();
  ASSERT_EQ(reply.header.id, 9999);
  EXPECT_EQ(reply.payload, Join(RegionAccess{tail, 2, 4}, uint32_t{kStores}));
}

TEST(BusFunction, NetIpuSendsFramesOfACaptureBack) {
  Rig rig(kIpuModel, Replay("2"));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  // The device must not start before it is a bus master. Its memory is mapped in four pieces.
  for (uint64_t at = 0; at < memory.bytes(); at += memory.bytes() / 4) {
    ASSERT_TRUE(client.Map(kBus + at, memory.bytes() / 4, memory.fd(), at));
  }
  client.Enable(false);
  IpuGuest guest(client, memory);
  guest.Start();
  EXPECT_EQ(guest.Statistic(regs::ipu::kStatRxFrames), 0u);
  client.Enable();
  EXPECT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] == 2 * kFrames; }));
  ExpectAllBack(rig, 2 * kFrames);
  EXPECT_EQ(guest.Statistic(regs::ipu::kStatRxFrames), 2 * kFrames);
}

TEST(BusFunction, NetIpuReachesMemoryWithoutAFileByMessages) {
  Rig rig(kIpuModel, Replay("0"));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), -1));
  client.AnswerWith(&memory, kBus);
  client.Enable();
  IpuGuest guest(client, memory);
  for (int life = 0; life < 2; ++life) {
    std::memset(memory.At(0), 0, memory.bytes());
    guest.Start();
    const uint64_t before = rig["wire_returned"];
    ASSERT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > before + kFrames; }));
    for (const uint32_t block : {regs::ipu::kRxBlock, regs::ipu::kTxBlock}) {
      guest.Store(regs::ipu::QueuePage(0) + block + regs::ipu::kRingControl, 0);
      // After this, no access to the ring may be in flight, because the ring's memory belongs to
      // the guest.
      EXPECT_EQ(guest.Load(regs::ipu::QueuePage(0) + block + regs::ipu::kRingStatus), 0u);
    }
  }
  EXPECT_EQ(rig["wire_corrupted"], 0u);
  EXPECT_EQ(rig["model_rx_dma_faults"] + rig["model_tx_dma_faults"], 0u);
  EXPECT_GT(client.dma_requests().reads, 0u);
  EXPECT_GT(client.dma_requests().writes, kFrames);
}

TEST(BusFunction, MemoryOfTheSizeOfABarIsMemoryUntilTheBarIsPlaced) {
  Rig rig(kIpuModel);
  // Maps memory of BAR 0's size at address 0, which is the address of BARs before software sets it.
  SharedMemory memory(128 << 10);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(0, memory.bytes(), -1));
  client.AnswerWith(&memory, 0);
  client.Write(kConfigRegion, 0x10, 4, 0xfebe'0000);
  client.Enable();
  const uint32_t block = regs::ipu::QueuePage(0) + regs::ipu::kTxBlock;
  client.Write(0, block + regs::ipu::kRingBase, 8, 0x1000);
  client.Write(0, block + regs::ipu::kRingEntries, 4, 64);
  client.Write(0, block + regs::ipu::kRingControl, 4, 1);
  client.Write(0, block + regs::ipu::kRingTail, 4, 8);
  EXPECT_TRUE(Eventually([&] {
    client.Pump();
    return client.dma_requests().reads != 0;
  })) << "the device reads its descriptors";
  EXPECT_EQ(rig["model_tx_dma_faults"], 0u);
}

TEST(BusFunction, EnsoReachesMemoryWithoutAFileByMessages) {
  Rig rig(kEnsoModel, Replay("0"), EnsoSettings(EnsoGuest::kPipeFlits, EnsoGuest::kSlots, false));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), -1));
  client.AnswerWith(&memory, kBus);
  client.Enable();
  EnsoGuest guest(client, memory);
  guest.Start();
  EXPECT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > kFrames; }));
  ExpectNoneBroken(rig);
  EXPECT_GT(client.dma_requests().reads, 0u);
}

TEST(BusFunction, EnsoSendsFramesOfACaptureBack) {
  Rig rig(kEnsoModel, Replay("0"), EnsoSettings(EnsoGuest::kPipeFlits, EnsoGuest::kSlots, false));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
  client.Enable();
  EnsoGuest guest(client, memory);
  guest.Start();
  EXPECT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > 2 * kFrames; }));
  ExpectNoneBroken(rig);
}

TEST(BusFunction, MemoryThatIsUnmappedUnderTrafficIsAFaultAndNoMore) {
  Rig rig(kIpuModel, Replay("0"));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  constexpr uint64_t kRings = IpuGuest::kBuffers;
  ASSERT_TRUE(client.Map(kBus, kRings, memory.fd()));
  ASSERT_TRUE(client.Map(kBus + kRings, memory.bytes() - kRings, memory.fd(), kRings));
  client.Enable();
  IpuGuest guest(client, memory);
  guest.Start();
  ASSERT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > 100; }));
  // Unmaps the guest's buffers. Frames for them must count as faults, and their descriptors must be
  // returned.
  EXPECT_EQ(rig["model_rx_dma_faults"], 0u);
  ASSERT_TRUE(client.Unmap(kBus + kRings, memory.bytes() - kRings));
  EXPECT_TRUE(PollsUntil(guest, [&] { return rig["model_rx_dma_faults"] > 100; }));
  // Unmaps the guest's rings, so the device must disable them.
  ASSERT_TRUE(client.Unmap(kBus, kRings));
  for (const uint32_t block : {regs::ipu::kRxBlock, regs::ipu::kTxBlock}) {
    EXPECT_EQ(guest.Load(regs::ipu::QueuePage(0) + block + regs::ipu::kRingStatus), 0u);
  }
  EXPECT_GT(rig["model_tx_dma_faults"], 0u);
  // After the memory has been mapped again, a driver can restart the function.
  std::memset(memory.At(0), 0, memory.bytes());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
  const uint64_t before = rig["wire_returned"];
  guest.Start();
  EXPECT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > before + 100; }));
}

TEST(BusFunction, EnsoCountsEveryAccessToMemoryThatIsUnmapped) {
  Rig rig(kEnsoModel, Replay("0"), EnsoSettings(EnsoGuest::kPipeFlits, EnsoGuest::kSlots, false));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
  client.Enable();
  EnsoGuest guest(client, memory);
  guest.Start();
  ASSERT_TRUE(PollsUntil(guest, [&] { return rig["wire_returned"] > 100; }));
  ASSERT_TRUE(client.Unmap(0, 0, kUnmapAll));
  // Frames can no longer be delivered. The pipe fills immediately unless the guest frees it.
  const uint32_t pipe = regs::enso::PipePage(0);
  EXPECT_TRUE(Eventually([&] {
    guest.Store(pipe + regs::enso::kRxHead, guest.Load(pipe + regs::enso::kRxTail));
    return rig["model_dma_faults"] > 100;
  }));
  EXPECT_EQ(rig["wire_corrupted"], 0u);
}

}  // namespace
}  // namespace sluice::emulator::vfio_user::test
