// SPDX-License-Identifier: BSD-3-Clause
//
// The example's traffic: encrypted images of digits. The expected answers are the network's scores
// for the plain images.
#pragma once

#include "../traffic.h"

namespace sluice::chain_app {

/// If the program was built without cryptodev, `make` returns an error. The classifier's answers
/// must equal the scores that the reference network computes from the plain images.
extern const TrafficKind kImagesTraffic;

/// The example's key. It is published here, so it protects no data.
inline constexpr const char* kExampleKey = "000102030405060708090a0b0c0d0e0f";

}  // namespace sluice::chain_app
