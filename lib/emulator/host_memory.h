// SPDX-License-Identifier: BSD-3-Clause
//
// Mirrors DPDK's memory in a DmaSpace, for a device in this process. Bus addresses are virtual
// addresses.
#pragma once

#include <mutex>
#include <string_view>

#include "bar/dma.h"
#include "emulator/dpdk_memory.h"
#include "emulator/merged_ranges.h"

namespace sluice::emulator {

/// Registers all of DPDK's memory from construction to destruction.
class HostMemory final : public DpdkMemory {
 public:
  /// `name` must be unique within the process. `dma` must outlive this object.
  HostMemory(std::string_view name, bar::DmaSpace& dma) : DpdkMemory(name), ranges_(dma, 0) {
    Watch();
  }
  ~HostMemory() override { Forget(); }

  /// Returns false if DPDK's memory has more pieces than the DmaSpace can hold.
  bool complete() const { return complete_; }

 private:
  void Mapped(const rte_memseg_list&, uint64_t begin, uint64_t end) override {
    const std::scoped_lock lock(mutex_);
    if (!ranges_.Insert(begin, end)) complete_ = false;
  }
  void Unmapping(uint64_t begin, uint64_t end) override {
    const std::scoped_lock lock(mutex_);
    if (!ranges_.Erase(begin, end)) complete_ = false;
  }

  std::mutex mutex_;
  MergedRanges ranges_;
  bool complete_ = true;
};

}  // namespace sluice::emulator
