// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of a pipeline stage: instructions on fields and registers, and a table that selects them.
// Tables have fixed sizes, like memories on a chip.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::device::pcie_switch {

/// Implements Op::kHash: the finalizer of MurmurHash3, which is in the public domain.
constexpr uint64_t HashOf(uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccd;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

/// Operands of instructions.
enum class Field : uint8_t {
  kWindow,     ///< Number of the window that was written.
  kSource,     ///< Port from which the message came.
  kSourceBit,  ///< 1 << kSource.
  kStream,
  kNode,    ///< Stream node that sent the message.
  kLane,    ///< Index of the node's Lane.
  kLength,  ///< Number of bytes in the message.
  kKey0,    ///< The message's key.
  kKey1,
  kSelected,  ///< Input of the policy.
  kTargets,   ///< Bit mask of the nodes that get the message.
  kTarget,    ///< Target of the current copy.
  kPort,      ///< Port of the current target.
  kScratch,
  kDrop,  ///< Reason for dropping the message; 0 if none.
};
inline constexpr uint32_t kFieldCount = static_cast<uint32_t>(Field::kDrop) + 1;

/// The fields of one TLP in the pipeline.
class Fields {
 public:
  uint64_t& operator[](Field field) { return values_[static_cast<uint32_t>(field)]; }
  uint64_t operator[](Field field) const { return values_[static_cast<uint32_t>(field)]; }

 private:
  std::array<uint64_t, kFieldCount> values_{};
};

enum class Op : uint8_t {
  kSet,         ///< to = value
  kCopy,        ///< to = from
  kAnd,         ///< to &= value
  kModulo,      ///< to %= value; value must not be 0.
  kHash,        ///< to = a hash of from
  kCount,       ///< to = register `value`, which is then incremented
  kDropUnless,  ///< drop for `reason` unless to == value
  kDropIfZero,  ///< drop for `reason` if to == 0
};

struct Instruction {
  Op op = Op::kSet;
  Field to = Field::kScratch;
  Field from = Field::kScratch;
  uint8_t reason = 0;
  uint64_t value = 0;
};

/// Action of an entry: at most four instructions.
struct Action {
  std::array<Instruction, 4> instructions{};
  uint8_t count = 0;

  Action() = default;
  Action(std::initializer_list<Instruction> list) {
    for (const Instruction& instruction : list) instructions[count++] = instruction;
  }
};

/// Runs an action. Its registers must exist.
void Execute(const Action& action, Fields& fields, std::span<uint64_t> registers);

enum class Match : uint8_t { kExact, kMasked };

using Key = std::array<uint64_t, 3>;

struct Entry {
  Key value{};
  Key mask{~0ull, ~0ull, ~0ull};  ///< Masked tables only: bits that must be equal.
  uint32_t priority = 0;          ///< Masked tables only: the lowest number wins.
  Action action{};
};

/// A table of bounded size. Lookups do not allocate.
class Table {
 public:
  Table(Match match, uint32_t capacity) : match_(match), capacity_(capacity) {}

  /// Adds an entry, or replaces the one with the same value, mask and priority. Returns false if
  /// the table is full.
  bool Set(const Entry& entry);
  /// Removes every entry that begins with these two words.
  void EraseOf(uint64_t first, uint64_t second);
  /// Removes every entry that begins with this word.
  void EraseOf(uint64_t first);
  /// Returns the action of the matching entry, or null.
  const Action* Find(const Key& key) const;

  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  uint32_t room() const { return capacity_ - size(); }
  uint32_t capacity() const { return capacity_; }
  std::span<const Entry> entries() const { return entries_; }

 private:
  Match match_;
  uint32_t capacity_;
  std::vector<Entry> entries_;  ///< Sorted by value if exact, otherwise by priority.
};

}  // namespace sluice::device::pcie_switch
