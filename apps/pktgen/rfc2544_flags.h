// SPDX-License-Identifier: BSD-3-Clause
//
// What the flags of --rfc2544 say, checked.
#pragma once

#include "runtime/command_line.h"
#include "settings.h"

namespace sluice::pktgen {

/// Adds the test to settings whose streams are read. False: a bad flag; it was named.
bool ReadRfc2544(const runtime::Complaint& complaint, Settings* settings);

}  // namespace sluice::pktgen
