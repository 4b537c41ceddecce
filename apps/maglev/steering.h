// SPDX-License-Identifier: BSD-3-Clause
//
// VIPs in the port's own rules (rte_flow): frames to a VIP go to the workers' queues by the
// NIC's decision, whatever else the port is used for. All VIPs or none: a port that cannot
// express one of them is left to what it does by itself, and says why. Main thread, and
// whoever reloads; one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/maglev/setup.h"
#include "nic/flow_rules.h"

namespace sluice::maglev {

class Steering {
 public:
  /// `port` has receive queues 0 … workers − 1, and is started if it ever is.
  Steering(uint16_t port, uint32_t workers) : workers_(workers), rules_(port) {}

  /// Rules for these VIPs instead of those before. What became of it: "hardware (2 rules)" or
  /// "software (why)".
  std::string Apply(const std::vector<engine::maglev::VipSetup>& vips);

 private:
  bool Add(const engine::maglev::VipSetup& vip, std::string* why);

  uint32_t workers_;
  nic::FlowRules rules_;
};

}  // namespace sluice::maglev
