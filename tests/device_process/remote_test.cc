// SPDX-License-Identifier: BSD-3-Clause
//
// Tests Attach with device= from a driver's point of view, while a device in another process
// starts, ends and is replaced.
#include <gtest/gtest.h>
#include <rte_malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "device.h"
#include "emulator/attach.h"
#include "emulator/message.h"
#include "regs/enso.h"
#include "regs/ipu.h"

namespace sluice::emulator {
namespace {

using Pages = bar::RingMemory::Pages;

std::unique_ptr<Attachment> Host(const ModelInfo& model = kIpuModel,
                                 const SettingValues& settings = {}) {
  std::string error;
  auto host = Attach("net_remote0", model, settings,
                     std::vector<Argument>{{"device", TestSocket()}}, &error);
  EXPECT_NE(host, nullptr) << error;
  return host;
}

std::string WhyNot(const ModelInfo& model, const SettingValues& settings,
                   const std::vector<Argument>& arguments) {
  std::string error;
  EXPECT_EQ(Attach("net_remote1", model, settings, arguments, &error), nullptr);
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  return error;
}

uint64_t Value(Attachment& host, const std::string& name) {
  for (const Statistic& statistic : host.Statistics()) {
    if (statistic.name == name) return statistic.value;
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

bool IsUp(Attachment& host) { return host.registers().LinkUp(); }

TEST(Remote, LooksLikeADeviceInThisProcess) {
  for (const ModelInfo* model : {&kIpuModel, &kEnsoModel}) {
    const std::vector<Argument> wire = {{"wire", "gen:flows=10"}};
    const DeviceThread device(*model, wire);
    std::string error;
    const auto near = Attach("net_near0", *model, {}, wire, &error);
    const auto far = Host(*model);
    ASSERT_NE(near, nullptr) << error;
    ASSERT_NE(far, nullptr);
    EXPECT_TRUE(IsUp(*far));
    EXPECT_TRUE(far->WireUp());
    EXPECT_EQ(far->Generation(), 1u);
    EXPECT_EQ(far->registers().Read32(0), near->registers().Read32(0));
    uint8_t mac[6];
    far->MacAddress(mac);
    EXPECT_EQ(mac[0] & 3, 2);
    const auto near_names = near->Statistics(), far_names = far->Statistics();
    ASSERT_EQ(near_names.size(), far_names.size());
    for (size_t i = 0; i < near_names.size(); ++i) {
      EXPECT_EQ(near_names[i].name, far_names[i].name);
    }
  }
}

TEST(Remote, RegistersHoldWhatIsWritten) {
  const DeviceThread device(kIpuModel);
  const auto host = Host();
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(host->registers().Read32(regs::ipu::kDeviceId), regs::ipu::kDeviceIdValue);
  for (uint32_t i = 1; i < 100; ++i) {
    host->registers().Write32(regs::ipu::kMaxFrame, i);
    ASSERT_EQ(host->registers().Read32(regs::ipu::kMaxFrame), i);
  }
}

TEST(Remote, TheWireIsSwitchedThere) {
  const DeviceThread device(kIpuModel, {{"wire", "gen:rate=100k"}});
  const auto host = Host();
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(Value(*host, "wire_offered"), 0u);
  host->EnableWire(true);
  EXPECT_TRUE(Eventually([&] { return Value(*host, "wire_offered") > 0; }));
  host->EnableWire(false);
  const uint64_t offered = Value(*host, "wire_offered");
  EXPECT_EQ(Value(*host, "wire_offered"), offered);
}

TEST(Remote, RefusesInOneLineThatNamesTheFix) {
  const std::string device = "device=" + TestSocket();
  const std::vector<Argument> alone = {{"device", TestSocket()}};
  EXPECT_NE(WhyNot(kIpuModel, {}, alone).find("start sluice-device --socket=" + TestSocket()),
            std::string::npos);
  const std::string both = WhyNot(kIpuModel, {}, {{"device", TestSocket()}, {"wire", "loopback"}});
  EXPECT_NE(both.find("wire=loopback"), std::string::npos) << both;
  EXPECT_NE(both.find(device), std::string::npos) << both;

  const DeviceThread enso(kEnsoModel, {}, EnsoSettings(1024));
  const std::string other = WhyNot(kIpuModel, {}, alone);
  EXPECT_NE(other.find("--model=ipu"), std::string::npos) << other;
  const std::string sizes = WhyNot(kEnsoModel, EnsoSettings(2048, 64), alone);
  EXPECT_NE(sizes.find("--pipe_flits=2048"), std::string::npos) << sizes;
  EXPECT_NE(WhyNot(kEnsoModel, EnsoSettings(1024, 63), alone), "");
  const auto fitting = Host(kEnsoModel, EnsoSettings(1024, 64));
  ASSERT_NE(fitting, nullptr);
  const std::string busy = WhyNot(kEnsoModel, EnsoSettings(1024), alone);
  EXPECT_NE(busy.find("serves process " + std::to_string(getpid())), std::string::npos) << busy;
}

TEST(Remote, NamedMemoryOutlivesTheHostUntilItIsUnmapped) {
  DeviceThread device(kIpuModel);
  {
    const auto host = Host();
    ASSERT_NE(host, nullptr);
    const auto kept = bar::RingMemory::Create(8192, true, Pages::kPreferHuge);
    const auto lost = bar::RingMemory::Create(4096, false, Pages::kPreferHuge);
    std::strcpy(reinterpret_cast<char*>(kept.data()) + 8000, "what was said before");
    ASSERT_TRUE(host->Map(kept, "link0"));
    EXPECT_FALSE(host->Map(kept, "again")) << "mapped already";
    EXPECT_FALSE(host->Map(lost, "link0")) << "a name of another";
    EXPECT_FALSE(host->Map(lost, std::string(32, 'n'))) << "31 characters at most";
    ASSERT_TRUE(host->Map(lost));
    EXPECT_FALSE(host->Adopt("link0")) << "in use";
  }
  ASSERT_TRUE(Eventually([&] { return !device.attached(); }));
  auto next = Host();
  ASSERT_NE(next, nullptr);
  EXPECT_FALSE(next->Adopt("link1"));
  const auto memory = next->Adopt("link0");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory.bytes(), 8192u);
  EXPECT_TRUE(memory.mirrored());
  EXPECT_STREQ(reinterpret_cast<char*>(memory.data()) + 8192 + 8000, "what was said before");
  ASSERT_TRUE(next->Map(memory, "link0"));
  next->Unmap(memory);
  EXPECT_FALSE(next->Adopt("link0")) << "unmapped";
  next.reset();
  ASSERT_TRUE(Eventually([&] { return !device.attached(); }));
  const auto last = Host();
  ASSERT_NE(last, nullptr);
  EXPECT_FALSE(last->Adopt("link0")) << "nor is it kept for others";
}

TEST(Remote, AfterAResetTheDeviceIsAsAfterPowerOnAndTheLinkComesBack) {
  DeviceThread device(kIpuModel, {{"wire", "gen:rate=100k"}});
  const auto host = Host();
  ASSERT_NE(host, nullptr);
  bar::Bar& registers = host->registers();
  const uint32_t power_on = registers.Read32(regs::ipu::kMaxFrame);
  const auto ring = bar::RingMemory::Create(4096, false, Pages::kPreferHuge);
  ASSERT_TRUE(host->Map(ring, "link0"));
  host->EnableWire(true);
  ASSERT_TRUE(Eventually([&] { return Value(*host, "wire_offered") > 0; }));
  for (uint32_t generation = 2; generation < 5; ++generation) {
    registers.Write32(regs::ipu::kMaxFrame, 1234);
    ASSERT_EQ(registers.Read32(regs::ipu::kMaxFrame), 1234u);
    device.Do([](Server& server) { server.Reset(); });
    ASSERT_TRUE(Eventually([&] { return host->Generation() == generation && IsUp(*host); }));
    EXPECT_EQ(registers.Read32(regs::ipu::kMaxFrame), power_on);
    const uint64_t offered = Value(*host, "wire_offered");
    EXPECT_TRUE(Eventually([&] { return Value(*host, "wire_offered") > offered; }))
        << "the wire goes on, from where it was";
    EXPECT_FALSE(host->Adopt("link0")) << "handed over again";
  }
}

TEST(Remote, WithoutADeviceTheLinkIsDownAndTheNextDeviceIsFound) {
  auto device = std::make_unique<DeviceThread>(kIpuModel, std::vector<Argument>{{"wire", "gen"}});
  const auto host = Host();
  ASSERT_NE(host, nullptr);
  const auto before = host->Statistics();
  const auto ring = bar::RingMemory::Create(4096, false, Pages::kPreferHuge);
  const auto dropped = bar::RingMemory::Create(4096, false, Pages::kPreferHuge);
  ASSERT_TRUE(host->Map(ring, "ring"));
  ASSERT_TRUE(host->Map(dropped, "dropped"));
  device.reset();
  ASSERT_TRUE(Eventually([&] { return !IsUp(*host); }));
  EXPECT_EQ(host->registers().Read32(0), 0xffff'ffffu);
  EXPECT_EQ(host->registers().Read64(0), ~uint64_t{0});
  host->registers().Write32(regs::ipu::kMaxFrame, 77);
  EXPECT_FALSE(host->WireUp());
  EXPECT_FALSE(host->Adopt("ring"));
  EXPECT_EQ(host->Statistics().size(), before.size());
  host->Unmap(dropped);
  void* const grown = rte_malloc(nullptr, 8 << 20, 0);  // Will be announced to the device later.

  // Another wire has different counters, but the list of names does not change.
  device = std::make_unique<DeviceThread>(kIpuModel, std::vector<Argument>{{"faults", "drop:0"}});
  ASSERT_TRUE(Eventually([&] { return IsUp(*host); }));
  EXPECT_EQ(host->Generation(), 2u);
  EXPECT_NE(host->registers().Read32(regs::ipu::kMaxFrame), 77u) << "posted while it was away";
  const auto after = host->Statistics();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].name, before[i].name);
  EXPECT_FALSE(host->Map(ring, "ring")) << "is mapped";
  EXPECT_TRUE(host->Map(dropped, "dropped"));
  rte_free(grown);
}

TEST(Remote, ExternalMemoryIsTakenFromFilesAloneAndHandedOverAgain) {
  DeviceThread device(kIpuModel);
  const auto host = Host();
  ASSERT_NE(host, nullptr);
  constexpr size_t kBytes = 16 * 4096;
  const base::OwnedFd file(memfd_create("external", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.fd(), kBytes), 0);
  const auto map = [&](int flags, int fd) {
    return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  };
  void* const shared = map(MAP_SHARED, file.fd());
  void* const own = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  std::string error;
  EXPECT_EQ(host->MapExternal(own, kBytes, &error), -ENOTSUP);
  EXPECT_NE(error.find("private"), std::string::npos) << error;
  EXPECT_EQ(host->UnmapExternal(shared, kBytes), -EINVAL) << "not mapped yet";
  ASSERT_EQ(host->MapExternal(shared, kBytes, &error), 0) << error;
  EXPECT_EQ(host->MapExternal(shared, kBytes, &error), 0) << "it is mapped";
  EXPECT_NE(host->MapExternal(shared, kBytes / 2, &error), 0) << "overlaps";
  EXPECT_NE(error, "");
  EXPECT_EQ(host->UnmapExternal(shared, kBytes / 2), -EINVAL) << "another range";
  device.Do([](Server& server) { server.Reset(); });
  ASSERT_TRUE(Eventually([&] { return host->Generation() == 2 && IsUp(*host); }));
  EXPECT_NE(host->MapExternal(shared, kBytes / 2, &error), 0) << "it was handed over";
  EXPECT_EQ(host->UnmapExternal(shared, kBytes), 0);
  EXPECT_EQ(host->MapExternal(shared, kBytes / 2, &error), 0) << error;
  EXPECT_EQ(host->UnmapExternal(shared, kBytes / 2), 0);
  EXPECT_TRUE(IsUp(*host));
  munmap(shared, kBytes);
  munmap(own, kBytes);
}

TEST(Remote, CountersGoOnWhereADeviceThatIsGoneHadThem) {
  // An idle device counts only its own steps.
  constexpr const char* kSteps = "model_total_cycles";
  auto device = std::make_unique<DeviceThread>(kIpuModel);
  const auto host = Host();
  ASSERT_NE(host, nullptr);
  uint64_t first = 0;
  ASSERT_TRUE(Eventually([&] {
    first = Value(*host, kSteps);
    return first > 0;
  }));
  // After a reset, the same device still has its counters.
  device->Do([](Server& server) { server.Reset(); });
  ASSERT_TRUE(Eventually([&] { return host->Generation() == 2 && IsUp(*host); }));
  const uint64_t second = Value(*host, kSteps);
  EXPECT_GE(second, first);
  device.reset();
  ASSERT_TRUE(Eventually([&] { return !IsUp(*host); }));
  EXPECT_GE(Value(*host, kSteps), second) << "no device answers";
  device = std::make_unique<DeviceThread>(kIpuModel);
  ASSERT_TRUE(Eventually([&] { return host->Generation() == 3 && IsUp(*host); }));
  EXPECT_GE(Value(*host, kSteps), second) << "and another one begins at 0";
}

TEST(Remote, ADeviceThatEndsLeavesThePathToWhoTookItOver) {
  auto old = std::make_unique<DeviceThread>(kIpuModel);
  ASSERT_EQ(unlink(TestSocket().c_str()), 0);
  DeviceThread device(kIpuModel);
  old.reset();
  EXPECT_NE(Host(), nullptr);
  EXPECT_EQ(device.hosts(), 1u);
}

TEST(Remote, ADeviceThatIsSlowToAnswerIsReachedAgain) {
  DeviceThread device(kIpuModel);
  const auto host = Host();
  ASSERT_NE(host, nullptr);
  std::promise<void> went_down;
  std::thread slow([&] { device.Do([&](Server&) { went_down.get_future().wait(); }); });
  const bool down = Eventually([&] {
    host->WireUp();
    return !IsUp(*host);
  });
  went_down.set_value();
  slow.join();
  ASSERT_TRUE(down);
  EXPECT_TRUE(Eventually([&] { return IsUp(*host); }));
  EXPECT_EQ(host->Generation(), 2u);
  EXPECT_TRUE(host->WireUp());
}

TEST(Remote, HostsComeAndGoUnderTraffic) {
  for (const ModelInfo* model : {&kIpuModel, &kEnsoModel}) {
    DeviceThread device(*model, {{"wire", "gen"}});
    for (uint64_t i = 1; i <= 10; ++i) {
      const auto host = Host(*model);
      ASSERT_NE(host, nullptr);
      host->EnableWire(true);
      ASSERT_EQ(device.hosts(), i);
    }
  }
}

}  // namespace
}  // namespace sluice::emulator
