// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that the driver refuses features that the Ensō hardware lacks, and that the NIC's registers
// can be read.
#include <gtest/gtest.h>
#include <rte_dev_info.h>
#include <rte_ethdev.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "net_enso/fixture.h"
#include "regs/enso.h"

namespace sluice::net_enso {
namespace {

TEST(Refusals, AreThoseOfANicThatOnlyMovesBytes) {
  const Pool pool(256);
  Vdev vdev("wire=loopback");
  const uint16_t port = vdev.port();
  rte_eth_conf conf{};
  conf.intr_conf.lsc = 1;
  EXPECT_EQ(rte_eth_dev_configure(port, 1, 1, &conf), -EINVAL) << "events of the link";
  conf = {};
  conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
  EXPECT_EQ(rte_eth_dev_configure(port, 1, 1, &conf), -EINVAL);
  conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP;
  EXPECT_EQ(rte_eth_dev_configure(port, 1, 1, &conf), -EINVAL);
  vdev.Start(1, pool.get());
  EXPECT_EQ(rte_eth_dev_rx_intr_enable(port, 0), -ENOTSUP);
  EXPECT_EQ(rte_eth_timesync_enable(port), -ENOTSUP);
  uint64_t clock;
  EXPECT_EQ(rte_eth_read_clock(port, &clock), -ENOTSUP);
  char version[16];
  EXPECT_EQ(rte_eth_dev_fw_version_get(port, version, sizeof(version)), -ENOTSUP)
      << "JTAG alone reads it";
  rte_ether_addr address{{2, 0, 0, 0, 0, 9}};
  EXPECT_EQ(rte_eth_dev_mac_addr_add(port, &address, 0), -ENOTSUP);
  EXPECT_EQ(rte_eth_dev_set_mc_addr_list(port, &address, 1), -ENOTSUP);
  EXPECT_EQ(rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_STRIP_OFFLOAD), -EINVAL);
  EXPECT_EQ(rte_eth_dev_stop(port), 0);
}

TEST(Registers, OfThePagesInUseAreDumped) {
  const Pool pool(256);
  Vdev vdev("wire=loopback");
  rte_dev_reg_info info{};
  ASSERT_EQ(rte_eth_dev_get_reg_info(vdev.port(), &info), 0);
  EXPECT_EQ(info.length, 0u) << "the port has no pipe yet";
  vdev.Start(2, pool.get());
  ASSERT_EQ(rte_eth_dev_get_reg_info(vdev.port(), &info), 0);
  constexpr uint32_t kWords = 8;  // Offsets 0x00 to 0x1c.
  // There are two notification buffers that receive, each with one pipe, and two that send.
  ASSERT_EQ(info.length, 6 * kWords);
  std::vector<uint32_t> words(info.length);
  info.data = words.data();
  ASSERT_EQ(rte_eth_dev_get_reg_info(vdev.port(), &info), 0);
  const auto memory = [&](uint32_t page) {
    return uint64_t{words[page * kWords + regs::enso::kRxMemHi / 4]} << 32 |
           words[page * kWords + regs::enso::kRxMemLo / 4];
  };
  for (uint32_t page = 0; page < 6; ++page) EXPECT_NE(memory(page), 0u) << "of page " << page;
  // The low bits of a pipe's address contain its buffer's number. They are free because of the
  // pipe's alignment.
  EXPECT_NE(memory(1) & regs::enso::kPipeNbMask, memory(3) & regs::enso::kPipeNbMask);
  EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
}

}  // namespace
}  // namespace sluice::net_enso
