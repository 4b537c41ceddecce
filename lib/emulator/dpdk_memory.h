// SPDX-License-Identifier: BSD-3-Clause
//
// What memory DPDK has, and what it maps and unmaps while the process runs: hugepages,
// --no-huge memory, external heaps. Not what an application merely registers, which it maps for
// each device itself.
#pragma once

#include <rte_memory.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::emulator {

/// Tells a derived class of every piece, from Watch to Forget. Calls come from any
/// thread, under EAL's memory lock: they may not allocate from DPDK.
class DpdkMemory {
 public:
  /// `name` is unique in the process.
  explicit DpdkMemory(std::string_view name) : name_("dma_" + std::string(name.substr(0, 48))) {}
  virtual ~DpdkMemory() = default;
  DpdkMemory(const DpdkMemory&) = delete;
  DpdkMemory& operator=(const DpdkMemory&) = delete;

 protected:
  /// [begin, end) is mapped and belongs to `list`; may be reported more than once.
  virtual void Mapped(const rte_memseg_list& list, uint64_t begin, uint64_t end) = 0;
  /// [begin, end) is about to be unmapped.
  virtual void Unmapping(uint64_t begin, uint64_t end) = 0;

  /// Begins with everything that is there. To be called by the derived class.
  void Watch();
  /// No call comes any more. To be called before the derived class is gone.
  void Forget();

 private:
  static int Existing(const rte_memseg_list* list, const rte_memseg* segment, size_t bytes,
                      void* self);
  static void Changed(rte_mem_event event, const void* address, size_t bytes, void* self);

  const std::string name_;
};

}  // namespace sluice::emulator
