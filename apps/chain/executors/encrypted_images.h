// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic of the example: encrypted images of digits. The expected answers are the network's scores
// of the plain images.
#pragma once

#include "../traffic.h"

namespace sluice::chain_app {

/// If cryptodev is missing, `make` returns an error. The classifier's answers must equal the scores
/// that the reference network computes from the plain images.
extern const TrafficKind kImagesTraffic;

/// The key of the example. It is published here, so it protects no data.
inline constexpr const char* kExampleKey = "000102030405060708090a0b0c0d0e0f";

}  // namespace sluice::chain_app
