// SPDX-License-Identifier: BSD-3-Clause
//
// Tracks DPDK's memory as it changes at run time: hugepages, --no-huge memory and external heaps.
// Excludes memory that an application registers, because the application maps it for each device.
#pragma once

#include <rte_memory.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::emulator {

/// Reports every piece of memory to a derived class, from Watch until Forget. The virtual functions
/// are called by any thread, with EAL's memory lock held, and must not allocate DPDK memory.
class DpdkMemory {
 public:
  /// `name` must be unique within the process.
  explicit DpdkMemory(std::string_view name) : name_("dma_" + std::string(name.substr(0, 48))) {}
  virtual ~DpdkMemory() = default;
  DpdkMemory(const DpdkMemory&) = delete;
  DpdkMemory& operator=(const DpdkMemory&) = delete;

 protected:
  /// Called when [begin, end) of `list` is mapped; may be called more than once for a range.
  virtual void Mapped(const rte_memseg_list& list, uint64_t begin, uint64_t end) = 0;
  /// Called before [begin, end) is unmapped.
  virtual void Unmapping(uint64_t begin, uint64_t end) = 0;

  /// Starts reporting, beginning with all existing memory. Called by the derived class.
  void Watch();
  /// Stops reporting. Must be called before the derived class is destroyed.
  void Forget();

 private:
  static int Existing(const rte_memseg_list* list, const rte_memseg* segment, size_t bytes,
                      void* self);
  static void Changed(rte_mem_event event, const void* address, size_t bytes, void* self);

  const std::string name_;
};

}  // namespace sluice::emulator
