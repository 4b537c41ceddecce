// SPDX-License-Identifier: BSD-3-Clause
//
// Tests memory that one side removes while the other side uses it, and processes that lack
// resources. One link ends, and the next peer is served.
#include <gtest/gtest.h>
#include <rte_malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "liar.h"
#include "regs/ipu.h"

namespace {

/// Number of this thread's allocations that succeed before one fails; negative: all succeed.
thread_local int64_t allocations_left = -1;

void* Allocate(size_t bytes, size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new[](size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace sluice::emulator {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBus = uint64_t{1} << 33;

void ExpectStillServed(DeviceThread& device) {
  ASSERT_TRUE(Eventually([&] { return !device.attached(); }));
  Liar honest;
  honest.Attach();
}

TEST(Loss, AHostThatCutsItsMemoryOffIsDisconnectedByTheFirstAccess) {
  DeviceThread device(kIpuModel);
  Liar liar;
  liar.Attach();
  const base::OwnedFd file = Memfd(1 << 20, false);
  ASSERT_EQ(liar.Memory(kBus, 1 << 20, file.fd()), 0);
  ASSERT_EQ(ftruncate(file.fd(), 0), 0);
  EXPECT_TRUE(device.attached());
  liar.Transmit(kBus);
  EXPECT_TRUE(Eventually([&] { return !device.attached(); }));
  ExpectStillServed(device);
}

TEST(Loss, AHostWithAllNamesLeavesRoomForTheNext) {
  DeviceThread device(kIpuModel);
  const base::OwnedFd file = Memfd(kPage, true);
  for (int host = 0; host < 2; ++host) {
    Liar liar;
    liar.Attach();
    for (size_t i = 0; i < NamedMemory::kMaxNames; ++i) {
      ASSERT_EQ(liar.Map(Kind::kMap, kBus + i * kPage, kPage, file.fd(),
                         std::to_string(host) + "/" + std::to_string(i)),
                0);
    }
    liar.channel().Shutdown();
    ASSERT_TRUE(Eventually([&] { return !device.attached(); }));
  }
  Liar last;
  last.Attach();
  EXPECT_EQ(last.Map(Kind::kAdopt, 0, 0, -1, "0/63"), 1) << "the oldest went";
  EXPECT_EQ(last.Map(Kind::kAdopt, 0, 0, -1, "1/63"), 0);
}

TEST(Loss, WhereverTheDevicesRoomEndsOneHostIsDisconnected) {
  DeviceThread device(kIpuModel);
  const base::OwnedFd memory = Memfd(1 << 20, true);
  bool failed = true;
  uint64_t ended = 0;
  for (int64_t left = 0; failed; ++left) {
    ASSERT_TRUE(Eventually([&] { return !device.attached(); }));
    device.Do([&](Server&) { allocations_left = left; });
    {
      Liar liar;
      liar.Send(liar.Hello(), liar.queue_file());
      if (liar.Hear() == 0) {
        liar.Next(Kind::kHello);  // Skips the sequence number of the greeting that was sent.
        liar.Memory(kBus, 1 << 20, memory.fd());
        liar.Memory(kBus + (uint64_t{1} << 31), 1 << 20, memory.fd());
        liar.Map(Kind::kForget, kBus, kPage, -1);
        liar.Map(Kind::kMap, kBus << 1, kPage, memory.fd(), "name");
        liar.Map(Kind::kStatistics, 0, 0, -1);
        liar.Map(Kind::kUnmap, kBus << 1, 0, -1, "name");
      }
    }
    device.Do([&](Server&) {
      failed = allocations_left < 0;
      allocations_left = -1;
    });
    ended += failed;
  }
  EXPECT_GT(ended, 10u);
  ExpectStillServed(device);
}

std::unique_ptr<Attachment> HostOfDevice() {
  std::string error;
  auto host =
      Attach("net_remote4", kIpuModel, {}, std::vector<Argument>{{"device", TestSocket()}}, &error);
  EXPECT_NE(host, nullptr) << error;
  return host;
}

/// Replaces a page of this process by a page that its file does not contain.
void ReplacePage(void* page) {
  const base::OwnedFd empty = Memfd(0, false);
  ASSERT_NE(mmap(page, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, empty.fd(), 0),
            MAP_FAILED);
}

TEST(Loss, ADeviceThatTakesARingAwayLosesTheLinkForGood) {
  DeviceThread device(kIpuModel);
  const auto host = HostOfDevice();
  ASSERT_NE(host, nullptr);
  const auto ring = bar::RingMemory::Create(4 * kPage, false, bar::RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(host->Map(ring));
  ring.data()[0] = 55;
  ReplacePage(ring.data() + kPage);
  EXPECT_EQ(*const_cast<volatile uint8_t*>(ring.data() + kPage), 0);
  EXPECT_EQ(ring.data()[0], 55) << "all else is the application's";
  EXPECT_TRUE(Eventually([&] { return !host->registers().LinkUp(); }));
  EXPECT_EQ(host->registers().Read32(regs::ipu::kDeviceId), 0xffff'ffffu);
  ExpectStillServed(device);
  EXPECT_FALSE(host->registers().LinkUp());
  EXPECT_EQ(host->Generation(), 1u);
}

TEST(Loss, ADeviceThatTakesDpdksMemoryAwayLosesTheLink) {
  DeviceThread device(kIpuModel);
  const auto host = HostOfDevice();
  ASSERT_NE(host, nullptr);
  // The memory is not freed, so that DPDK does not reuse it: memory without a file cannot be passed
  // to another device.
  auto* const page = static_cast<uint8_t*>(rte_malloc(nullptr, 3 * kPage, kPage));
  ASSERT_NE(page, nullptr);
  ReplacePage(page + kPage);
  EXPECT_EQ(*const_cast<volatile uint8_t*>(page + kPage), 0);
  EXPECT_TRUE(Eventually([&] { return !host->registers().LinkUp(); }));
}

}  // namespace
}  // namespace sluice::emulator
