// SPDX-License-Identifier: BSD-3-Clause
//
// Where the tests find sluice-device.
#pragma once

#include <string>

namespace sluice::emulator {

/// Set by main().
inline std::string device_binary;

}  // namespace sluice::emulator
