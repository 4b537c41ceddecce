// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic of the example: images of digits, encrypted, and what the network says of them in plain.
#pragma once

#include "../traffic.h"

namespace sluice::chain_app {

/// Without cryptodev, `make` says so. The classifier's answers must be those of the network
/// computed in plain, score by score.
extern const TrafficKind kImagesTraffic;

/// Of the example alone: everybody knows it.
inline constexpr const char* kExampleKey = "000102030405060708090a0b0c0d0e0f";

}  // namespace sluice::chain_app
