// SPDX-License-Identifier: BSD-3-Clause
//
// Tests memory provided by an application, which the device can access from rte_dev_dma_map until
// rte_dev_dma_unmap.
#include <rte_errno.h>

#include "ethdev_fixture.h"
#include "external_pool.h"

namespace sluice::net_ipu::test {
namespace {

int SetUpQueue(Port& port, rte_mempool* pool) {
  return rte_eth_rx_queue_setup(port.id, 0, 512, 0, nullptr, pool);
}

void ExpectEcho(Port& port) {
  port.Start();
  EXPECT_GE(port.Echo(2000), 2000u);
  rte_eth_dev_stop(port.id);
  auto stats = port.Xstats();
  EXPECT_EQ(stats["model_rx_dma_faults"], 0u);
  EXPECT_EQ(stats["model_tx_dma_faults"], 0u);
  EXPECT_EQ(stats["wire_corrupted"], 0u);
}

TEST(Memory, OfAQueuesPoolIsReachableAsLongAsThePoolLives) {
  Port port("wire=gen:size=64+flows=4,verify=full");
  for (int i = 0; i < 2; ++i) {
    // EAL does not know this memory. The second pool may have the same address as the first pool.
    ExternalPool pool(MAP_SHARED | MAP_ANONYMOUS, -1);
    ASSERT_EQ(SetUpQueue(port, pool.get()), 0);
    ExpectEcho(port);
    ASSERT_EQ(pool.Register(), 0);
    EXPECT_EQ(pool.Map(port.id), 0) << "reachable it is";
    EXPECT_EQ(pool.Unmap(port.id), -1) << "the driver mapped it, and unmaps it";
    ASSERT_EQ(SetUpQueue(port, port.pool()), 0);
  }
}

TEST(Memory, OfAnApplicationIsReachableWhileItIsMapped) {
  ExternalPool pool(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  Port port("wire=gen:size=64+flows=4,verify=full");
  ASSERT_EQ(pool.Register(), 0);
  EXPECT_EQ(pool.Unmap(port.id), -1);
  EXPECT_EQ(rte_errno, EINVAL);
  ASSERT_EQ(pool.Map(port.id), 0);
  EXPECT_EQ(pool.Map(port.id), 0) << "once more";
  EXPECT_EQ(pool.Map(port.id, ExternalPool::kBytes / 2), 0) << "a part of it";
  EXPECT_EQ(pool.Unmap(port.id, ExternalPool::kBytes / 2), -1) << "as it was mapped, or not at all";
  ASSERT_EQ(SetUpQueue(port, pool.get()), 0);
  ExpectEcho(port);

  ASSERT_EQ(pool.Unmap(port.id), 0);
  port.Start();
  EXPECT_TRUE(port.ReceiveUntil([&] { return port.Xstats()["model_rx_dma_faults"] != 0; },
                                [](uint16_t, rte_mbuf*) { ADD_FAILURE() << "received"; }));
  rte_eth_dev_stop(port.id);
  // Ensures that the queue has returned its buffers before the pool is freed.
  ASSERT_EQ(SetUpQueue(port, port.pool()), 0);
}

}  // namespace
}  // namespace sluice::net_ipu::test
