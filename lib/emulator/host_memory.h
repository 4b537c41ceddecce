// SPDX-License-Identifier: BSD-3-Clause
//
// Keeps a DmaSpace in step with DPDK's memory: hugepages, --no-huge memory,
// external heaps, and what the allocator maps and unmaps while the device runs.
// Bus addresses are virtual addresses.
#pragma once

#include <rte_memory.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "bar/dma.h"

namespace sluice::emulator {

/// Registers all of DPDK's memory from construction to destruction. Adjacent
/// pieces are one range, since an allocation may lie across them.
class HostMemory {
 public:
  /// `name` is unique in the process; `dma` outlives this object.
  HostMemory(std::string_view name, bar::DmaSpace& dma);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// False if DPDK's memory is in more pieces than the DmaSpace holds.
  bool complete() const { return complete_; }

 private:
  static int Existing(const rte_memseg_list* list, const rte_memseg* segment, size_t bytes,
                      void* self);
  static void Changed(rte_mem_event event, const void* address, size_t bytes, void* self);
  void Insert(uint64_t begin, uint64_t end);
  void Erase(uint64_t begin, uint64_t end);

  bar::DmaSpace& dma_;
  const std::string callback_name_;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> ranges_;  ///< Begin to end, as they are in `dma_`.
  bool complete_ = true;
};

}  // namespace sluice::emulator
