// SPDX-License-Identifier: BSD-3-Clause
//
// Rules of the port (rte_flow) for MICA's ports: the NIC steers a datagram for partition p to the
// worker that owns p (MICA, NSDI'14, section 4.2.2). Rules exist for all partitions or for none.
#pragma once

#include <cstdint>
#include <string>

#include "nic/flow_rules.h"

namespace sluice::kv {

class Steering {
 public:
  /// `port` must have receive queues 0 to workers − 1. It must have been started, unless it belongs
  /// to a native interface, which does not start ethdev ports.
  explicit Steering(uint16_t port) : rules_(port) {}

  /// Steers UDP port `first_port` + p to queue p % workers, for each p below `partitions`, for IPv4
  /// and IPv6. Returns the result: "hardware (4 rules)" or "software (why)".
  std::string Apply(uint16_t first_port, uint32_t partitions, uint32_t workers);

 private:
  bool Add(bool ipv6, uint16_t udp_port, uint16_t queue, std::string* why);

  nic::FlowRules rules_;
};

}  // namespace sluice::kv
