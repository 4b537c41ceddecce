// SPDX-License-Identifier: BSD-3-Clause
//
// A count-min or count sketch: rows of counters. In each row, a flow uses one counter, which other
// flows may share. Rows are updated separately, because NitroSketch samples rows instead of
// packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/telemetry/setup.h"
#include "engine/telemetry/unit.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// A counter, in units of 1/kUnit packets and bytes. It can count an hour at 80 Tb/s without
/// overflow.
struct Cell {
  int64_t packets = 0;
  int64_t bytes = 0;
};

/// Kind and size of a sketch. Sketches with equal shapes can be added.
struct Shape {
  SketchKind kind = SketchKind::kCountSketch;
  uint32_t rows = 0;
  uint32_t columns = 0;  ///< A power of two.
  uint64_t seed = 0;

  friend bool operator==(const Shape&, const Shape&) = default;
  size_t cells() const { return size_t{rows} * columns; }
};

class Sketch {
 public:
  /// `cells` points to shape.cells() zeroed cells, which must outlive the sketch.
  Sketch(const Shape& shape, Cell* cells);

  const Shape& shape() const { return shape_; }

  /// The counter of a flow in one row.
  struct Place {
    Cell* cell;
    int64_t flip;  ///< -1 if the flow counts negatively, otherwise 0.

    /// Returns the flow's count, assuming that no other flow uses the counter.
    Cell Read() const { return {Flipped(cell->packets), Flipped(cell->bytes)}; }
    int64_t Flipped(int64_t value) const { return (value ^ flip) - flip; }
  };
  /// Returns the flow's counter in a row. `hash` must be well mixed; each row derives its own hash
  /// from it.
  Place PlaceOf(uint32_t row, uint64_t hash) const {
    const uint64_t mixed = packet::FoldProduct(hash ^ salts_[row].addend, salts_[row].factor);
    const size_t column = mixed & (shape_.columns - 1);
    return {cells_ + size_t{row} * shape_.columns + column,
            static_cast<int64_t>(mixed) >> 63 & flips_};
  }
  /// Adds to a counter. Returns the flow's count as read from it, in units of 1/kUnit packets.
  static int64_t Add(Place place, int64_t packets, int64_t bytes) {
    place.cell->packets += place.Flipped(packets);
    place.cell->bytes += place.Flipped(bytes);
    return place.Flipped(place.cell->packets);
  }
  /// Like Add for a counter of `row`, and also updates Squares.
  int64_t AddSquaring(uint32_t row, Place place, int64_t packets, int64_t bytes) {
    const auto before = static_cast<double>(place.cell->packets);
    const int64_t reading = Add(place, packets, bytes);
    const auto after = static_cast<double>(place.cell->packets);
    squares_[row] += (after - before) * (after + before);
    return reading;
  }

  /// Returns Σ counter² of the row, in kUnit⁻² packets². For a count sketch, this estimates Σ f²
  /// over all flows. Valid only after Merge or Restore, or if all packets were added with
  /// AddSquaring.
  double Squares(uint32_t row) const { return squares_[row]; }
  /// Returns the counters of a row.
  const Cell* Row(uint32_t row) const { return cells_ + size_t{row} * shape_.columns; }

  void Clear();
  /// Sets the counters, row by row, to those of another sketch of the same shape.
  void Restore(std::span<const Cell> cells);
  /// Adds the counts of `other`, which must have the same shape.
  void Merge(const Sketch& other);

 private:
  struct Salt {
    uint64_t addend, factor;
  };

  double SquaresOf(uint32_t row) const;

  Shape shape_;
  Cell* cells_;
  int64_t flips_;  ///< -1 if the sketch uses signs, otherwise 0.
  std::array<Salt, Setup::kMaxRows> salts_;
  std::array<double, Setup::kMaxRows> squares_{};
};

/// Returns how many of the smallest readings MiddleOf ignores; it ignores as many of the largest.
/// This is 1 for three rows, so that the median remains, and about a quarter of a large number of
/// rows.
constexpr uint32_t TrimmedRows(uint32_t rows) { return (rows + 1) / 4; }
/// Combines a flow's readings from all rows by returning the mean of the middle ones. Up to
/// TrimmedRows readings can be far too small, and as many far too large, without dominating the
/// result. The median would tolerate at least as many, but its variance is a fifth higher. Reorders
/// `values`; `rows` is at most kMaxRows.
double MiddleOf(double* values, uint32_t rows);

}  // namespace sluice::engine::telemetry
