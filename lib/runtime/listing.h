// SPDX-License-Identifier: BSD-3-Clause
//
// `--list=WHAT`: the tables of this build, for scripts and tests.
#pragma once

#include <string>
#include <string_view>

namespace sluice::runtime {

/// A JSON array with an object for each entry; empty if there is no such table. `what`:
/// interfaces (name, crosses, model, ipv4_only; nic/interface.h).
std::string Listing(std::string_view what);

}  // namespace sluice::runtime
