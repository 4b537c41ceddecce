// SPDX-License-Identifier: BSD-3-Clause
//
// Tables with one row per enumeration value: its name and, for a counter, whether it counts dropped
// frames.
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
  kHost,     ///< Dropped in the driver or, on transmit, in the NIC; counted by the host's workers.
  kWire,     ///< Dropped before they entered the NIC, or after they left it.
};

/// Returns whether row i of a table has the id `first` + i, for each row.
template <typename Rows>
constexpr bool InOrder(const Rows& rows, int64_t first = 0) {
  for (const auto& row : rows) {
    if (static_cast<int64_t>(row.id) != first++) return false;
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

/// Not constexpr, so that a call makes a constant expression invalid.
void EachValueNeedsOneRowInOrder();

/// Returns the table of all `kCount` values of an enumeration. Compiles only if each value has one
/// row and the rows are in the order of the values.
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

/// A value of an enumeration and its name.
template <typename Id>
struct NameRow {
  Id id;
  std::string_view name;
};

/// Returns the names of the `kCount` values of an enumeration that start with `kFirst`; the name of
/// `kFirst` has index 0. Checks the rows as CounterRows does.
template <typename Id, size_t kCount, Id kFirst = Id{}>
constexpr std::array<std::string_view, kCount> Names(const NameRow<Id> (&rows)[kCount]) {
  if (!InOrder(rows, static_cast<int64_t>(kFirst))) EachValueNeedsOneRowInOrder();
  std::array<std::string_view, kCount> names;
  for (size_t i = 0; i < kCount; ++i) names[i] = rows[i].name;
  return names;
}

/// Returns the names of `first`, followed by those of `second`.
template <size_t kFirst, size_t kSecond>
constexpr std::array<std::string_view, kFirst + kSecond> JoinNames(
    const std::array<std::string_view, kFirst>& first,
    const std::array<std::string_view, kSecond>& second) {
  std::array<std::string_view, kFirst + kSecond> names;
  for (size_t i = 0; i < kFirst; ++i) names[i] = first[i];
  for (size_t i = 0; i < kSecond; ++i) names[kFirst + i] = second[i];
  return names;
}

}  // namespace sluice::base
