// SPDX-License-Identifier: BSD-3-Clause
//
// The host memory that a card reaches: whole pages, registered with the executor of its blocks, and
// the card's table of bus addresses.
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

/// Used while no block runs, by one thread.
class HostPages {
 public:
  struct Range {
    void* begin;
    size_t bytes;
  };

  /// `name` is that of the model, for the log. `executor` outlives this object.
  HostPages(std::string_view name, Executor& executor) : name_(name), executor_(executor) {}
  /// Takes all pages back.
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  /// Registers the pages of `range` until the end. False, with one line in `error`, if that fails.
  bool Keep(const Range& range, std::string* error);

  /// From now on the card reaches the pages of `ranges` and those that are kept. Registers what is
  /// new and takes back what is gone; what is in both stays registered. What cannot be registered
  /// is logged.
  void Change(std::span<const Range> ranges);

 private:
  bool Register(uintptr_t begin, uintptr_t end, std::string* error);

  const std::string name_;
  Executor& executor_;
  std::vector<Range> kept_;
  std::map<uintptr_t, uintptr_t> registered_;  ///< Begin to end.
};

/// Makes `table` of all ranges of bus addresses.
void FillTable(const std::vector<bar::DmaMapping>& ranges, device::grid::DmaTable* table);

}  // namespace sluice::emulator
