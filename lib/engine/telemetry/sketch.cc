// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/sketch.h"

#include <algorithm>
#include <numeric>

#include "engine/workload/random.h"

namespace sluice::engine::telemetry {

Sketch::Sketch(const Shape& shape, Cell* cells)
    : shape_(shape), cells_(cells), flips_(shape.kind == SketchKind::kCountSketch ? -1 : 0) {
  workload::Random random(shape.seed);
  for (Salt& salt : salts_) salt = {random.Next(), random.Next() | 1};
}

void Sketch::Clear() {
  std::fill_n(cells_, shape_.cells(), Cell{});
  squares_ = {};
}

void Sketch::Merge(const Sketch& other) {
  for (uint32_t row = 0; row < shape_.rows; ++row) {
    for (size_t i = size_t{row} * shape_.columns; i < size_t{row + 1} * shape_.columns; ++i) {
      cells_[i].packets += other.cells_[i].packets;
      cells_[i].bytes += other.cells_[i].bytes;
    }
    squares_[row] = SquaresOf(row);
  }
}

void Sketch::Restore(std::span<const Cell> cells) {
  std::ranges::copy(cells.first(shape_.cells()), cells_);
  for (uint32_t row = 0; row < shape_.rows; ++row) squares_[row] = SquaresOf(row);
}

double Sketch::SquaresOf(uint32_t row) const {
  double squares = 0;
  for (size_t i = size_t{row} * shape_.columns; i < size_t{row + 1} * shape_.columns; ++i) {
    squares += static_cast<double>(cells_[i].packets) * static_cast<double>(cells_[i].packets);
  }
  return squares;
}

double MiddleOf(double* values, uint32_t rows) {
  std::sort(values, values + rows);
  const uint32_t trimmed = TrimmedRows(rows);
  return std::accumulate(values + trimmed, values + rows - trimmed, 0.0) / (rows - 2 * trimmed);
}

}  // namespace sluice::engine::telemetry
