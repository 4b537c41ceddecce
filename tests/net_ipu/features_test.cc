// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev_fixture.h"
#include "feature_table.h"

namespace sluice::net_ipu::test {
namespace {

TEST(Features, TheTableIsWhatThePortReports) {
  Port port("wire=loopback");
  ExpectFeatures(port.id, FEATURES);
}

}  // namespace
}  // namespace sluice::net_ipu::test
