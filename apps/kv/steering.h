// SPDX-License-Identifier: BSD-3-Clause
//
// MICA's ports in the port's own rules (rte_flow): a datagram for partition p reaches the worker
// that owns it by the NIC's decision (MICA, NSDI'14, section 4.2.2). All partitions or none.
#pragma once

#include <cstdint>
#include <string>

#include "nic/flow_rules.h"

namespace sluice::kv {

class Steering {
 public:
  /// `port` has receive queues 0 … workers − 1, and is started if it ever is.
  explicit Steering(uint16_t port) : rules_(port) {}

  /// UDP port `first_port` + p to queue p % workers, for each p below `partitions`, IPv4 and
  /// IPv6. What became of it: "hardware (4 rules)" or "software (why)".
  std::string Apply(uint16_t first_port, uint32_t partitions, uint32_t workers);

 private:
  bool Add(bool ipv6, uint16_t udp_port, uint16_t queue, std::string* why);

  nic::FlowRules rules_;
};

}  // namespace sluice::kv
