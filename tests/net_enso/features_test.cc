// SPDX-License-Identifier: BSD-3-Clause
#include "feature_table.h"
#include "net_enso/fixture.h"

namespace sluice::net_enso {
namespace {

TEST(Features, TheTableIsWhatThePortReports) {
  const Pool pool(256);
  Vdev vdev("wire=loopback");
  vdev.Start(1, pool.get());
  ExpectFeatures(vdev.port(), FEATURES);
  EXPECT_EQ(rte_eth_dev_stop(vdev.port()), 0);
}

}  // namespace
}  // namespace sluice::net_enso
