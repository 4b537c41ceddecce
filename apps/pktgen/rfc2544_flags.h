// SPDX-License-Identifier: BSD-3-Clause
//
// The checked flags of --rfc2544.
#pragma once

#include "runtime/command_line.h"
#include "settings.h"

namespace sluice::pktgen {

/// Adds the test to `settings`, whose streams must have been read. Reports a bad flag and then
/// returns false.
bool ReadRfc2544(const runtime::Complaint& complaint, Settings* settings);

}  // namespace sluice::pktgen
