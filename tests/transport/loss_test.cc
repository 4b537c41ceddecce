// SPDX-License-Identifier: BSD-3-Clause
//
// Tests connections over a wire that loses, reorders, duplicates and corrupts frames. Every byte
// must arrive once and in order. With the argument `long`, ten times as many bytes are sent.
#include <gtest/gtest.h>

#include <cstring>

#include "wire.h"

namespace sluice::transport {
namespace {

uint64_t total_bytes = 100'000'000;

struct Faults {
  const char* name;
  double loss, reordering, duplication, corruption;
};

class LossTest : public testing::TestWithParam<Faults> {};
INSTANTIATE_TEST_SUITE_P(Wire, LossTest,
                         testing::Values(Faults{"Loss", 0.001, 0, 0, 0},
                                         Faults{"HeavyLoss", 0.03, 0, 0, 0},
                                         Faults{"Reordering", 0, 0.01, 0, 0},
                                         Faults{"Duplication", 0, 0, 0.05, 0},
                                         Faults{"Corruption", 0, 0, 0, 0.001},
                                         Faults{"All", 0.002, 0.005, 0.005, 0.002}),
                         [](const auto& info) { return info.param.name; });

TEST_P(LossTest, EveryByteArrivesOnceAndInOrder) {
  constexpr uint64_t kConnections = 5;
  // Under heavy loss, a connection spends more time waiting than sending.
  const uint64_t bytes = total_bytes / 6 / kConnections;
  Wire wire(7);
  wire.loss = GetParam().loss;
  wire.reordering = GetParam().reordering;
  wire.duplication = GetParam().duplication;
  wire.corruption = GetParam().corruption;
  wire.client().to_send = wire.server().to_send = bytes;
  for (uint64_t i = 0; i < kConnections; ++i) wire.Connect(i % 2 == 1);
  wire.Run(100'000'000'000'000, [&] {
    return wire.client().closed == kConnections && wire.server().closed == kConnections;
  });
  for (Host* host : {&wire.client(), &wire.server()}) {
    ASSERT_EQ(host->connections().size(), kConnections);
    for (const auto& [id, connection] : host->connections()) {
      EXPECT_EQ(connection.received, bytes);
      EXPECT_EQ(connection.end, End::kFinished);
    }
    EXPECT_EQ(host->stack().counters().no_memory, 0u);
    if (GetParam().loss != 0) {
      EXPECT_NE(host->stack().counters().retransmitted, 0u);
    }
    EXPECT_EQ(host->stack().counters().bad_segments != 0, GetParam().corruption != 0);
  }
  RecordProperty("virtual_ms", static_cast<int>(wire.now / 1'000'000));
  RecordProperty("frames", static_cast<int>(wire.frames));
}

}  // namespace
}  // namespace sluice::transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "long") == 0) sluice::transport::total_bytes *= 10;
  return RUN_ALL_TESTS();
}
