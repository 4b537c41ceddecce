// SPDX-License-Identifier: BSD-3-Clause
//
// `--list=WHAT`: the tables of this build, for scripts and tests.
#pragma once

#include <string>
#include <string_view>

namespace sluice::runtime {

/// Returns a JSON array with one object per entry, or an empty text if table `what` does not exist.
/// The only table is "interfaces" (name, crosses, model, ipv4_only; nic/interface.h).
std::string Listing(std::string_view what);

}  // namespace sluice::runtime
