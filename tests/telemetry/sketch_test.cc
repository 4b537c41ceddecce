// SPDX-License-Identifier: BSD-3-Clause
//
// Compares sketches with exact counts.
#include "engine/telemetry/sketch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/workload/random.h"

namespace sluice::engine::telemetry {
namespace {

uint64_t HashOf(uint32_t flow) { return engine::workload::Mix(flow + 0x1234567); }

struct Lent {
  explicit Lent(const Shape& shape) : cells(shape.cells()), sketch(shape, cells.data()) {}
  std::vector<Cell> cells;
  Sketch sketch;

  void Add(uint32_t flow, int64_t packets, int64_t bytes) {
    for (uint32_t row = 0; row < sketch.shape().rows; ++row) {
      sketch.AddSquaring(row, sketch.PlaceOf(row, HashOf(flow)), packets, bytes);
    }
  }
  Cell Read(uint32_t row, uint32_t flow) const { return sketch.PlaceOf(row, HashOf(flow)).Read(); }
};

TEST(Sketch, OfACountSketchIsUnbiasedOverSeeds) {
  constexpr int kSeeds = 4000;
  double sum = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Lent lent({SketchKind::kCountSketch, 3, 16, seed});
    for (uint32_t flow = 0; flow < 100; ++flow) lent.Add(flow, 10, 0);
    sum += static_cast<double>(lent.Read(1, 0).packets);
  }
  // There are 99 other flows of 10 packets each in 16 columns, so the variance per seed is
  // 99·100/16.
  EXPECT_NEAR(sum / kSeeds, 10, 5 * std::sqrt(99 * 100 / 16.0 / kSeeds));
}

TEST(Sketch, OfACountMinNeverSaysTooLittle) {
  Lent lent({SketchKind::kCountMin, 4, 64, 1});
  for (uint32_t flow = 0; flow < 500; ++flow) lent.Add(flow, flow, 100 * flow);
  for (uint32_t flow = 0; flow < 500; ++flow) {
    for (uint32_t row = 0; row < 4; ++row) {
      EXPECT_GE(lent.Read(row, flow).packets, flow);
      EXPECT_GE(lent.Read(row, flow).bytes, 100 * flow);
    }
  }
}

TEST(Sketch, RowsPlaceFlowsIndependently) {
  constexpr uint32_t kColumns = 64, kFlows = 64 * 64 * 4;
  Lent lent({SketchKind::kCountSketch, 2, kColumns, 9});
  // The pairs of columns in two rows must be uniformly distributed (χ² test), as must the pairs of
  // signs.
  std::vector<int> pairs(kColumns * kColumns), signs(4);
  for (uint32_t flow = 0; flow < kFlows; ++flow) {
    const Sketch::Place a = lent.sketch.PlaceOf(0, HashOf(flow));
    const Sketch::Place b = lent.sketch.PlaceOf(1, HashOf(flow));
    ++pairs[static_cast<size_t>(a.cell - lent.sketch.Row(0)) * kColumns +
            static_cast<size_t>(b.cell - lent.sketch.Row(1))];
    ++signs[(a.flip != 0) * 2 + (b.flip != 0)];
  }
  double chi_squared = 0;
  for (const int count : pairs) chi_squared += (count - 4.0) * (count - 4.0) / 4.0;
  EXPECT_NEAR(chi_squared, 4095, 5 * std::sqrt(2 * 4095));
  for (const int count : signs) EXPECT_NEAR(count, kFlows / 4, 5 * std::sqrt(kFlows * 3 / 16.0));
}

TEST(Sketch, KnowsItsSumOfSquares) {
  Lent lent({SketchKind::kCountSketch, 5, 32, 2});
  for (uint32_t flow = 0; flow < 300; ++flow) lent.Add(flow, 1 + flow % 17, 1);
  for (uint32_t row = 0; row < 5; ++row) {
    double squares = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      squares += std::pow(static_cast<double>(lent.sketch.Row(row)[i].packets), 2);
    }
    EXPECT_DOUBLE_EQ(lent.sketch.Squares(row), squares);
  }
}

TEST(Sketch, MergedIsTheSketchOfBothStreams) {
  const Shape shape{SketchKind::kCountSketch, 4, 64, 3};
  Lent a(shape), b(shape), both(shape);
  for (uint32_t flow = 0; flow < 400; ++flow) {
    Lent& half = flow % 3 == 0 ? a : b;
    half.Add(flow, flow, 7 * flow);
    both.Add(flow, flow, 7 * flow);
  }
  a.sketch.Merge(b.sketch);
  for (size_t i = 0; i < shape.cells(); ++i) {
    ASSERT_EQ(a.cells[i].packets, both.cells[i].packets);
    ASSERT_EQ(a.cells[i].bytes, both.cells[i].bytes);
  }
  for (uint32_t row = 0; row < 4; ++row) {
    EXPECT_NEAR(a.sketch.Squares(row) / both.sketch.Squares(row), 1, 1e-12);
  }
}

TEST(Sketch, CountsBeyond32Bits) {
  for (const SketchKind kind : {SketchKind::kCountSketch, SketchKind::kCountMin}) {
    Lent lent({kind, 3, 16, 4});
    const int64_t packets = kUnit << 16;  // The weight of a sample at the smallest probability.
    for (int i = 0; i < 1'000'000; ++i) lent.Add(5, packets, packets * 9000);
    for (uint32_t row = 0; row < 3; ++row) {
      EXPECT_EQ(lent.Read(row, 5).packets / kUnit, 65'536'000'000);
      EXPECT_EQ(lent.Read(row, 5).bytes / kUnit, 589'824'000'000'000);
    }
  }
}

TEST(MiddleOf, LeavesOutWrongRowsOnEitherSide) {
  for (uint32_t rows = 3; rows <= Setup::kMaxRows; ++rows) {
    std::vector<double> values(rows, 7.0);
    for (uint32_t i = 0; i < TrimmedRows(rows); ++i) {
      values[2 * i] = 1e9;
      values[2 * i + 1] = -1e12;
    }
    EXPECT_EQ(MiddleOf(values.data(), rows), 7.0) << rows;
  }
  double three[] = {5, 1, 3};
  EXPECT_EQ(MiddleOf(three, 3), 3);  // The median.
}

}  // namespace
}  // namespace sluice::engine::telemetry
