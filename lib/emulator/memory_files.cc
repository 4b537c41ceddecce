// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/memory_files.h"

#include <iterator>

namespace sluice::emulator {

bool MemoryFiles::Find(const rte_memseg_list& list, uint64_t begin, uint64_t end,
                       std::map<uint64_t, Piece>* found) {
  bool complete = true;
  for (uint64_t bus = begin; bus < end; bus += list.page_sz) {
    const rte_memseg* const segment =
        rte_mem_virt2memseg(reinterpret_cast<const void*>(bus), &list);
    size_t offset = 0;
    const int fd = segment != nullptr ? rte_memseg_get_fd_thread_unsafe(segment) : -1;
    if (fd < 0 || rte_memseg_get_fd_offset_thread_unsafe(segment, &offset) != 0) {
      complete = false;
      continue;
    }
    if (!found->empty()) {
      auto& [last_bus, last] = *std::prev(found->end());
      if (last.fd == fd && last_bus + last.bytes == bus && last.offset + last.bytes == offset) {
        last.bytes += list.page_sz;
        continue;
      }
    }
    (*found)[bus] = {list.page_sz, offset, list.addr_64, list.len, fd};
  }
  return complete;
}

bool MemoryFiles::Holds(uint64_t bus, const Piece& piece) const {
  auto old = pieces_.upper_bound(bus);
  if (old == pieces_.begin()) return false;
  --old;
  return bus - old->first < old->second.bytes &&
         piece.bytes <= old->second.bytes - (bus - old->first);
}

void MemoryFiles::Erase(uint64_t begin, uint64_t end) {
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.begin() &&
      std::prev(piece)->first + std::prev(piece)->second.bytes > begin) {
    --piece;
  }
  while (piece != pieces_.end() && piece->first < end) {
    const uint64_t bus = piece->first;
    const Piece old = piece->second;
    piece = pieces_.erase(piece);
    if (bus < begin) {
      pieces_[bus] = old;
      pieces_[bus].bytes = begin - bus;
    }
    if (bus + old.bytes > end) {
      Piece& rest = pieces_[end] = old;
      rest.bytes = bus + old.bytes - end;
      rest.offset += end - bus;
    }
  }
}

}  // namespace sluice::emulator
