// SPDX-License-Identifier: BSD-3-Clause
//
// What sluice-maglev says about its traffic: shares of backends on the line, everything in
// the JSON report and in telemetry. Control threads.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "control.h"
#include "fleet.h"

namespace sluice::maglev {

/// One line a period: the epoch, and for each VIP how its packets since the last line were
/// spread. Of pools with many backends it names the least and the largest share.
class ShareLine {
 public:
  ShareLine(const Control& control, const Fleet& fleet) : control_(control), fleet_(fleet) {}
  std::string Next();

 private:
  const Control& control_;
  const Fleet& fleet_;
  std::map<uint16_t, uint64_t> last_;  ///< Packets by backend index, of the last line.
};

/// Members of the JSON report: "epoch", "connections", "events" and "vips" with their backends.
void ExtendReport(const Control& control, const Fleet& fleet, nlohmann::ordered_json& report);

/// {vip: {address, port, protocol, backends, pkts, bytes}}.
nlohmann::ordered_json VipsJson(const Control& control, const Fleet& fleet);
/// {backend: {state, weight, pkts, bytes, share, connections}} of a VIP, from backend number
/// `first` on, as many as one telemetry answer holds. Null: no such VIP.
nlohmann::ordered_json BackendsJson(const Control& control, const Fleet& fleet,
                                    const std::string& vip, size_t first);

}  // namespace sluice::maglev
