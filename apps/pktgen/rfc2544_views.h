// SPDX-License-Identifier: BSD-3-Clause
//
// Output for a finished RFC 2544 test.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "campaign.h"
#include "settings.h"

namespace sluice::pktgen {

/// Returns the reason why there is no verdict, or an empty string if there is one.
std::string WhyNoVerdict(const Rfc2544& test, const Found& found);
/// Returns lines for users.
std::string Rfc2544Totals(const Rfc2544& test, const Found& found);
/// Returns the report's member `rfc2544`.
nlohmann::ordered_json Rfc2544Json(const Rfc2544& test, const Found& found);

}  // namespace sluice::pktgen
