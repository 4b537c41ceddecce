// SPDX-License-Identifier: BSD-3-Clause
//
// Tables of counters: the name of each, and whether it counts frames that were dropped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::base {

/// Location at which the frames of a counter were dropped. Only final drops count: not sums of
/// other counters, retries, or frames that a driver returns to its caller.
enum class Dropped : uint8_t {
  kNowhere,  ///< The counter does not count final drops.
  kNic,      ///< Dropped before they reached the host, for a reason other than kRule.
  kRule,     ///< Dropped before they reached the host, by a filter or a flow rule.
  kHost,  ///< Dropped in the driver or, on transmit, in the NIC; the host's workers counted them.
  kWire,  ///< Dropped before they entered the NIC, or after they left it.
};

/// Returns whether row i of a table has the id i, for each row.
template <typename Rows>
constexpr bool InOrder(const Rows& rows) {
  size_t i = 0;
  for (const auto& row : rows) {
    if (static_cast<size_t>(row.id) != i++) return false;
  }
  return true;
}

/// A counter whose index is a value of an enumeration.
template <typename Id>
struct CounterRow {
  Id id;
  const char* name;
  Dropped at = Dropped::kNowhere;
};

/// Is not constexpr, so that a call makes a constant expression invalid.
void EachValueNeedsOneRowInOrder();

/// Returns the table of all `kCount` values of an enumeration. Does not compile unless each value
/// has one row, in the order of the values.
template <typename Id, size_t kCount>
constexpr std::array<CounterRow<Id>, kCount> CounterRows(const CounterRow<Id> (&rows)[kCount]) {
  if (!InOrder(rows)) EachValueNeedsOneRowInOrder();
  return std::to_array(rows);
}

/// Returns the names of a table, by index.
template <typename Id, size_t kCount>
constexpr std::array<std::string_view, kCount> NamesOf(
    const std::array<CounterRow<Id>, kCount>& rows) {
  std::array<std::string_view, kCount> names;
  for (size_t i = 0; i < kCount; ++i) names[i] = rows[i].name;
  return names;
}

}  // namespace sluice::base
