// SPDX-License-Identifier: BSD-3-Clause
//
// One incarnation of a service's process, as its supervisor has it: memory of its own, which no
// other process ever had, and a handle that is no other process's.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "device/rpc/rpc_nic.h"
#include "process_page.h"
#include "runtime/owned_fd.h"

namespace sluice::rpc_app {

/// Where a service comes from.
struct ServiceFiles {
  std::string name;    ///< For reports.
  std::string object;  ///< Path of the shared object.
  std::string x;       ///< Path of the `.x` file.
  uint16_t port = 0;   ///< UDP.
};

class ServiceProcess {
 public:
  /// Runs `program` (sluice-rpc-service) for a service with `cores` endpoints. Null, with one line
  /// in `error`.
  static std::shared_ptr<ServiceProcess> Launch(const std::string& program,
                                                const ServiceFiles& files, uint32_t cores,
                                                std::string* error);
  /// Ends the process, if it runs, and waits for that.
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  Phase phase() { return static_cast<Phase>(LoadWord(page().phase)); }
  /// After kFailed.
  std::string error();
  /// After kReady: what the device needs. Nothing: the process wrote what cannot be.
  std::optional<std::vector<device::rpc::Entry>> Entries();
  std::vector<device::rpc::Endpoint> Endpoints();

  /// Any thread.
  void Signal(int signal) const;
  /// True once the process has ended; reaps it. One thread.
  bool Ended();
  /// Lets a core run the process until it gives it back, is dead, or `stop`. Of one thread for
  /// each core; not before the device has switched the core.
  void HandOver(uint32_t core, const std::atomic<bool>& stop);

 private:
  ServiceProcess(bar::RingMemory memory, uint32_t cores)
      : memory_(std::move(memory)), cores_(cores) {}
  ProcessPage& page() { return *reinterpret_cast<ProcessPage*>(memory_.data()); }

  bar::RingMemory memory_;
  uint32_t cores_;
  pid_t pid_ = 0;
  runtime::OwnedFd handle_;  ///< A pidfd.
  std::atomic<bool> ended_{false};
};

}  // namespace sluice::rpc_app
