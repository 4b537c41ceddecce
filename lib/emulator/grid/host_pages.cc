// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/host_pages.h"

#include <rte_log.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "emulator/log.h"

namespace sluice::emulator {
namespace {

/// Ranges that neither overlap nor touch. Maps the start of each range to its end.
using Disjoint = std::map<uintptr_t, uintptr_t>;

/// Adds the pages of `range`.
void Add(const HostPages::Range& range, Disjoint* to) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(range.begin);
  uintptr_t end = (begin + range.bytes + page - 1) / page * page;
  begin = begin / page * page;
  auto next = to->upper_bound(begin);
  if (next != to->begin() && std::prev(next)->second >= begin) --next;
  while (next != to->end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = to->erase(next);
  }
  (*to)[begin] = end;
}

}  // namespace

HostPages::~HostPages() {
  for (const auto& [begin, end] : registered_) {
    executor_.Unregister(reinterpret_cast<void*>(begin), end - begin);
  }
}

bool HostPages::Register(uintptr_t begin, uintptr_t end, std::string* error) {
  if (!executor_.Register(reinterpret_cast<void*>(begin), end - begin, error)) return false;
  registered_[begin] = end;
  return true;
}

bool HostPages::Keep(const Range& range, std::string* error) {
  Disjoint pages;
  Add(range, &pages);
  kept_.push_back(range);
  return Register(pages.begin()->first, pages.begin()->second, error);
}

std::string HostPages::Change(std::span<const Range> ranges) {
  std::string first_error;
  Disjoint wanted;
  for (const Range& range : kept_) Add(range, &wanted);
  for (const Range& range : ranges) Add(range, &wanted);
  for (auto it = registered_.begin(); it != registered_.end();) {
    const auto next = wanted.upper_bound(it->first);
    if (next != wanted.begin() && std::prev(next)->second >= it->second) {
      ++it;
      continue;
    }
    executor_.Unregister(reinterpret_cast<void*>(it->first), it->second - it->first);
    it = registered_.erase(it);
  }
  for (const auto& [first, last] : wanted) {
    // Registers the gaps between registered ranges.
    for (uintptr_t begin = first; begin < last;) {
      const auto next = registered_.lower_bound(begin);
      const uintptr_t end = next == registered_.end() ? last : std::min(last, next->first);
      const uintptr_t go_on = end == last ? last : next->second;
      std::string error;
      if (begin < end && !Register(begin, end, &error)) {
        Log(RTE_LOG_ERR, name_ + ": " + std::to_string(end - begin) +
                             " bytes of memory cannot be mapped: " + error);
        if (first_error.empty()) first_error = error;
      }
      begin = go_on;
    }
  }
  return first_error;
}

std::vector<HostPages::Range> HostPages::Held(const Range& range) const {
  std::vector<Range> parts;
  const auto first = reinterpret_cast<uintptr_t>(range.begin), last = first + range.bytes;
  auto next = registered_.upper_bound(first);
  if (next != registered_.begin()) --next;
  for (; next != registered_.end() && next->first < last; ++next) {
    const uintptr_t begin = std::max(first, next->first), end = std::min(last, next->second);
    if (begin >= end) continue;
    auto* const at = static_cast<std::byte*>(range.begin) + (begin - first);
    if (!parts.empty() && static_cast<std::byte*>(parts.back().begin) + parts.back().bytes == at) {
      parts.back().bytes += end - begin;
    } else {
      parts.push_back({at, end - begin});
    }
  }
  return parts;
}

void FillTable(const std::vector<bar::DmaMapping>& ranges, device::grid::DmaTable* table) {
  std::vector<bar::DmaMapping> sorted = ranges;
  std::ranges::sort(sorted, {}, &bar::DmaMapping::bus);
  table->count = 0;
  for (const bar::DmaMapping& range : sorted) {
    const auto at = reinterpret_cast<uintptr_t>(range.host);
    device::grid::DmaRange* const last =
        table->count == 0 ? nullptr : &table->ranges[table->count - 1];
    if (last != nullptr && last->bus + last->bytes == range.bus && last->at + last->bytes == at) {
      last->bytes += range.bytes;
    } else if (table->count < device::grid::DmaTable::kMaxRanges) {
      table->ranges[table->count++] = {range.bus, range.bytes, at};
    }
  }
}

}  // namespace sluice::emulator
