// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-maglev's reports on its traffic: the backends' shares on the line of a period, and all
// data in the JSON report and in telemetry. Used by control threads.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "control.h"
#include "fleet.h"

namespace sluice::maglev {

/// Produces one line per period: the epoch, and, for each of the first VIPs, how its packets since
/// the last line were distributed. For pools with many backends, only the smallest and the largest
/// share are shown.
class ShareLine {
 public:
  ShareLine(const Control& control, const Fleet& fleet) : control_(control), fleet_(fleet) {}
  std::string Next();

 private:
  const Control& control_;
  const Fleet& fleet_;
  std::map<uint16_t, uint64_t> last_;  ///< Packets at the last line, by backend index.
};

/// Adds members of the JSON report: "epoch", "health_no_result", "skipped_keys", "connections",
/// "events", and "vips" with their backends.
void ExtendReport(const Control& control, const Fleet& fleet, nlohmann::ordered_json& report);

/// Returns {vip: {address, port, protocol, encapsulation, failed_open, pkts, bytes, backends}},
/// where `backends` is the number of the VIP's backends.
nlohmann::ordered_json VipsJson(const Control& control, const Fleet& fleet);
/// Returns {backend: {address, state, weight, pkts, bytes, share, slots, connections}} for a VIP,
/// starting at backend number `first`, with as many backends as fit into a telemetry answer.
/// Returns null if no VIP is named `vip`.
nlohmann::ordered_json BackendsJson(const Control& control, const Fleet& fleet,
                                    const std::string& vip, size_t first);

}  // namespace sluice::maglev
