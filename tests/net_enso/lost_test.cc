// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a device in another process that loses power while a port uses it. The link must go down,
// and either stop and start, or a reset, must make the port usable again.
#include <cerrno>
#include <memory>
#include <vector>

#include "device_process/device.h"
#include "net_enso/fixture.h"
#include "net_enso/rte_pmd_enso.h"

namespace sluice::net_enso {
namespace {

using emulator::DeviceThread;

class LostTest : public testing::Test {
 protected:
  LostTest() : device_(Device()), vdev_("device=" + TestSocket()), pool_(2048) {}
  ~LostTest() override { rte_eth_dev_stop(vdev_.port()); }

  static std::unique_ptr<DeviceThread> Device() {
    return std::make_unique<DeviceThread>(
        emulator::kEnsoModel, std::vector<emulator::Argument>{{"wire", "gen:size=64+flows=16"}});
  }
  bool Up() const {
    rte_eth_link link{};
    EXPECT_EQ(rte_eth_link_get_nowait(vdev_.port(), &link), 0);
    return link.link_status == RTE_ETH_LINK_UP;
  }
  bool Receives() {
    uint64_t received = 0;
    return Eventually([&] {
      rte_mbuf* mbufs[32];
      const uint16_t count = rte_eth_rx_burst(vdev_.port(), 0, mbufs, 32);
      rte_pktmbuf_free_bulk(mbufs, count);
      received += count;
      return received > 100;
    });
  }
  /// Turns the device's power off and on.
  void LosePower() {
    device_.reset();
    EXPECT_TRUE(Eventually([&] { return !Up(); }));
    const uint64_t steps = Steps();
    device_ = Device();
    EXPECT_TRUE(Eventually([&] { return Steps() > steps; })) << "it is not reached again";
  }
  uint64_t Steps() const { return vdev_.Xstat("model_total_cycles"); }

  std::unique_ptr<DeviceThread> device_;
  Vdev vdev_;
  Pool pool_;
};

TEST_F(LostTest, APortIsDownUntilItIsStartedAgain) {
  vdev_.Start(1, pool_.get());
  ASSERT_TRUE(Receives());
  const uint64_t before = vdev_.Stats().imissed + vdev_.Xstat("model_rx_frames");
  LosePower();
  EXPECT_FALSE(Up()) << "the device is there, its pipes are not";
  ASSERT_EQ(rte_eth_dev_stop(vdev_.port()), 0);
  ASSERT_EQ(rte_eth_dev_start(vdev_.port()), 0);
  EXPECT_TRUE(Up());
  EXPECT_TRUE(Receives());
  EXPECT_GE(vdev_.Stats().imissed + vdev_.Xstat("model_rx_frames"), before);
  EXPECT_EQ(vdev_.Xstat("device_stuck_rings"), 0u);
}

TEST_F(LostTest, AResetMakesAPortOfItAgain) {
  vdev_.Start(1, pool_.get());
  ASSERT_TRUE(Receives());
  LosePower();
  ASSERT_EQ(rte_eth_dev_reset(vdev_.port()), 0);
  ASSERT_EQ(rte_eth_dev_start(vdev_.port()), 0);
  EXPECT_TRUE(Up());
  EXPECT_TRUE(Receives());
}

TEST_F(LostTest, NativeBuffersOfBeforeMustBeClosedFirst) {
  vdev_.Start(1, pool_.get());
  ASSERT_EQ(rte_eth_dev_stop(vdev_.port()), 0);
  rte_pmd_enso_nb* nb = nullptr;
  ASSERT_EQ(rte_pmd_enso_nb_open(vdev_.port(), &nb), 0);
  device_.reset();
  EXPECT_TRUE(Eventually([&] { return !rte_pmd_enso_link_up(nb); }));
  EXPECT_EQ(rte_eth_dev_start(vdev_.port()), -EIO) << "it does not answer";
  device_ = Device();
  EXPECT_TRUE(Eventually([&] { return rte_pmd_enso_link_up(nb); }));
  rte_pmd_enso_nb* second = nullptr;
  EXPECT_EQ(rte_pmd_enso_nb_open(vdev_.port(), &second), -EIO);
  EXPECT_EQ(rte_eth_dev_start(vdev_.port()), -EBUSY);
  rte_pmd_enso_nb_close(nb);
  EXPECT_EQ(rte_eth_dev_start(vdev_.port()), 0);
  EXPECT_TRUE(Receives());
}

}  // namespace
}  // namespace sluice::net_enso
