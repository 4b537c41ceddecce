// SPDX-License-Identifier: BSD-3-Clause
//
// Active health checks: a thread asks the backends of VIPs with `health` over the kernel's
// sockets, and takes those away that do not answer. It follows reloads by itself.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "control.h"

namespace sluice::maglev {

/// Where a check goes to, as curl wants it: http://10.0.0.1:80/path. Of kTcp the path is "/".
std::string CheckUrl(const HealthCheck& check, const engine::maglev::VipSetup& vip,
                     const engine::maglev::BackendSetup& backend);

class HealthMonitor {
 public:
  /// `control` outlives it. Starts the thread, which stays idle where nothing is to be checked.
  explicit HealthMonitor(Control& control);
  /// Ends the thread; what it found out stays.
  ~HealthMonitor();

 private:
  using Clock = std::chrono::steady_clock;
  class Target;
  class Curl;

  void Run();
  /// Takes up the configuration in force.
  void Synchronise();
  /// Begins what is due, ends what is late.
  void Tick(Clock::time_point now);

  Control& control_;
  std::unique_ptr<Curl> curl_;
  std::map<BackendId, std::unique_ptr<Target>> targets_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::maglev
