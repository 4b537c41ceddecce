// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that the device reads data that a host can change at any time only once: a change after the
// first read has no effect, and no word is read twice.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "bar/watched_page.h"
#include "device/enso/enso_nic.h"
#include "device/ipu/ipu_nic.h"
#include "regs/enso.h"
#include "regs/ipu.h"
#include "swap/host_link.h"
#include "swap/link_memory.h"
#include "switch_runner.h"

namespace sluice::device {
namespace {

using test::WatchedPage;

constexpr uint64_t kBus = 0x4000'0000;

/// Zeroed memory, page-aligned and a multiple of the page size.
class Pages {
 public:
  explicit Pages(size_t bytes)
      : bytes_((bytes + WatchedPage::kBytes - 1) & ~size_t{WatchedPage::kBytes - 1}),
        data_(static_cast<uint8_t*>(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  uint8_t* data_;
};

class LengthSink final : public FrameSink {
 public:
  void Deliver(std::span<const WireFrame> frames) override {
    for (const WireFrame& frame : frames) lengths.push_back(frame.length);
  }
  std::vector<uint32_t> lengths;
};

/// A host with its rings on the first page and its buffers on the other pages.
struct IpuHost {
  static constexpr uint64_t kBuffers = kBus + WatchedPage::kBytes;

  IpuHost() {
    dma.Add(kBus, memory.data(), memory.bytes());
    nic.WriteRegister(regs::ipu::kPortControl, 4,
                      regs::ipu::kPortReceive | regs::ipu::kPortPromiscuous);
    nic.WriteRegister(regs::ipu::kMaxFrame, 4, 1514);
  }
  void Start(uint32_t block) {
    const uint32_t page = regs::ipu::QueuePage(0) + block;
    nic.WriteRegister(page + regs::ipu::kRingBase, 8, kBus);
    nic.WriteRegister(page + regs::ipu::kRingEntries, 4, regs::ipu::kMinRing);
    nic.WriteRegister(page + regs::ipu::kRingBuffer, 4, 2048);
    nic.WriteRegister(page + regs::ipu::kRingControl, 4, regs::ipu::kRingEnable);
  }
  void Post(uint32_t block, regs::ipu::Descriptor descriptor) {
    *reinterpret_cast<regs::ipu::Descriptor*>(memory.data()) = descriptor;
    nic.WriteRegister(regs::ipu::QueuePage(0) + block + regs::ipu::kRingTail, 4, 1);
  }
  uint64_t Stat(regs::ipu::Statistic statistic) {
    return nic.ReadRegister(regs::ipu::StatisticRegister(statistic), 8);
  }

  Pages memory{4 * WatchedPage::kBytes};
  bar::DmaSpace dma;
  ipu::IpuNic nic{dma, {}};
};

TEST(ReadOnce, IpuTransmitDescriptor) {
  IpuHost host;
  host.Start(regs::ipu::kTxBlock);
  // A frame of 60 bytes at the end of the host's mapping. Its length changes to 9000 after the
  // first read of the length.
  host.Post(regs::ipu::kTxBlock, {kBus + host.memory.bytes() - 60, 60 | regs::ipu::kTxEndOfPacket});
  LengthSink sink;
  {
    WatchedPage page(host.memory.data());
    page.ChangeAfterAccess(8, 9000 | regs::ipu::kTxEndOfPacket);
    host.nic.Transmit(sink, 16);
    EXPECT_EQ(page.accesses(0), 1u);
    EXPECT_EQ(page.accesses(8), 1u);
  }
  EXPECT_EQ(sink.lengths, std::vector<uint32_t>{60});
}

TEST(ReadOnce, IpuReceiveDescriptor) {
  IpuHost host;
  host.Start(regs::ipu::kRxBlock);
  host.Post(regs::ipu::kRxBlock, {IpuHost::kBuffers, 0});
  const std::string frame(60, 'x');
  const WireFrame wire{reinterpret_cast<const uint8_t*>(frame.data()), 60};
  {
    WatchedPage page(host.memory.data());
    page.ChangeAfterAccess(0, kBus + host.memory.bytes() - 1);
    EXPECT_EQ(host.nic.Receive({&wire, 1}, false), 1u);
    EXPECT_EQ(page.accesses(0), 2u) << "read, and written back";
  }
  EXPECT_EQ(host.Stat(regs::ipu::kStatRxFrames), 1u);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(host.memory.data()) + WatchedPage::kBytes, 60),
            frame);
}

TEST(ReadOnce, EnsoSlot) {
  using namespace regs::enso;  // NOLINT: the registers' names
  Pages memory(4 * WatchedPage::kBytes);
  bar::DmaSpace dma;
  dma.Add(kBus, memory.data(), memory.bytes());
  enso::EnsoNic nic(dma, {.pipe_flits = 64, .nb_entries = 64, .notify_per_packet = false});
  nic.WriteRegister(NbPage(0) + kRxMemLo, 8, kBus + WatchedPage::kBytes);
  nic.WriteRegister(NbPage(0) + kTxMemLo, 8, kBus);
  // A flit at the end of the mapping: 64 bytes of IPv4.
  uint8_t* const frame = memory.data() + memory.bytes() - kFlitBytes;
  frame[17] = 50;
  auto* const slot = reinterpret_cast<TxNotification*>(memory.data());
  slot->address = kBus + memory.bytes() - kFlitBytes;
  slot->length = kFlitBytes;
  slot->signal = kSignalData;
  LengthSink sink;
  {
    WatchedPage page(memory.data());
    page.ChangeAfterAccess(offsetof(TxNotification, length), 64 * kFlitBytes);
    nic.WriteRegister(NbPage(0) + kTxTail, 4, 1);
    nic.Transmit(sink, 16);
    // The device reads the slot once, and writes it once for the completion.
    EXPECT_LE(page.accesses(offsetof(TxNotification, address)), 2u);
    EXPECT_LE(page.accesses(offsetof(TxNotification, length)), 2u);
  }
  EXPECT_EQ(sink.lengths, std::vector<uint32_t>{kFlitBytes});
}

TEST(ReadOnce, GeometryOfALink) {
  constexpr swap::Geometry kGeometry{3, 16384, 16, 0};
  Pages memory(swap::LinkMemory::BytesFor(kGeometry));
  swap::LinkMemory::Format({memory.data(), memory.bytes()}, kGeometry);
  const auto field = static_cast<uint32_t>(offsetof(swap::LinkHeader, geometry));
  swap::LinkMemory found;
  {
    WatchedPage page(memory.data());
    page.ChangeAfterAccess(field, uint64_t{1} << 31 | 64);
    found = swap::LinkMemory::Find({memory.data(), memory.bytes()});
    EXPECT_EQ(page.most_accesses(field, field + sizeof(swap::Geometry)), 1u);
  }
  // An accepted geometry must fit in the memory, whatever its values are.
  if (found) {
    EXPECT_LE(swap::LinkMemory::BytesFor(found.geometry()), memory.bytes());
  }
}

TEST(ReadOnce, CountOfARegionThatADeadProcessHeld) {
  constexpr swap::Geometry kGeometry{3, 16384, 16, 0};
  Pages memory(swap::LinkMemory::BytesFor(kGeometry));
  const auto link = swap::LinkMemory::Format({memory.data(), memory.bytes()}, kGeometry);
  link.region(0).header().count = 7;
  const auto count = static_cast<uint32_t>(offsetof(swap::RegionHeader, count));
  std::unique_ptr<swap::HostLink> host;
  {
    WatchedPage page(memory.data() + swap::kRegionsOffset);
    page.ChangeAfterAccess(count, 0xffff'ffff);
    host = swap::HostLink::Open(link, ~uint64_t{0});
  }
  EXPECT_EQ(host->counters().discarded_pkts, 7u);
}

TEST(ReadOnce, EntryOfARegisterQueue) {
  Pages memory(sizeof(bar::PostedQueue));
  auto* const queue = new (memory.data()) bar::PostedQueue();
  constexpr uint64_t kValue = 0x1122'3344'5566'7788;
  queue->Post(0x40, 8, kValue);
  uint32_t at = 0;  // Offset of the entry's value, which is the last word of the entry.
  while (at < WatchedPage::kBytes && *reinterpret_cast<uint64_t*>(memory.data() + at) != kValue) {
    at += 8;
  }
  ASSERT_LT(at, WatchedPage::kBytes);
  std::vector<bar::RegisterAccess> stores;
  {
    WatchedPage page(memory.data());
    page.ChangeAfterAccess(at - 8, 0xffff'ffff'ffff'ffff);
    queue->Drain(
        16, [&](const bar::RegisterAccess& access) { stores.push_back(access); },
        [](const bar::RegisterAccess&) { return 0; });
    EXPECT_EQ(page.most_accesses(at - 8, at + 8), 1u);
  }
  EXPECT_LE(stores.size(), 1u);
}

TEST(ReadOnce, TlpThatLeavesASwitch) {
  // The ring to the device starts at a page boundary; two counters precede it.
  constexpr size_t kRing =
      offsetof(stage::LinkMemory, to_device) + offsetof(stage::LinkDirection, tlps);
  constexpr size_t kBefore = WatchedPage::kBytes - kRing % WatchedPage::kBytes;
  Pages memory(kBefore + sizeof(stage::LinkMemory));
  auto* const link = new (memory.data() + kBefore) stage::LinkMemory();
  chain_app::SwitchRunner runner(0, /*host_memory=*/false);
  runner.Attach(2, link);
  runner.Write(stage::SlotOf(2, 0), std::array<uint8_t, 5>{});
  {
    WatchedPage page(memory.data() + kBefore + kRing);
    // The TLP becomes a completion of 0 bytes after its first access.
    page.ChangeAfterAccess(0, static_cast<uint64_t>(pcie_switch::TlpKind::kCompletion));
    runner.Step();
  }
  ASSERT_EQ(link->to_device.written.value, 1u);
  EXPECT_EQ(runner.operations(2).writes, 1u);
  EXPECT_EQ(runner.operations(2).completions, 0u);
  EXPECT_EQ(runner.operations(2).bytes, 5u);
}

}  // namespace
}  // namespace sluice::device
