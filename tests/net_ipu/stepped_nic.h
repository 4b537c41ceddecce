// SPDX-License-Identifier: BSD-3-Clause
//
// A model NIC and a pool without threads: registers are served and frames moved only when the test
// steps the NIC. Requires EAL (--no-huge is sufficient).
#pragma once

#include <rte_mbuf.h>
#include <rte_memory.h>

#include <memory>
#include <thread>
#include <vector>

#include "bar/bar.h"
#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "device/ipu/ipu_nic.h"
#include "net_ipu/ipu_queue.h"

namespace sluice::net_ipu::test {

/// Returns the NIC's transmitted frames to its receive side, like a loopback plug.
class LoopbackSink final : public device::FrameSink {
 public:
  explicit LoopbackSink(device::ipu::IpuNic& nic) : nic_(nic) {}
  void Deliver(std::span<const device::WireFrame> frames) override {
    delivered += frames.size();
    nic_.Receive(frames, false);
  }
  uint64_t delivered = 0;

 private:
  device::ipu::IpuNic& nic_;
};

class SteppedNic {
 public:
  SteppedNic() : posted_(std::make_unique<bar::PostedQueue>()), nic_(dma_, {}) {
    // Adds DPDK's memory piece by piece, with adjacent pieces in one range.
    rte_memseg_list_walk(&SteppedNic::AddList, &dma_);
  }

  bar::Bar registers() { return bar::Bar(posted_.get(), regs::ipu::kBarBytes); }
  bar::DmaSpace& dma() { return dma_; }
  device::ipu::IpuNic& device() { return nic_; }

  /// Lets the device process all earlier register stores.
  void Drain() {
    while (posted_->Drain(
               1024, [&](bar::RegisterAccess a) { nic_.WriteRegister(a.offset, a.bytes, a.value); },
               [&](bar::RegisterAccess a) { return nic_.ReadRegister(a.offset, a.bytes); }) != 0) {
    }
  }

  /// Runs control-path code, which reads registers, while a thread serves the device.
  template <typename Function>
  auto Control(Function&& function) {
    std::atomic<bool> done{false};
    std::thread server([&] {
      while (!done.load(std::memory_order_acquire)) {
        Drain();
        std::this_thread::yield();
      }
    });
    auto result = function();
    done.store(true, std::memory_order_release);
    server.join();
    Drain();
    return result;
  }

 private:
  static int AddList(const rte_memseg_list* list, void* dma) {
    // Adds complete virtual areas, because the driver never uses the unmapped parts.
    static_cast<bar::DmaSpace*>(dma)->Add(reinterpret_cast<uint64_t>(list->base_va), list->base_va,
                                          list->len);
    return 0;
  }

  bar::DmaSpace dma_;
  std::unique_ptr<bar::PostedQueue> posted_;
  device::ipu::IpuNic nic_;
};

}  // namespace sluice::net_ipu::test
