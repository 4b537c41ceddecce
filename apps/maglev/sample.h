// SPDX-License-Identifier: BSD-3-Clause
//
// The text of configs/maglev-sample.json at build time, used without --config.
#pragma once

#include <string_view>

namespace sluice::maglev {

extern const std::string_view kSample;

}  // namespace sluice::maglev
