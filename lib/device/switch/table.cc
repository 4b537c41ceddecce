// SPDX-License-Identifier: BSD-3-Clause
#include "device/switch/table.h"

#include <algorithm>

namespace sluice::device::pcie_switch {
namespace {

bool Covers(const Entry& entry, const Key& key) {
  uint64_t difference = 0;
  for (uint32_t i = 0; i < key.size(); ++i) difference |= (entry.value[i] ^ key[i]) & entry.mask[i];
  return difference == 0;
}

}  // namespace

void Execute(const Action& action, Fields& fields, std::span<uint64_t> registers) {
  for (uint32_t i = 0; i < action.count; ++i) {
    const Instruction& in = action.instructions[i];
    uint64_t& to = fields[in.to];
    bool drop = false;
    switch (in.op) {
      case Op::kSet:
        to = in.value;
        break;
      case Op::kCopy:
        to = fields[in.from];
        break;
      case Op::kAnd:
        to &= in.value;
        break;
      case Op::kModulo:
        to %= in.value;
        break;
      case Op::kHash:
        to = HashOf(fields[in.from]);
        break;
      case Op::kCount:
        to = registers[in.value]++;
        break;
      case Op::kDropUnless:
        drop = to != in.value;
        break;
      case Op::kDropIfZero:
        drop = to == 0;
        break;
    }
    if (drop) {
      fields[Field::kDrop] = in.reason;
      return;
    }
  }
}

bool Table::Set(const Entry& entry) {
  const auto same = [&](const Entry& other) {
    return other.value == entry.value &&
           (match_ == Match::kExact ||
            (other.mask == entry.mask && other.priority == entry.priority));
  };
  if (const auto it = std::ranges::find_if(entries_, same); it != entries_.end()) {
    *it = entry;
    return true;
  }
  if (room() == 0) return false;
  const auto before = [&](const Entry& a, const Entry& b) {
    return match_ == Match::kExact ? a.value < b.value : a.priority < b.priority;
  };
  entries_.insert(std::ranges::upper_bound(entries_, entry, before), entry);
  return true;
}

void Table::EraseOf(uint64_t first, uint64_t second) {
  std::erase_if(entries_, [&](const Entry& entry) {
    return entry.value[0] == first && entry.value[1] == second;
  });
}

void Table::EraseOf(uint64_t first) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.value[0] == first; });
}

const Action* Table::Find(const Key& key) const {
  if (match_ == Match::kExact) {
    const auto it = std::ranges::lower_bound(entries_, key, {}, &Entry::value);
    return it != entries_.end() && it->value == key ? &it->action : nullptr;
  }
  const auto it =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return Covers(entry, key); });
  return it != entries_.end() ? &it->action : nullptr;
}

}  // namespace sluice::device::pcie_switch
