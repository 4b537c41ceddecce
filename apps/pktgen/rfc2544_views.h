// SPDX-License-Identifier: BSD-3-Clause
//
// What is shown of a test of RFC 2544 that is over.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "campaign.h"
#include "settings.h"

namespace sluice::pktgen {

/// Why there is no verdict; empty: there is one.
std::string WhyNoVerdict(const Rfc2544& test, const Found& found);
/// Lines for people.
std::string Rfc2544Totals(const Rfc2544& test, const Found& found);
/// The report's member `rfc2544`.
nlohmann::ordered_json Rfc2544Json(const Rfc2544& test, const Found& found);

}  // namespace sluice::pktgen
