// SPDX-License-Identifier: BSD-3-Clause
//
// Tests Attach in a real EAL with both device models, with DPDK's memory and service lcores, and
// with other ethdevs as the wire. `attach_test --service` runs with a service lcore.
#include "emulator/attach.h"

#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_service.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../eal_run.h"
#include "emulator/enso_model.h"
#include "emulator/host_memory.h"
#include "emulator/ipu_model.h"
#include "emulator/model.h"

namespace sluice::emulator {
namespace {

std::unique_ptr<Attachment> Open(const ModelInfo& model, const std::vector<Argument>& arguments,
                                 std::string* error = nullptr) {
  std::string ignored;
  auto attachment =
      Attach("net_test0", model, SettingValues{}, arguments, error != nullptr ? error : &ignored);
  EXPECT_TRUE(attachment != nullptr || error != nullptr) << ignored;
  return attachment;
}

uint64_t Value(Attachment& attachment, const std::string& name) {
  for (const Statistic& statistic : attachment.Statistics()) {
    if (statistic.name == name) return statistic.value;
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

/// Polls until `name` reaches `least`. Returns false after 20 s.
bool Reaches(Attachment& attachment, const std::string& name, uint64_t least) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    if (Value(attachment, name) >= least) return true;
  }
  return false;
}

TEST(Attach, BothModelsAnswerRegisterReadsAndStartWithTheWireOff) {
  for (const ModelInfo* model : {&kEnsoModel, &kIpuModel}) {
    const auto attachment = Open(*model, {{"wire", "gen"}});
    ASSERT_NE(attachment, nullptr);
    EXPECT_NE(attachment->registers().Read32(0), 0xffff'ffffu);
    EXPECT_TRUE(attachment->registers().LinkUp());
    EXPECT_TRUE(attachment->WireUp());
    EXPECT_EQ(Value(*attachment, "wire_offered"), 0u);
  }
}

TEST(Attach, WithoutPipesOrQueuesEveryFrameEndsInADropCounterOfTheDevice) {
  for (const ModelInfo* model : {&kEnsoModel, &kIpuModel}) {
    const auto attachment = Open(*model, {{"wire", "gen:rate=1M+count=1000"}, {"pause", "off"}});
    ASSERT_NE(attachment, nullptr);
    attachment->EnableWire(true);
    ASSERT_TRUE(Reaches(*attachment, "wire_offered", 1000));
    attachment->EnableWire(false);
    uint64_t dropped = 0;
    for (const char* name : {"model_rx_no_fallback", "model_rx_disabled", "model_rx_filtered",
                             "model_rx_no_descriptor"}) {
      for (const Statistic& statistic : attachment->Statistics()) {
        if (statistic.name == name) dropped += statistic.value;
      }
    }
    EXPECT_EQ(dropped, 1000u);
    EXPECT_EQ(Value(*attachment, "wire_accepted"), 0u);
    EXPECT_EQ(Value(*attachment, "wire_lost"), 1000u);
    EXPECT_EQ(Value(*attachment, "wire_outstanding"), 0u);
  }
}

TEST(Attach, RefusesBadArgumentsInOneLine) {
  const struct {
    std::vector<Argument> arguments;
    const char* named;
  } cases[] = {
      {{{"wire", "nothing"}}, "wire=nothing"},
      {{{"wire", "pcap:/does/not/exist.pcap"}}, "/does/not/exist.pcap"},
      {{{"wire", "port:net_missing0"}}, "port:net_missing0"},
      {{{"device_cpu", "1000"}}, "device_cpu=1000"},
      {{{"wire", "gen:size=9018+flows=1000000"}}, "flows=1000000"},
  };
  for (const auto& c : cases) {
    std::string error;
    EXPECT_EQ(Open(kEnsoModel, c.arguments, &error), nullptr) << c.named;
    EXPECT_NE(error.find(c.named), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  const SettingValues settings = EnsoSettings(1000);
  std::string error;
  EXPECT_EQ(Attach("net_test0", kEnsoModel, settings, {}, &error), nullptr);
  EXPECT_NE(error, "");
}

TEST(Attach, SaysWhatTheLibraryOfAWireThrows) {
  std::string error;
  EXPECT_EQ(Open(kIpuModel, {{"wire", "library:" THROWING_WIRE "+no peer today"}}, &error),
            nullptr);
  EXPECT_NE(error.find("no peer today"), std::string::npos) << error;
}

TEST(Attach, RunsOnTheCpuThatItIsGiven) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const auto attachment = Open(kIpuModel, {{"device_cpu", std::to_string(cpu)}});
    ASSERT_NE(attachment, nullptr);
    EXPECT_EQ(attachment->registers().bytes() > 0, true);
    return;
  }
}

TEST(Attach, TheMacAddressIsLocalUnicastAndTheNamesAlone) {
  uint8_t first[6], again[6];
  Open(kEnsoModel, {})->MacAddress(first);
  Open(kEnsoModel, {})->MacAddress(again);
  EXPECT_EQ(std::memcmp(first, again, 6), 0);
  EXPECT_EQ(first[0] & 3, 2);
}

TEST(HostMemory, AllOfDpdksMemoryIsReachableAndNothingElse) {
  const auto dma = std::make_unique<bar::DmaSpace>();
  const HostMemory memory("net_test0", *dma);
  ASSERT_TRUE(memory.complete());
  std::vector<void*> blocks;
  for (size_t bytes = 64; bytes <= (4u << 20); bytes *= 4) {
    void* block = rte_malloc(nullptr, bytes, 0);
    ASSERT_NE(block, nullptr);
    blocks.push_back(block);
    EXPECT_EQ(dma->Translate(reinterpret_cast<uint64_t>(block), bytes), block);
  }
  rte_mempool* pool = rte_pktmbuf_pool_create("reach", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
  ASSERT_NE(pool, nullptr);
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
  const uint64_t data = reinterpret_cast<uint64_t>(rte_pktmbuf_mtod(mbuf, void*));
  EXPECT_NE(dma->Translate(data, 2048), nullptr);
  uint8_t own[16];
  EXPECT_EQ(dma->Translate(reinterpret_cast<uint64_t>(own), 1), nullptr);
  EXPECT_EQ(dma->Translate(0, 1), nullptr);
  rte_pktmbuf_free(mbuf);
  rte_mempool_free(pool);
  for (void* block : blocks) rte_free(block);
}

TEST(Attach, MapsARingOnceAndAdoptsNothingInOneProcess) {
  const auto attachment = Open(kIpuModel, {});
  ASSERT_NE(attachment, nullptr);
  const auto ring = bar::RingMemory::Create(4096, false, bar::RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(ring);
  EXPECT_TRUE(attachment->Map(ring, "link0"));
  EXPECT_FALSE(attachment->Map(ring));
  EXPECT_FALSE(attachment->Adopt("link0"));
  attachment->Unmap(ring);
  EXPECT_TRUE(attachment->Map(ring));
  EXPECT_EQ(attachment->Generation(), 1u);
}

TEST(Attach, MayBeDestroyedUnderTrafficAndAttachedAgain) {
  for (int i = 0; i < 20; ++i) {
    const auto attachment = Open(i % 2 == 0 ? kEnsoModel : kIpuModel, {{"wire", "gen"}});
    ASSERT_NE(attachment, nullptr);
    attachment->EnableWire(true);
  }
}

TEST(Attach, TheCarrierFollowsInjectedOutages) {
  const auto attachment =
      Open(kEnsoModel, {{"wire", "gen:rate=1k"}, {"faults", "linkdown:20ms/10ms"}});
  ASSERT_NE(attachment, nullptr);
  attachment->EnableWire(true);
  for (const bool up : {false, true, false}) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool is_up;
    do {
      is_up = attachment->WireUp();
    } while (is_up != up && std::chrono::steady_clock::now() < deadline);
    EXPECT_EQ(is_up, up);
  }
}

TEST(PortWire, OwnsThePortTakesItsAddressAndItsFrames) {
  ASSERT_EQ(rte_vdev_init("net_null7", "size=128"), 0);
  uint16_t port_id = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name("net_null7", &port_id), 0);
  {
    const auto attachment = Open(kIpuModel, {{"wire", "port:net_null7"}, {"pause", "off"}});
    ASSERT_NE(attachment, nullptr);
    rte_ether_addr mac;
    uint8_t ours[6];
    rte_eth_macaddr_get(port_id, &mac);
    attachment->MacAddress(ours);
    EXPECT_EQ(std::memcmp(mac.addr_bytes, ours, 6), 0);
    rte_eth_dev_owner owner;
    ASSERT_EQ(rte_eth_dev_owner_get(port_id, &owner), 0);
    EXPECT_STREQ(owner.name, "wire of net_test0");

    std::string error;
    EXPECT_EQ(Open(kIpuModel, {{"wire", "port:net_null7"}}, &error), nullptr);
    EXPECT_NE(error.find("wire of net_test0"), std::string::npos) << error;

    attachment->EnableWire(true);
    EXPECT_TRUE(Reaches(*attachment, "wire_offered", 1000));
    EXPECT_EQ(Value(*attachment, "wire_lost"), 0u);
    EXPECT_TRUE(attachment->WireUp());
  }
  rte_vdev_uninit("net_null7");
}

TEST(PortWire, SurvivesThatThePortIsTakenAway) {
  ASSERT_EQ(rte_vdev_init("net_null8", nullptr), 0);
  const auto attachment = Open(kIpuModel, {{"wire", "port:net_null8"}, {"pause", "off"}});
  ASSERT_NE(attachment, nullptr);
  rte_vdev_uninit("net_null8");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (attachment->WireUp() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_FALSE(attachment->WireUp());
}

TEST(Service, StepsTheModelWhenTheApplicationGaveAServiceLcore) {
  if (rte_service_lcore_count() == 0) GTEST_SKIP() << "run with --service";
  const auto attachment = Open(kEnsoModel, {{"wire", "gen:rate=1M"}, {"pause", "off"}});
  ASSERT_NE(attachment, nullptr);
  uint32_t id = 0;
  ASSERT_EQ(rte_service_get_by_name("model_net_test0", &id), 0);
  attachment->EnableWire(true);
  EXPECT_TRUE(Reaches(*attachment, "wire_offered", 10'000));
  rte_service_set_stats_enable(id, 1);
  uint64_t calls = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (calls == 0 && std::chrono::steady_clock::now() < deadline) {
    rte_service_attr_get(id, RTE_SERVICE_ATTR_CALL_COUNT, &calls);
  }
  EXPECT_GT(calls, 0u);
}

TEST(Service, StepsTheModelOnAnLcoreOfTheApplicationWhereThatIsAskedFor) {
  if (rte_service_lcore_count() != 0) GTEST_SKIP() << "run without --service";
  uint32_t id = 0;
  {
    const auto attachment = Open(kIpuModel, {});
    EXPECT_NE(rte_service_get_by_name("model_net_test0", &id), 0) << "nobody asked";
  }
  for (int time = 0; time < 2; ++time) {
    const auto attachment =
        Open(kEnsoModel, {{"wire", "gen:rate=1M"}, {"pause", "off"}, {"device_cpu", "worker"}});
    ASSERT_NE(attachment, nullptr);
    ASSERT_EQ(rte_service_get_by_name("model_net_test0", &id), 0);
    EXPECT_NE(attachment->registers().Read32(0), 0xffff'ffffu) << "its own thread steps it";
    attachment->EnableWire(true);
    int32_t stepped = -1;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (stepped != 0 && std::chrono::steady_clock::now() < deadline) {
      stepped = rte_service_run_iter_on_app_lcore(id, 0);
    }
    EXPECT_EQ(stepped, 0);
    // The model's thread sleeps, so the thread that reads a register must step the model itself.
    const auto begin = std::chrono::steady_clock::now();
    for (int reads = 0; reads < 1000; ++reads) {
      rte_service_run_iter_on_app_lcore(id, 0);
      ASSERT_NE(attachment->registers().Read32(0), 0xffff'ffffu);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_TRUE(Reaches(*attachment, "wire_offered", 10'000)) << "its own thread goes on";
  }
}

}  // namespace
}  // namespace sluice::emulator

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool service = argc > 1 && std::strcmp(argv[1], "--service") == 0;
  std::vector<std::string> arguments = {
      "--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--log-level=error"};
  // The main and service lcores share one CPU.
  if (service)
    arguments.insert(arguments.end(), {"--lcores=(0,1)@0", "-S", "1"});
  else
    arguments.insert(arguments.end(), {"--lcores=0@0"});
  const sluice::EalRun eal(argv[0], arguments);
  return eal.started() ? RUN_ALL_TESTS() : 1;
}
