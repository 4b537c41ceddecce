// SPDX-License-Identifier: BSD-3-Clause
//
// A pool of mbufs in memory that EAL did not allocate.
#pragma once

#include <gtest/gtest.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>
#include <sys/mman.h>

namespace sluice::net_ipu::test {

class ExternalPool {
 public:
  static constexpr size_t kBytes = size_t{8} << 20;
  static constexpr unsigned kMbufs = 2047;

  /// `flags` and `file` are arguments for mmap; the file must have kBytes bytes.
  ExternalPool(int flags, int file)
      : begin_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0)) {
    EXPECT_NE(begin_, MAP_FAILED);
    pool_ = rte_mempool_create_empty(
        "external", kMbufs, sizeof(rte_mbuf) + RTE_MBUF_DEFAULT_BUF_SIZE, 0,
        sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    EXPECT_NE(pool_, nullptr);
    rte_pktmbuf_pool_init(pool_, nullptr);
    EXPECT_EQ(rte_mempool_populate_virt(pool_, static_cast<char*>(begin_), kBytes, 4096, nullptr,
                                        nullptr),
              static_cast<int>(kMbufs));
    rte_mempool_obj_iter(pool_, rte_pktmbuf_init, nullptr);
  }
  ~ExternalPool() {
    rte_mempool_free(pool_);
    rte_extmem_unregister(begin_, kBytes);
    munmap(begin_, kBytes);
  }
  ExternalPool(const ExternalPool&) = delete;

  /// Registers the memory in EAL before it is mapped, as applications do.
  int Register() { return rte_extmem_register(begin_, kBytes, nullptr, 0, 4096); }
  int Map(uint16_t port, size_t bytes = kBytes) {
    return rte_dev_dma_map(Device(port), begin_, 0, bytes);
  }
  int Unmap(uint16_t port, size_t bytes = kBytes) {
    return rte_dev_dma_unmap(Device(port), begin_, 0, bytes);
  }
  rte_mempool* get() { return pool_; }

 private:
  static rte_device* Device(uint16_t port) {
    rte_eth_dev_info info;
    EXPECT_EQ(rte_eth_dev_info_get(port, &info), 0);
    return info.device;
  }

  void* const begin_;
  rte_mempool* pool_;
};

}  // namespace sluice::net_ipu::test
