// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a port's addresses, groups and VLANs: which frames its filter accepts, and VLAN tags in
// mbufs. All sent frames are looped back.
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "ethdev_fixture.h"

namespace sluice::net_ipu::test {
namespace {

using Address = std::array<uint8_t, 6>;

rte_ether_addr ToEther(const Address& address) {
  rte_ether_addr ether;
  std::copy(address.begin(), address.end(), ether.addr_bytes);
  return ether;
}

std::string FrameTo(const Address& destination) {
  std::string frame(60, '\0');
  std::copy(destination.begin(), destination.end(), frame.begin());
  return frame;
}

/// Returns, for each address, whether the port receives a frame to that address.
std::vector<bool> Taken(Port& port, const std::vector<Address>& destinations) {
  std::vector<bool> taken;
  for (const Address& destination : destinations) {
    const uint64_t filtered = port.Xstats().at("model_rx_filtered");
    port.Send(port.Fill(FrameTo(destination)));
    bool received = false;
    EXPECT_TRUE(port.ReceiveUntil(
        [&] { return received || port.Xstats().at("model_rx_filtered") > filtered; },
        [&](uint16_t, rte_mbuf*) { received = true; }));
    taken.push_back(received);
  }
  return taken;
}

TEST(Addresses, SeveralAreThePortsOwnAndGroupsAreAList) {
  Port port("wire=loopback");
  ASSERT_EQ(rte_eth_promiscuous_disable(port.id), 0);
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(port.id, &info), 0);
  EXPECT_GT(info.max_mac_addrs, 1u);
  const Address second = {2, 0, 0, 0, 0, 2}, third = {2, 0, 0, 0, 0, 3};
  const Address group = {1, 0, 0x5e, 0, 0, 9}, other_group = {1, 0, 0x5e, 0, 0, 8};
  const std::vector<Address> all = {second, third, group, other_group};
  rte_ether_addr second_ether = ToEther(second), third_ether = ToEther(third);
  rte_ether_addr groups[] = {ToEther(group)};
  ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id, &second_ether, 0), 0);
  port.Start();
  EXPECT_EQ(Taken(port, all), (std::vector<bool>{true, false, false, false}));
  ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id, &third_ether, 0), 0);
  ASSERT_EQ(rte_eth_dev_set_mc_addr_list(port.id, groups, 1), 0);
  EXPECT_EQ(Taken(port, all), (std::vector<bool>{true, true, true, false}));
  ASSERT_EQ(rte_eth_dev_mac_addr_remove(port.id, &second_ether), 0);
  groups[0] = ToEther(other_group);
  ASSERT_EQ(rte_eth_dev_set_mc_addr_list(port.id, groups, 1), 0);
  EXPECT_EQ(Taken(port, all), (std::vector<bool>{false, true, false, true}));
  ASSERT_EQ(rte_eth_allmulticast_enable(port.id), 0);
  EXPECT_EQ(Taken(port, all), (std::vector<bool>{false, true, true, true}));
  ASSERT_EQ(rte_eth_allmulticast_disable(port.id), 0);
  // The filters must persist across a stop and a reset.
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  port.Start();
  EXPECT_EQ(Taken(port, all), (std::vector<bool>{false, true, false, true}));
  ASSERT_EQ(rte_eth_dev_reset(port.id), 0);
  port.Start();
  EXPECT_EQ(Taken(port, all), (std::vector<bool>{false, true, false, true}));
  std::vector<rte_ether_addr> many(200, ToEther(group));
  EXPECT_EQ(rte_eth_dev_set_mc_addr_list(port.id, many.data(), 200), -ENOSPC);
}

/// Returns an IPv4/UDP frame without a tag.
std::string UntaggedFrame() {
  std::string frame = FrameTo({2, 0, 0, 0, 0, 7});
  frame[12] = 0x08, frame[14] = 0x45, frame[17] = 46, frame[22] = 64, frame[23] = 17;
  for (size_t i = 42; i < frame.size(); ++i) frame[i] = static_cast<char>(i);
  return frame;
}
std::string TaggedFrame(uint16_t tag) {
  std::string frame = UntaggedFrame();
  const char bytes[] = {'\x81', '\x00', static_cast<char>(tag >> 8), static_cast<char>(tag)};
  return frame.insert(12, bytes, 4);
}

struct Received {
  std::string bytes;
  uint64_t flags;
  uint16_t tci;
  uint32_t type;
};

/// Sends `count` frames in one burst. Returns the received frames.
std::vector<Received> SendAndReceive(Port& port, const std::string& frame, uint64_t flags,
                                     uint16_t tci, uint16_t count) {
  std::vector<rte_mbuf*> mbufs;
  for (uint16_t i = 0; i < count; ++i) {
    mbufs.push_back(port.Fill(frame));
    mbufs.back()->ol_flags |= flags;
    mbufs.back()->vlan_tci = tci;
  }
  EXPECT_EQ(rte_eth_tx_burst(port.id, 0, mbufs.data(), count), count);
  std::vector<Received> received;
  EXPECT_TRUE(
      port.ReceiveUntil([&] { return received.size() == count; },
                        [&](uint16_t, rte_mbuf* m) {
                          std::string bytes(m->pkt_len, '\0');
                          const void* const data = rte_pktmbuf_read(m, 0, m->pkt_len, bytes.data());
                          std::memmove(bytes.data(), data, bytes.size());
                          received.push_back({bytes, m->ol_flags, m->vlan_tci, m->packet_type});
                        }));
  return received;
}

constexpr uint64_t kStripped = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;

TEST(Vlan, TagsAreInsertedAndStrippedWhileThePortRuns) {
  struct Case {
    const char* bursts;
    uint16_t room, mtu, count;
  };
  // The cases cover the three receive paths: vector, scalar (fewer frames than a group), and frames
  // in several buffers.
  for (const Case& c : {Case{"vector", 2048, 1500, 8}, Case{"scalar", 2048, 1500, 1},
                        Case{"scattered", 192, 1500, 8}}) {
    SCOPED_TRACE(c.bursts);
    Port port("wire=loopback",
              {.tx_offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT, .mtu = c.mtu, .room = c.room});
    port.Start();
    std::string plain = UntaggedFrame();
    for (const auto& r : SendAndReceive(port, plain, RTE_MBUF_F_TX_VLAN, 0xa064, c.count)) {
      EXPECT_EQ(r.bytes, TaggedFrame(0xa064));
      EXPECT_EQ(r.flags & kStripped, 0u);
      EXPECT_EQ(r.type & RTE_PTYPE_L2_MASK, RTE_PTYPE_L2_ETHER_VLAN);
    }
    ASSERT_EQ(rte_eth_dev_set_vlan_offload(port.id, RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
    EXPECT_EQ(rte_eth_dev_get_vlan_offload(port.id), RTE_ETH_VLAN_STRIP_OFFLOAD);
    for (const uint16_t tci : {0x0001, 0x0fff, 0x3fff, 0x4000, 0x8000, 0xffff}) {
      for (const auto& r : SendAndReceive(port, plain, RTE_MBUF_F_TX_VLAN, tci, c.count)) {
        EXPECT_EQ(r.bytes, plain);
        EXPECT_EQ(r.flags & kStripped, kStripped);
        EXPECT_EQ(r.tci, tci);
        EXPECT_EQ(r.type, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP);
      }
    }
    for (const auto& r : SendAndReceive(port, plain, 0, 0x1234, c.count)) {
      EXPECT_EQ(r.bytes, plain);
      EXPECT_EQ(r.flags & kStripped, 0u);
      EXPECT_EQ(r.tci, 0u);
    }
    ASSERT_EQ(rte_eth_dev_set_vlan_offload(port.id, 0), 0);
    EXPECT_EQ(SendAndReceive(port, TaggedFrame(7), 0, 0, 1)[0].bytes, TaggedFrame(7));
  }
}

TEST(Vlan, AFilterTakesItsVlansAndWhatHasNoTag) {
  Port port("wire=loopback", {.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER});
  port.Start();
  ASSERT_EQ(rte_eth_dev_vlan_filter(port.id, 100, 1), 0);
  ASSERT_EQ(rte_eth_dev_vlan_filter(port.id, 101, 1), 0);
  ASSERT_EQ(rte_eth_dev_vlan_filter(port.id, 101, 0), 0);
  for (const uint16_t tag : {101, 100, 99}) port.Send(port.Fill(TaggedFrame(tag)));
  port.Send(port.Fill(UntaggedFrame()));
  std::vector<std::string> received;
  EXPECT_TRUE(port.ReceiveUntil([&] { return received.size() == 2; },
                                [&](uint16_t, rte_mbuf* m) {
                                  received.emplace_back(rte_pktmbuf_mtod(m, const char*),
                                                        m->pkt_len);
                                }));
  EXPECT_EQ(received, (std::vector<std::string>{TaggedFrame(100), UntaggedFrame()}));
  EXPECT_EQ(port.Xstats().at("model_rx_filtered"), 2u);
}

}  // namespace
}  // namespace sluice::net_ipu::test
