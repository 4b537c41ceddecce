// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_core.h"

#include <unistd.h>

#include <memory>

#include "coherent/endpoint_memory.h"
#include "process_page.h"

namespace sluice::rpc_app {
namespace {

/// Interval between checks of `stop_`: some milliseconds at usual clock rates.
constexpr uint64_t kPatienceCycles = uint64_t{1} << 23;
constexpr uint64_t kLookNs = 20'000'000;

size_t PageMultiple(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

KernelCore::KernelCore(uint32_t core, ProcessTable& processes, coherent::WaitMethod wait)
    : core_(core),
      processes_(processes),
      wait_(wait),
      memory_(bar::RingMemory::Create(PageMultiple(kKernelGeometry.Bytes()), false,
                                      bar::RingMemory::Pages::kPreferHuge)) {
  if (memory_) {
    coherent::EndpointMemory::Format({memory_.data(), memory_.bytes()}, kKernelGeometry);
  }
}

KernelCore::~KernelCore() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void KernelCore::Start() { thread_ = std::thread(&KernelCore::Run, this); }

void KernelCore::Wake() { StoreAndWake(wakes_, LoadWord(wakes_) + 1); }

void KernelCore::Run() {
  thread_id_ = gettid();
  coherent::HostEnd end(coherent::EndpointMemory::Find({memory_.data(), memory_.bytes()}), wait_);
  while (!stop_) {
    const uint32_t wakes = LoadWord(wakes_);  // Read before Wait, because the device calls Wake
                                              // only after it has answered a load with RETIRE.
    switch (end.Wait(kPatienceCycles)) {
      case coherent::Got::kContent: {
        const coherent::Content content = end.content();
        end.Return({.kind = coherent::Kind::kNoReply});
        // If the device does not know the process's new incarnation yet, it may have named one that
        // has ended.
        const auto incarnation = processes_.Get(content.code);
        if (incarnation != nullptr && incarnation->number() == content.data) {
          incarnation->HandOver(core_, stop_);
        }
        break;
      }
      case coherent::Got::kRetire:
        while (!stop_ && LoadWord(wakes_) == wakes) WaitWhile(wakes_, wakes, kLookNs);
        break;
      case coherent::Got::kClosed:
        return;
      default:
        break;
    }
  }
}

}  // namespace sluice::rpc_app
