// SPDX-License-Identifier: BSD-3-Clause
//
// Probes and maps the FPGA with a fake sysfs tree whose BAR is a file. If huge pages are available,
// the registers of an opened buffer are also checked in that file.
#include <fcntl.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_memory.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../eal_run.h"
#include "gtest/gtest.h"
#include "net_enso/rte_pmd_enso.h"
#include "regs/enso.h"

namespace {

namespace fs = std::filesystem;
using namespace sluice::regs::enso;

constexpr const char* kGood = "0000:81:00.0";
constexpr const char* kSmallBar = "0000:82:00.0";  ///< Another bitstream, whose BAR 2 has 1 MiB.
constexpr const char* kOther = "0000:83:00.0";     ///< Another device from the same vendor.

fs::path tree;

void AddDevice(const std::string& address, const char* device, uint64_t bar2_bytes) {
  const fs::path folder = tree / address;
  fs::create_directories(folder);
  const auto put = [&](const char* file, const std::string& text) {
    std::ofstream(folder / file) << text;
  };
  put("vendor", "0x1172\n");
  put("device", device);
  put("subsystem_vendor", "0x0000\n");
  put("subsystem_device", "0x0000\n");
  put("class", "0x020000\n");
  put("numa_node", "-1\n");
  char line[128];
  std::string resources =
      "0x00000000e0000000 0x00000000e000ffff 0x000000000014220c\n"
      "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
  std::snprintf(line, sizeof(line), "0x%016llx 0x%016llx 0x000000000014220c\n", 0x1'0000'0000ull,
                0x1'0000'0000ull + bar2_bytes - 1);
  resources += line;
  for (int i = 3; i < 13; ++i)
    resources += "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
  put("resource", resources);
  put("config", std::string(256, '\0'));
  put("resource2", "");
  fs::resize_file(folder / "resource2", kBarBytes);
  // EAL ignores a device without a kernel driver; this is Ensō's driver.
  fs::create_directory_symlink("/sys/bus/pci/drivers/intel_fpga_pcie_drv", folder / "driver");
}

uint64_t BarRegister(uint32_t offset) {
  std::ifstream file(tree / kGood / "resource2", std::ios::binary);
  uint64_t value = 0;
  file.seekg(offset).read(reinterpret_cast<char*>(&value), sizeof(value));
  return value;
}

bool HugePagesFree() {
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  unsigned pages = 0;
  file >> pages;
  return pages >= 80;
}

TEST(Pci, TheFpgaBecomesAPort) {
  uint16_t port = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(kGood, &port), 0);
  EXPECT_TRUE(rte_pmd_enso_supported(port));
  rte_eth_link link{};
  ASSERT_EQ(rte_eth_link_get_nowait(port, &link), 0);
  EXPECT_EQ(rte_eth_dev_set_link_up(port), -ENOTSUP) << "there is no wire to switch";
}

TEST(Pci, MemoryDecodingAndBusMasteringAreEnabled) {
  std::ifstream file(tree / kGood / "config", std::ios::binary);
  uint16_t command = 0;
  file.seekg(4).read(reinterpret_cast<char*>(&command), sizeof(command));
  EXPECT_EQ(command, 0x0006);
}

TEST(Pci, OtherDevicesAndOtherBitstreamsAreLeftAlone) {
  uint16_t port = 0;
  EXPECT_NE(rte_eth_dev_get_port_by_name(kSmallBar, &port), 0);
  EXPECT_NE(rte_eth_dev_get_port_by_name(kOther, &port), 0);
}

TEST(Pci, BufferIsBroughtUpInTheBar) {
  uint16_t port = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(kGood, &port), 0);
  rte_pmd_enso_nb* nb = nullptr;
  const int result = rte_pmd_enso_nb_open(port, &nb);
  if (rte_eal_iova_mode() != RTE_IOVA_PA) {
    EXPECT_EQ(result, -ENOMEM) << "no memory that the FPGA could reach, and no crash";
    return;
  }
  ASSERT_EQ(result, 0);
  // Buffer 0 belongs to the driver, and the test opened buffer 1. Its RX ring is in the first MiB
  // of a huge page, and its TX ring in the second.
  const uint64_t rx_mem = BarRegister(NbPage(1) + kRxMemLo);
  EXPECT_EQ(rx_mem % (2 << 20), 0u);
  EXPECT_NE(rx_mem, 0u);
  EXPECT_EQ(BarRegister(NbPage(1) + kTxMemLo), rx_mem + (1 << 20));
  rte_pmd_enso_pipe* pipe = nullptr;
  ASSERT_EQ(rte_pmd_enso_pipe_open(nb, RTE_PMD_ENSO_RX, 0, &pipe), 0);
  const uint64_t pipe_mem = BarRegister(PipePage(8191) + kRxMemLo);
  EXPECT_EQ(pipe_mem & 0x3ff, 1u) << "the buffer's id";
  EXPECT_EQ(pipe_mem & ~uint64_t{0x3ff}, rte_mem_virt2phy(rte_pmd_enso_pipe_memory(pipe)));
  rte_pmd_enso_pipe_close(pipe);
  EXPECT_EQ(BarRegister(PipePage(8191) + kRxMemLo), 0u);
  rte_pmd_enso_nb_close(nb);
  EXPECT_EQ(BarRegister(NbPage(1) + kRxMemLo), 0u);
}

TEST(Pci, ClosingReleasesThePort) {
  uint16_t port = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(kGood, &port), 0);
  EXPECT_EQ(rte_eth_dev_close(port), 0);
  EXPECT_FALSE(rte_pmd_enso_supported(port));
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string name = testing::TempDir() + "net_enso_pci_XXXXXX";
  tree = mkdtemp(name.data());
  AddDevice(kGood, "0x0000\n", 1u << 30);
  AddDevice(kSmallBar, "0x0000\n", 1u << 20);
  AddDevice(kOther, "0x09c4\n", 1u << 30);
  setenv("SYSFS_PCI_DEVICES", tree.c_str(), 1);
  int result = 1;
  if (const sluice::EalRun eal(argv[0], {"-l", "0", "--no-telemetry", "-m", "64",
                                         HugePagesFree() ? "--iova-mode=pa" : "--no-huge"});
      eal.started()) {
    result = RUN_ALL_TESTS();
  }
  fs::remove_all(tree);
  return result;
}
