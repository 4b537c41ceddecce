// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel's half for one core, by a thread of the supervisor: it waits at the core's kernel
// endpoint until the device says which process is to run, hands the core over by futex, and waits
// until it comes back. A core runs one of its threads at a time, this one or a service's.
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
  /// `processes` outlives it. The thread begins with Start.
  KernelCore(uint32_t core, ProcessTable& processes, coherent::WaitMethod wait);
  ~KernelCore();
  KernelCore(const KernelCore&) = delete;
  KernelCore& operator=(const KernelCore&) = delete;

  /// Whether there is memory for its endpoint.
  explicit operator bool() const { return static_cast<bool>(memory_); }
  device::rpc::Endpoint endpoint() const {
    return {{memory_.data(), memory_.bytes()}, reinterpret_cast<uint64_t>(memory_.data())};
  }
  void Start();
  /// The device wants a retired core back. Any thread.
  void Wake();
  /// Its thread's id in Linux; 0: it has not begun. Any thread.
  pid_t thread_id() const { return thread_id_; }

 private:
  void Run();

  const uint32_t core_;
  ProcessTable& processes_;
  const coherent::WaitMethod wait_;
  bar::RingMemory memory_;
  std::atomic<bool> stop_{false};
  std::atomic<pid_t> thread_id_{0};
  uint32_t wakes_ = 0;  ///< A futex: grows when the device wants the core back.
  std::thread thread_;
};

}  // namespace sluice::rpc_app
