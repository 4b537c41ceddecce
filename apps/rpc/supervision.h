// SPDX-License-Identifier: BSD-3-Clause
//
// Services from their files to their end: makes them known to the NIC, starts their processes,
// starts them again when they die. What one of them does concerns no other. Main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nic_thread.h"
#include "process_table.h"
#include "rpc/x_compiler.h"
#include "settings.h"

namespace sluice::rpc_app {

class Supervision {
 public:
  /// All outlive it. `compiled` has what the `.x` files of the services say.
  Supervision(const Settings& settings, const std::vector<rpc::CompiledX>& compiled,
              ProcessTable& processes, NicThread& nic);

  /// Starts all, and waits until they are up. False, with one line in `error`, if one does not
  /// come up.
  bool Start(std::string* error);
  /// Sees who died, and who came up. Every few milliseconds.
  void Look();
  /// Processes that were started beyond the first of each service.
  uint64_t restarts() const { return restarts_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::chrono::milliseconds kFirstPause{20};
  static constexpr std::chrono::milliseconds kLongestPause{1000};

  struct Service {
    enum class State { kDown, kStarting, kUp };
    std::shared_ptr<ServiceProcess> process;
    State state = State::kDown;
    Clock::time_point since;             ///< Of the state.
    std::chrono::milliseconds pause{0};  ///< Before the next start.
    bool started = false;
  };

  bool Launch(device::rpc::ProcessId id, std::string* error);
  /// Of one that is starting: admits it once it is ready. False: it will not be.
  bool Admit(device::rpc::ProcessId id, std::string* error);
  void TakeDown(device::rpc::ProcessId id);

  const Settings& settings_;
  const std::vector<rpc::CompiledX>& compiled_;
  ProcessTable& processes_;
  NicThread& nic_;
  std::vector<Service> services_;
  uint64_t restarts_ = 0;
};

}  // namespace sluice::rpc_app
