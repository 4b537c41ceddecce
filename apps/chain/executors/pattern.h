// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "../traffic.h"

namespace sluice::chain_app {

extern const TrafficKind kPatternTraffic;

}  // namespace sluice::chain_app
