// SPDX-License-Identifier: BSD-3-Clause
//
// Makes the application's memory reachable: memory mapped with rte_dev_dma_map, and the memory of
// the receive queues' pools. Bus addresses are virtual addresses; the IOVA that the application
// passes is ignored.
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_wrap.h"

namespace sluice::net_ipu {
namespace {

constexpr uint64_t kPage = 4096;

int FailWith(int error) {
  rte_errno = error;
  return -1;
}

/// Returns the port that owns `vdev`, or null. In a secondary process, logs an error and returns
/// null.
rte_eth_dev* PortOf(rte_vdev_device* vdev) {
  const char* const name = rte_vdev_device_name(vdev);
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
    Log(RTE_LOG_ERR, "%s: only the primary process can map memory", name);
    return nullptr;
  }
  return rte_eth_dev_allocated(name);
}

/// Returns the device of the wrapped port.
rte_device* InnerDevice(const rte_eth_dev* dev) {
  rte_eth_dev_info info;
  return rte_eth_dev_info_get(InnerOf(dev), &info) == 0 ? info.device : nullptr;
}

/// EAL's memory and its external heaps are always reachable.
bool IsOfEal(const void* begin) {
  const rte_memseg_list* const list = rte_mem_virt2memseg_list(begin);
  return list != nullptr && (list->external == 0 || list->heap != 0);
}

/// Returns whether the device can reach [begin, begin + bytes). The caller must hold
/// `configuration`.
bool Holds(const Adapter& adapter, const void* begin, size_t bytes) {
  if (IsOfEal(begin)) return true;
  const auto first = reinterpret_cast<uint64_t>(begin);
  auto range = adapter.external.upper_bound(first);
  if (range == adapter.external.begin()) return false;
  --range;
  const uint64_t offset = first - range->first;
  return offset < range->second.bytes && bytes <= range->second.bytes - offset;
}

/// Finds the ranges of a pool that the device cannot reach. `missing` maps the start of each range
/// to its end.
struct Search {
  const Adapter& adapter;
  std::map<uint64_t, uint64_t> missing = {};
};

void LookAt(Search& search, const void* begin, size_t bytes) {
  if (Holds(search.adapter, begin, bytes)) return;
  const auto first = reinterpret_cast<uint64_t>(begin);
  uint64_t& end = search.missing[first & ~(kPage - 1)];
  end = std::max(end, (first + bytes + kPage - 1) & ~(kPage - 1));
}
void LookAtChunk(rte_mempool*, void* search, rte_mempool_memhdr* chunk, unsigned) {
  LookAt(*static_cast<Search*>(search), chunk->addr, chunk->len);
}
/// Checks one mbuf of a pool with external buffers.
void LookAtBuffer(rte_mempool*, void* search, void* object, unsigned) {
  const rte_mbuf& mbuf = *static_cast<const rte_mbuf*>(object);
  LookAt(*static_cast<Search*>(search), mbuf.buf_addr, mbuf.buf_len);
}

/// Merges ranges that touch or overlap, because a pool may have one chunk per page.
std::map<uint64_t, uint64_t> Merged(const std::map<uint64_t, uint64_t>& ranges) {
  std::map<uint64_t, uint64_t> merged;
  for (const auto& [begin, end] : ranges) {
    if (!merged.empty() && std::prev(merged.end())->second >= begin) {
      uint64_t& last = std::prev(merged.end())->second;
      last = std::max(last, end);
    } else {
      merged[begin] = end;
    }
  }
  return merged;
}

/// Maps a range. `pool` is the pool that the range belongs to, or null if the application mapped
/// it. Returns 0 or a negative errno. The caller must hold `configuration`.
int Map(Adapter& adapter, uint64_t begin, uint64_t bytes, const rte_mempool* pool,
        std::string* error) {
  void* const address = reinterpret_cast<void*>(begin);
  const int failure = adapter.attachment->MapExternal(address, bytes, error);
  if (failure == 0) adapter.external[begin] = {bytes, pool};
  return failure;
}

/// Unmaps the ranges of a destroyed pool.
void OnPoolEvent(rte_mempool_event event, rte_mempool* pool, void* port) {
  if (event != RTE_MEMPOOL_EVENT_DESTROY) return;
  Adapter& adapter = *static_cast<Adapter*>(port);
  const std::scoped_lock lock(adapter.configuration);
  std::erase_if(adapter.external, [&](const auto& range) {
    if (range.second.pool != pool) return false;
    adapter.attachment->UnmapExternal(reinterpret_cast<void*>(range.first), range.second.bytes);
    return true;
  });
}

}  // namespace

int DmaMap(rte_vdev_device* vdev, void* begin, uint64_t iova, size_t bytes) {
  rte_eth_dev* const dev = PortOf(vdev);
  if (dev == nullptr) return FailWith(ENOTSUP);
  if (IsWrapper(dev)) {
    rte_device* const inner = InnerDevice(dev);
    return inner != nullptr ? rte_dev_dma_map(inner, begin, iova, bytes) : FailWith(ENODEV);
  }
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  if (Holds(adapter, begin, bytes)) return 0;
  std::string error;
  const auto first = reinterpret_cast<uint64_t>(begin);
  const int failure = Map(adapter, first, bytes, nullptr, &error);
  if (failure == 0) return 0;
  Log(RTE_LOG_ERR, "%s: cannot map %zu bytes at %p: %s", dev->data->name, bytes, begin,
      error.c_str());
  return FailWith(-failure);
}

int DmaUnmap(rte_vdev_device* vdev, void* begin, uint64_t iova, size_t bytes) {
  rte_eth_dev* const dev = PortOf(vdev);
  if (dev == nullptr) return FailWith(ENOTSUP);
  if (IsWrapper(dev)) {
    rte_device* const inner = InnerDevice(dev);
    return inner != nullptr ? rte_dev_dma_unmap(inner, begin, iova, bytes) : FailWith(ENODEV);
  }
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  const auto range = adapter.external.find(reinterpret_cast<uint64_t>(begin));
  if (range == adapter.external.end() || range->second.bytes != bytes ||
      range->second.pool != nullptr) {
    Log(RTE_LOG_ERR,
        "%s: cannot unmap %zu bytes at %p: the application did not map exactly this range",
        dev->data->name, bytes, begin);
    return FailWith(EINVAL);
  }
  adapter.attachment->UnmapExternal(begin, bytes);
  adapter.external.erase(range);
  return 0;
}

bool MapPool(rte_eth_dev* dev, rte_mempool* pool) {
  Adapter& adapter = AdapterOf(dev);
  // On a bus, EAL or the application maps memory (rte_dev_dma_map).
  if (adapter.addressing == Addresses::kIova) return true;
  const std::scoped_lock lock(adapter.configuration);
  Search search{adapter};
  const auto* const room = static_cast<const rte_pktmbuf_pool_private*>(rte_mempool_get_priv(pool));
  const bool elsewhere = (room->flags & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0;
  if (elsewhere) {
    rte_mempool_obj_iter(pool, LookAtBuffer, &search);
  } else {
    rte_mempool_mem_iter(pool, LookAtChunk, &search);
  }
  for (const auto& [begin, end] : Merged(search.missing)) {
    std::string error =
        "map it with rte_dev_dma_map";  // The driver does not map external buffers itself, because
                                        // they may outlive the pool.
    if (elsewhere || Map(adapter, begin, end - begin, pool, &error) != 0) {
      Log(RTE_LOG_ERR, "%s: the device cannot access the memory of pool %s: %s", dev->data->name,
          pool->name, error.c_str());
      return false;
    }
  }
  return true;
}

void WatchPools(Adapter& adapter) { rte_mempool_event_callback_register(OnPoolEvent, &adapter); }
void ForgetPools(Adapter& adapter) { rte_mempool_event_callback_unregister(OnPoolEvent, &adapter); }

}  // namespace sluice::net_ipu
