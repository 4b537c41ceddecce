// SPDX-License-Identifier: BSD-3-Clause
//
// Tests byte counts and rates of PCIe links. Expected values are those of the public model of
// Neugebauer et al. (SIGCOMM'18) and of the Ensō paper (OSDI'23), to the printed precision.
#include "bar/tlp.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::bar {
namespace {

// A completion boundary that never splits: completions may have the maximum payload.
constexpr uint32_t kNoCut = 4096;

double Gbps(uint64_t bits_per_second) { return static_cast<double>(bits_per_second) / 1e9; }

TEST(Tlp, WritesAre24BytesAroundEachPayload) {
  EXPECT_EQ(TlpWriteBytes(4, 256), 28u);  // An MSI-X.
  EXPECT_EQ(TlpWriteBytes(8, 256), 32u);
  EXPECT_EQ(TlpWriteBytes(64, 256), 88u);
  EXPECT_EQ(TlpWriteBytes(256, 256), 280u);
  EXPECT_EQ(TlpWriteBytes(257, 256), 257u + 2 * 24);
  EXPECT_EQ(TlpWriteBytes(1500, 128), 1500u + 12 * 24);
}

TEST(Tlp, ReadsAreRequestsOneWayAndCompletionsTheOther) {
  EXPECT_EQ(TlpReadBytes(8, 256, 512, kNoCut), (TlpRead{24, 28}));
  EXPECT_EQ(TlpReadBytes(64, 256, 512, kNoCut), (TlpRead{24, 84}));
  EXPECT_EQ(TlpReadBytes(512, 256, 512, kNoCut), (TlpRead{24, 512 + 2 * 20}));
  EXPECT_EQ(TlpReadBytes(1500, 256, 512, kNoCut), (TlpRead{3 * 24, 1500 + 6 * 20}));
  // Each request has separate completions.
  EXPECT_EQ(TlpReadBytes(300, 256, 128, kNoCut), (TlpRead{3 * 24, 300 + 3 * 20}));
  // A root complex may split completions at 64 bytes.
  EXPECT_EQ(TlpReadBytes(256, 256, 512, kReadCompletionBoundary), (TlpRead{24, 256 + 4 * 20}));
}

TEST(Tlp, RatesThatALinkLeavesForTlps) {
  struct Row {
    uint32_t generation, mps;
    double gbps;
  };
  const std::vector<Row> rows = {{3, 128, 111.70}, {3, 256, 113.70}, {3, 512, 114.62},
                                 {4, 128, 223.40}, {4, 256, 227.40}, {4, 512, 229.25},
                                 {5, 128, 446.80}, {5, 256, 454.80}, {5, 512, 458.49}};
  for (const Row& row : rows)
    EXPECT_NEAR(Gbps(TlpRate(row.generation, 16, row.mps)), row.gbps, 0.0075)
        << row.generation << ' ' << row.mps;
}

TEST(Tlp, UnknownLinksHaveNoRate) {
  EXPECT_EQ(TlpRate(2, 16, 256), 0u);
  EXPECT_EQ(TlpRate(6, 16, 256), 0u);
  EXPECT_EQ(TlpRate(4, 4, 256), 0u);
  EXPECT_EQ(TlpRate(4, 16, 1024), 0u);
  EXPECT_GT(TlpRate(4, 8, 256), 0u);
}

// 64-byte payloads on PCIe generation 3 x16: written, read, and both at once.
TEST(Tlp, ThroughputOf64BytePayloads) {
  struct Row {
    uint32_t mps;
    double write, read, mixed;
  };
  for (const Row& row : {Row{128, 81.2, 85.1, 63.8}, Row{256, 82.7, 86.6, 65.0}}) {
    const double rate = Gbps(TlpRate(3, 16, row.mps));
    const auto write = static_cast<double>(TlpWriteBytes(64, row.mps));
    const TlpRead read = TlpReadBytes(64, row.mps, 512, kNoCut);
    EXPECT_NEAR(rate * 64 / write, row.write, 0.06);
    EXPECT_NEAR(rate * 64 / static_cast<double>(read.completion), row.read, 0.06);
    EXPECT_NEAR(rate * 64 / (write + static_cast<double>(read.request)), row.mixed, 0.06);
  }
}

// Ensō: 39 % of the bytes that a packetized NIC reads for small packets are metadata.
TEST(Tlp, ShareOfMetadataInSmallPackets) {
  EXPECT_NEAR(FracMetadata(32, 16, 60, 256, 16), 0.393, 0.0005);
  EXPECT_NEAR(FracMetadata(32, 16, 64, 256, 16), 0.381, 0.0005);
  EXPECT_NEAR(FracMetadata(32, 16, 64, 128, 16), 0.398, 0.0005);
  // Descriptors that are fetched one by one cost more.
  EXPECT_NEAR(FracMetadata(32, 16, 60, 256, 1), (52.0 + 36) / (52 + 36 + 80), 1e-9);
}

// Ensō's notifications: 64 bytes per batch of 64 packets.
TEST(Tlp, ShareOfMetadataWhenStreaming) {
  const double share = FracMetadata(1, 0, 60, 256, 64);
  EXPECT_NEAR(share, 84.0 / 64 / (84.0 / 64 + 80), 1e-9);
  EXPECT_LT(share, 0.02);
}

// For 400 Gb/s Ethernet, PCIe with 512 Gb/s is the bottleneck as long as metadata uses 39 % of its
// bytes.
TEST(Tlp, APCIeLinkOfTheNextGenerationIsStillABottleneck) {
  EXPECT_LT(512 * (1 - FracMetadata(32, 16, 60, 256, 16)), 400);
}

// A two-message swap sends 88 bytes in each direction.
TEST(Tlp, ALinkCarriesMoreSwapsThanAnyProcessorMakes) {
  const auto swaps = [](uint32_t generation) {
    return static_cast<double>(TlpRate(generation, 16, 256)) / 8 /
           static_cast<double>(TlpWriteBytes(64, 256));
  };
  EXPECT_NEAR(swaps(3), 161e6, 1e6);
  EXPECT_NEAR(swaps(4), 323e6, 1e6);
}

}  // namespace
}  // namespace sluice::bar
