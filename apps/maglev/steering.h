// SPDX-License-Identifier: BSD-3-Clause
//
// The port's rte_flow rules for VIPs. With them, the NIC steers frames for a VIP to the workers'
// queues, even if the port has other users. Either all VIPs have rules or none has: if the port
// does not support one of the rules, it keeps its default behavior, and Apply returns the reason.
// The main thread and the reload thread use the class, but not concurrently.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/maglev/setup.h"
#include "nic/flow_rules.h"

namespace sluice::maglev {

class Steering {
 public:
  /// `port` must have receive queues 0 to workers − 1. It must have been started, unless it belongs
  /// to a native interface, which does not start ethdev ports.
  Steering(uint16_t port, uint32_t workers) : workers_(workers), rules_(port) {}

  /// Replaces the rules with rules for these VIPs. Returns the result: "hardware (2 rules)" or
  /// "software (why)".
  std::string Apply(const std::vector<engine::maglev::VipSetup>& vips);

 private:
  bool Add(const engine::maglev::VipSetup& vip, std::string* why);

  uint32_t workers_;
  nic::FlowRules rules_;
};

}  // namespace sluice::maglev
