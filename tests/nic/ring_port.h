// SPDX-License-Identifier: BSD-3-Clause
//
// A port for queues on an ethdev. The test acts as the port's peer.
#pragma once

#include <gtest/gtest.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "frames.h"
#include "nic/eth_port.h"

namespace sluice::nic_test {

inline constexpr uint32_t kTransmitRing = 256;  ///< Number of entries, one of which is always free.

/// A port made of two rings, and a pool for the test's frames.
class RingPort : public testing::Test {
 protected:
  void SetUp() override {
    static int serial = 0;
    const std::string id = std::to_string(serial++);
    receive_ = rte_ring_create(("rx" + id).c_str(), 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
    transmit_ =
        rte_ring_create(("tx" + id).c_str(), kTransmitRing, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
    pool_ =
        rte_pktmbuf_pool_create(("pool" + id).c_str(), 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    ASSERT_TRUE(receive_ != nullptr && transmit_ != nullptr && pool_ != nullptr);
    const int port = rte_eth_from_rings(("ring" + id).c_str(), &receive_, 1, &transmit_, 1, 0);
    ASSERT_GE(port, 0);
    std::string error;
    port_ = nic::EthPort::Open(static_cast<uint16_t>(port), {}, &error);
    ASSERT_NE(port_, nullptr) << error;
  }

  void TearDown() override {
    Sent();
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u) << "a received mbuf is missing";
    EXPECT_EQ(rte_mempool_in_use_count(port_->pool(0)), 0u) << "a copied mbuf is missing";
    port_.reset();
    rte_ring_free(receive_);
    rte_ring_free(transmit_);
    rte_mempool_free(pool_);
  }

  rte_mbuf* Mbuf(const Bytes& frame) {
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_);
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())), frame.data(),
                frame.size());
    return mbuf;
  }
  void Receive(rte_mbuf* mbuf) { ASSERT_EQ(rte_ring_enqueue(receive_, mbuf), 0); }
  void Receive(const Bytes& frame) { Receive(Mbuf(frame)); }

  /// Returns the transmitted frames and frees their mbufs.
  std::vector<Bytes> Sent() {
    std::vector<Bytes> frames;
    void* object = nullptr;
    while (rte_ring_dequeue(transmit_, &object) == 0) {
      auto* const mbuf = static_cast<rte_mbuf*>(object);
      EXPECT_EQ(mbuf->nb_segs, 1);
      EXPECT_EQ(mbuf->pkt_len, mbuf->data_len);
      const auto* const data = rte_pktmbuf_mtod(mbuf, const uint8_t*);
      frames.emplace_back(data, data + mbuf->pkt_len);
      rte_pktmbuf_free(mbuf);
    }
    return frames;
  }

  rte_ring* receive_ = nullptr;
  rte_ring* transmit_ = nullptr;
  rte_mempool* pool_ = nullptr;
  std::unique_ptr<nic::EthPort> port_;
};

}  // namespace sluice::nic_test
