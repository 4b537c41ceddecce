// SPDX-License-Identifier: BSD-3-Clause
//
// Does the kernel's part in scheduling one core, on a thread of the supervisor: it waits at the
// core's kernel endpoint until the device names a process, hands the core to the process with a
// futex, and waits until the core is returned. Only one of a core's threads runs at a time: this
// one or a service's.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "bar/ring_memory.h"
#include "coherent/host_end.h"
#include "device/rpc/rpc_nic.h"
#include "process_table.h"

namespace sluice::rpc_app {

class KernelCore {
 public:
  /// `processes` must outlive the object. Start creates the thread.
  KernelCore(uint32_t core, ProcessTable& processes, coherent::WaitMethod wait);
  ~KernelCore();
  KernelCore(const KernelCore&) = delete;
  KernelCore& operator=(const KernelCore&) = delete;

  /// Returns whether the endpoint's memory is allocated.
  explicit operator bool() const { return static_cast<bool>(memory_); }
  device::rpc::Endpoint endpoint() const {
    return {{memory_.data(), memory_.bytes()}, reinterpret_cast<uint64_t>(memory_.data())};
  }
  void Start();
  /// Called by any thread when the device needs a retired core again.
  void Wake();
  /// Returns the Linux thread id; 0 before the thread has started. May be called by any thread.
  pid_t thread_id() const { return thread_id_; }

 private:
  void Run();

  const uint32_t core_;
  ProcessTable& processes_;
  const coherent::WaitMethod wait_;
  bar::RingMemory memory_;
  std::atomic<bool> stop_{false};
  std::atomic<pid_t> thread_id_{0};
  uint32_t wakes_ = 0;  ///< A futex; incremented when the device needs the core again.
  std::thread thread_;
};

}  // namespace sluice::rpc_app
