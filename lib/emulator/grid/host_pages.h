// SPDX-License-Identifier: BSD-3-Clause
//
// The host memory that a card can access: whole pages registered with the executor of its blocks,
// and the card's table of bus addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bar/dma.h"
#include "device/grid/card.h"
#include "emulator/grid/executor.h"

namespace sluice::emulator {

/// The host memory that one card can access. Used by one thread while no block runs.
class HostPages {
 public:
  struct Range {
    void* begin;
    size_t bytes;
  };

  /// `name` is the model's name, for the log. `executor` must outlive this object.
  HostPages(std::string_view name, Executor& executor) : name_(name), executor_(executor) {}
  /// Unregisters all pages.
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  /// Registers the pages of `range` permanently. On failure, returns false and sets `error` to a
  /// one-line message.
  bool Keep(const Range& range, std::string* error);

  /// Makes exactly the pages of `ranges` and of earlier Keep calls accessible. Registers the pages
  /// that are missing, and unregisters all other pages. Writes a log line for each range that
  /// cannot be registered. Returns the reason for the first such range, or an empty string.
  std::string Change(std::span<const Range> ranges);
  /// Returns the parts of `range` whose pages are registered, in ascending order.
  std::vector<Range> Held(const Range& range) const;

 private:
  bool Register(uintptr_t begin, uintptr_t end, std::string* error);

  const std::string name_;
  Executor& executor_;
  std::vector<Range> kept_;
  std::map<uintptr_t, uintptr_t> registered_;  ///< Maps the start of a range to its end.
};

/// Fills `table` with as many of the bus address ranges as fit. Adjacent ranges share one table
/// entry.
void FillTable(const std::vector<bar::DmaMapping>& ranges, device::grid::DmaTable* table);

}  // namespace sluice::emulator
