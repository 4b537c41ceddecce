// SPDX-License-Identifier: BSD-3-Clause
//
// The flow table (hardware sheet, section 5): four sub-tables of 2048 rows, a key
// may stand in one row of each. There is no delete and no eviction.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "regs/enso.h"

namespace sluice::device::enso {

/// What the table compares; host-order integers. The protocol is no part of it.
struct FlowKey {
  uint32_t dst_ip = 0;
  uint32_t src_ip = 0;
  uint16_t dst_port = 0;
  uint16_t src_port = 0;

  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

/// The 32-bit hash of sub-table `index`; its low 11 bits are the row.
uint32_t FlowHash(const FlowKey& key, uint32_t index);

class FlowTable {
 public:
  /// No entry, or one that holds kUnbind.
  static constexpr uint32_t kMiss = regs::enso::kUnbind;

  /// Overwrites the entry of the same key, else takes the first free row. False if
  /// all four are taken: the hardware says nothing.
  bool Insert(const FlowKey& key, uint32_t pipe);
  uint32_t Find(const FlowKey& key) const;

 private:
  struct Entry {
    FlowKey key;
    uint32_t pipe = 0;
    bool valid = false;
  };
  using Rows = std::array<std::array<Entry, regs::enso::kSubTableRows>, regs::enso::kSubTables>;

  Entry& Row(const FlowKey& key, uint32_t index) const {
    return (*rows_)[index][FlowHash(key, index) % regs::enso::kSubTableRows];
  }

  std::unique_ptr<Rows> rows_ = std::make_unique<Rows>();
};

}  // namespace sluice::device::enso
