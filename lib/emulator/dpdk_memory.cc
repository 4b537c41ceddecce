// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/dpdk_memory.h"

namespace sluice::emulator {
namespace {

/// Returns whether an application registered the memory with rte_extmem_register. A device may use
/// such memory only after rte_dev_dma_map.
bool IsOfApplication(const rte_memseg_list& list) { return list.external != 0 && list.heap == 0; }

}  // namespace

void DpdkMemory::Watch() {
  // Registers for events before the walk, so that memory that is mapped in between may be reported
  // twice but is not missed. Events are not supported with --no-huge and --legacy-mem, where memory
  // does not change.
  rte_mem_event_callback_register(name_.c_str(), Changed, this);
  rte_memseg_contig_walk(Existing, this);
}

void DpdkMemory::Forget() { rte_mem_event_callback_unregister(name_.c_str(), this); }

int DpdkMemory::Existing(const rte_memseg_list* list, const rte_memseg* segment, size_t bytes,
                         void* self) {
  if (!IsOfApplication(*list)) {
    static_cast<DpdkMemory*>(self)->Mapped(*list, segment->addr_64, segment->addr_64 + bytes);
  }
  return 0;
}

void DpdkMemory::Changed(rte_mem_event event, const void* address, size_t bytes, void* self) {
  auto* const memory = static_cast<DpdkMemory*>(self);
  const uint64_t begin = reinterpret_cast<uint64_t>(address);
  if (event == RTE_MEM_EVENT_FREE) {
    memory->Unmapping(begin, begin + bytes);
  } else if (const rte_memseg_list* const list = rte_mem_virt2memseg_list(address)) {
    memory->Mapped(*list, begin, begin + bytes);
  }
}

}  // namespace sluice::emulator
