// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/host_memory.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace sluice::emulator {
namespace {

using Mapping = bar::DmaSpace::Mapping;

Mapping Map(uint64_t begin, uint64_t end) {
  return {begin, reinterpret_cast<void*>(begin), static_cast<size_t>(end - begin)};
}

}  // namespace

HostMemory::HostMemory(std::string_view name, bar::DmaSpace& dma)
    : dma_(dma), callback_name_("dma_" + std::string(name.substr(0, 48))) {
  // First the events, then what exists: what comes in between is inserted twice,
  // which has no effect. Not supported with --no-huge and --legacy-mem, where
  // memory does not change.
  rte_mem_event_callback_register(callback_name_.c_str(), Changed, this);
  rte_memseg_contig_walk(Existing, this);
}

HostMemory::~HostMemory() { rte_mem_event_callback_unregister(callback_name_.c_str(), this); }

int HostMemory::Existing(const rte_memseg_list*, const rte_memseg* segment, size_t bytes,
                         void* self) {
  static_cast<HostMemory*>(self)->Insert(segment->addr_64, segment->addr_64 + bytes);
  return 0;
}

void HostMemory::Changed(rte_mem_event event, const void* address, size_t bytes, void* self) {
  const uint64_t begin = reinterpret_cast<uint64_t>(address);
  if (event == RTE_MEM_EVENT_ALLOC) {
    static_cast<HostMemory*>(self)->Insert(begin, begin + bytes);
  } else {
    static_cast<HostMemory*>(self)->Erase(begin, begin + bytes);
  }
}

void HostMemory::Insert(uint64_t begin, uint64_t end) {
  const std::scoped_lock lock(mutex_);
  // Everything that overlaps or touches [begin, end) becomes part of it.
  std::vector<uint64_t> absorbed;
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second >= begin) --range;
  const auto first = range;
  for (; range != ranges_.end() && range->first <= end; ++range) {
    absorbed.push_back(range->first);
    begin = std::min(begin, range->first);
    end = std::max(end, range->second);
  }
  const Mapping added = Map(begin, end);
  if (!dma_.Replace(absorbed, {&added, 1})) {
    complete_ = false;
    return;
  }
  ranges_.erase(first, range);
  ranges_[begin] = end;
}

void HostMemory::Erase(uint64_t begin, uint64_t end) {
  const std::scoped_lock lock(mutex_);
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second > begin) --range;
  while (range != ranges_.end() && range->first < end) {
    const auto [old_begin, old_end] = *range;
    std::vector<Mapping> left;
    if (old_begin < begin) left.push_back(Map(old_begin, begin));
    if (old_end > end) left.push_back(Map(end, old_end));
    range = ranges_.erase(range);
    if (!dma_.Replace({&old_begin, 1}, left)) {
      // No slot for the second piece: unreachable is safer than unmapped.
      complete_ = false;
      dma_.Remove(old_begin);
      continue;
    }
    for (const Mapping& piece : left) ranges_[piece.bus] = piece.bus + piece.bytes;
  }
}

}  // namespace sluice::emulator
