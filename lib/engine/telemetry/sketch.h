// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of counters, in each of which a flow has one that it shares with others: count-min or
// count sketch. Rows are updated one by one, for NitroSketch samples rows and not packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/telemetry/setup.h"
#include "engine/telemetry/unit.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// In 1/kUnit packets and bytes. An epoch of an hour at 80 Tb/s fits in.
struct Cell {
  int64_t packets = 0;
  int64_t bytes = 0;
};

/// Sketches can be added up if they are equal in this.
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
  /// `cells` are shape.cells() zeros, lent for as long as the sketch lives.
  Sketch(const Shape& shape, Cell* cells);

  const Shape& shape() const { return shape_; }

  /// A flow's counter in one row.
  struct Place {
    Cell* cell;
    int64_t flip;  ///< -1: the flow counts negatively; 0.

    /// The flow's share of the counter, as if it were alone.
    Cell Read() const { return {Flipped(cell->packets), Flipped(cell->bytes)}; }
    int64_t Flipped(int64_t value) const { return (value ^ flip) - flip; }
  };
  /// `hash` of the flow: 64 well-mixed bits. Each row has a hash function of its own on them.
  Place PlaceOf(uint32_t row, uint64_t hash) const {
    const uint64_t mixed = packet::FoldProduct(hash ^ salts_[row].addend, salts_[row].factor);
    const size_t column = mixed & (shape_.columns - 1);
    return {cells_ + size_t{row} * shape_.columns + column,
            static_cast<int64_t>(mixed) >> 63 & flips_};
  }
  /// Adds to a counter; returns what the flow reads there afterwards, in packets.
  static int64_t Add(Place place, int64_t packets, int64_t bytes) {
    place.cell->packets += place.Flipped(packets);
    place.cell->bytes += place.Flipped(bytes);
    return place.Flipped(place.cell->packets);
  }
  /// The same for a counter of `row`, of which it also keeps Squares.
  int64_t AddSquaring(uint32_t row, Place place, int64_t packets, int64_t bytes) {
    const auto before = static_cast<double>(place.cell->packets);
    const int64_t reading = Add(place, packets, bytes);
    const auto after = static_cast<double>(place.cell->packets);
    squares_[row] += (after - before) * (after + before);
    return reading;
  }

  /// Σ counter² of the row, in kUnit⁻² packets²: what a count sketch takes for Σ f² of the flows.
  /// As long as only AddSquaring adds, and of a merged one.
  double Squares(uint32_t row) const { return squares_[row]; }
  /// The counters of a row.
  const Cell* Row(uint32_t row) const { return cells_ + size_t{row} * shape_.columns; }

  void Clear();
  /// Makes the counters, row by row, those of another sketch of this shape.
  void Restore(std::span<const Cell> cells);
  /// The sketch of both streams. `other` has the same shape.
  void Merge(const Sketch& other);

 private:
  struct Salt {
    uint64_t addend, factor;
  };

  double SquaresOf(uint32_t row) const;

  Shape shape_;
  Cell* cells_;
  int64_t flips_;  ///< -1: signs are in use.
  std::array<Salt, Setup::kMaxRows> salts_;
  std::array<double, Setup::kMaxRows> squares_{};
};

/// How many of the least and of the largest rows MiddleOf leaves out: the median's share of
/// three rows, a quarter of many.
constexpr uint32_t TrimmedRows(uint32_t rows) { return (rows + 1) / 4; }
/// What rows say of a flow, made one number: the mean of those in the middle. TrimmedRows on either
/// side may be as wrong as they like, as with the median, whose variance is a fifth above this
/// one's. Reorders `values`; there are at most kMaxRows.
double MiddleOf(double* values, uint32_t rows);

}  // namespace sluice::engine::telemetry
