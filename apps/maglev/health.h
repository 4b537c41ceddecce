// SPDX-License-Identifier: BSD-3-Clause
//
// Active health checks. A thread sends requests over kernel sockets to the backends of VIPs with
// `health`, and marks backends that do not answer as unhealthy. The thread adopts reloaded
// configurations automatically.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "control.h"

namespace sluice::maglev {

/// Returns the URL of a check for curl, such as http://10.0.0.1:80/path. For kTcp, the path is "/".
std::string CheckUrl(const HealthCheck& check, const engine::maglev::VipSetup& vip,
                     const engine::maglev::BackendSetup& backend);

class HealthMonitor {
 public:
  /// `control` must outlive the object. Starts the thread, which is idle if there are no checks.
  explicit HealthMonitor(Control& control);
  /// Ends the thread; the states that it has set persist.
  ~HealthMonitor();

 private:
  using Clock = std::chrono::steady_clock;
  class Target;
  class Curl;

  void Run();
  /// Applies the current configuration.
  void Synchronise();
  /// Starts due checks, and ends checks whose deadline has passed.
  void Tick(Clock::time_point now);

  Control& control_;
  std::unique_ptr<Curl> curl_;
  std::map<BackendId, std::unique_ptr<Target>> targets_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::maglev
