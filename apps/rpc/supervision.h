// SPDX-License-Identifier: BSD-3-Clause
//
// Manages services from load to exit: registers them with the NIC, starts their processes, and
// restarts those that die. Services do not affect each other. Used by the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "nic_thread.h"
#include "process_table.h"
#include "rpc/x_compiler.h"
#include "settings.h"

namespace sluice::rpc_app {

class Supervision {
 public:
  /// All arguments must outlive the object. `compiled`: the compiled `.x` files of the services.
  Supervision(const Settings& settings, const std::vector<rpc::CompiledX>& compiled,
              ProcessTable& processes, NicThread& nic);

  /// Starts all services and waits until they are up. Returns false and sets `error` if one of them
  /// is not up within kPatience.
  bool Start(std::string* error);
  /// Detects processes that have died or become ready. Call it every few milliseconds.
  void Look();
  /// Returns the number of restarts, i.e. of processes started other than the first one of each
  /// service.
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
    Clock::time_point since;  ///< Time of the last state change.
    base::Backoff pauses{kFirstPause, kLongestPause};
    std::chrono::milliseconds pause{0};  ///< Pause before the next start.
    bool started = false;
  };

  bool Launch(device::rpc::ProcessId id, std::string* error);
  /// Admits a starting process once it is ready. Returns false if it has failed.
  bool Admit(device::rpc::ProcessId id, std::string* error);
  void TearDown(device::rpc::ProcessId id);

  const Settings& settings_;
  const std::vector<rpc::CompiledX>& compiled_;
  ProcessTable& processes_;
  NicThread& nic_;
  std::vector<Service> services_;
  uint64_t restarts_ = 0;
};

}  // namespace sluice::rpc_app
