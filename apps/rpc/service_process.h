// SPDX-License-Identifier: BSD-3-Clause
//
// One incarnation of a service's process, as its supervisor has it: memory of its own, which no
// other process ever had, and a handle that is no other process's.
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
#include "process_page.h"
#include "runtime/owned_fd.h"
#include "service_files.h"

namespace sluice::rpc_app {

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
  /// After kFailed: why, as printable ASCII.
  std::string error();
  /// After kReady: what the device needs. Nothing: the process wrote what cannot be.
  std::optional<std::vector<device::rpc::Entry>> Entries();
  std::vector<device::rpc::Endpoint> Endpoints();

  /// No other process of this supervisor's has it.
  uint64_t number() const { return number_; }
  /// Any thread.
  void Signal(int signal) const;
  /// SIGUSR1 for the thread that has this core: its handler is to end. Any thread.
  void Interrupt(uint32_t core);
  /// StarvedTime::Since of the thread that has this core; 0 after the process's end. Any thread.
  uint64_t Starved(uint32_t core, cpu::StarvedTime& starved, uint64_t now_ns);
  /// True once the process has ended; reaps it. One thread.
  bool Ended();
  /// Lets a core run the process until it gives it back, is dead, or `stop`. Of one thread for
  /// each core; not before the device has switched the core.
  void HandOver(uint32_t core, const std::atomic<bool>& stop);

 private:
  ServiceProcess(bar::RingMemory memory, uint32_t cores);
  ProcessPage& page() { return *reinterpret_cast<ProcessPage*>(memory_.data()); }

  bar::RingMemory memory_;
  uint32_t cores_;
  const uint64_t number_;
  std::mutex reaping_;  ///< Held to reap the process, and while its id must mean it.
  pid_t pid_ = 0;
  runtime::OwnedFd handle_;  ///< A pidfd.
  std::atomic<bool> ended_{false};
};

}  // namespace sluice::rpc_app
