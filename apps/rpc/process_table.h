// SPDX-License-Identifier: BSD-3-Clause
//
// The current processes, by number. Any thread may use the table.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "device/rpc/placement.h"
#include "service_process.h"

namespace sluice::rpc_app {

class ProcessTable {
 public:
  /// Returns the current process of a service; null if the number is invalid or the service has no
  /// process.
  std::shared_ptr<ServiceProcess> Get(uint64_t process) {
    const std::scoped_lock lock(mutex_);
    return process < processes_.size() ? processes_[process] : nullptr;
  }
  void Set(device::rpc::ProcessId process, std::shared_ptr<ServiceProcess> incarnation) {
    // The previous incarnation is destroyed outside the lock.
    const std::scoped_lock lock(mutex_);
    std::swap(processes_[process], incarnation);
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<ServiceProcess>, device::rpc::kMaxProcesses> processes_;
};

}  // namespace sluice::rpc_app
