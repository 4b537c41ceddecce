// SPDX-License-Identifier: BSD-3-Clause
//
// The supervisor's handle for one incarnation of a service's process: memory that is never shared
// with another process, and a pidfd.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "cpu/starved_time.h"
#include "device/rpc/rpc_nic.h"
#include "host/child_process.h"
#include "process_page.h"
#include "service_files.h"

namespace sluice::rpc_app {

class ServiceProcess {
 public:
  /// Runs `program` (sluice-rpc-service) for a service with `cores` endpoints. Returns null and
  /// sets `error` on failure.
  static std::shared_ptr<ServiceProcess> Launch(const std::string& program,
                                                const ServiceFiles& files, uint32_t cores,
                                                std::string* error);
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  Phase phase() { return static_cast<Phase>(LoadWord(page().phase)); }
  /// Returns the reason for kFailed, in printable ASCII.
  std::string error();
  /// Returns the entries for the device after kReady; nullopt if the process wrote invalid data.
  std::optional<std::vector<device::rpc::Entry>> Entries();
  std::vector<device::rpc::Endpoint> Endpoints();

  /// Returns a number that is unique among this supervisor's processes.
  uint64_t number() const { return number_; }
  /// Sends a signal to the process. May be called by any thread.
  void Signal(int signal) const { child_.Signal(signal); }
  /// Sends SIGUSR1 to the thread that owns this core, to interrupt a blocking system call in a
  /// service function. May be called by any thread.
  void Interrupt(uint32_t core);
  /// Returns StarvedTime::Since of the thread that owns this core; 0 once the process has ended.
  /// May be called by any thread.
  uint64_t Starved(uint32_t core, cpu::StarvedTime& starved, uint64_t now_ns);
  /// Returns true once the process has ended, and reaps it. Called by one thread only.
  bool Ended();
  /// Gives a core to the process until it returns the core, dies, or `stop` is set. Called by one
  /// thread per core; call it only after the device has switched the core.
  void HandOver(uint32_t core, const std::atomic<bool>& stop);

 private:
  ServiceProcess(bar::RingMemory memory, uint32_t cores);
  ProcessPage& page() { return *reinterpret_cast<ProcessPage*>(memory_.data()); }

  bar::RingMemory memory_;
  uint32_t cores_;
  const uint64_t number_;
  std::mutex reaping_;  ///< Held while the process is reaped or its ID must remain valid.
  host::ChildProcess child_;
  std::atomic<bool> ended_{false};
};

}  // namespace sluice::rpc_app
