// SPDX-License-Identifier: BSD-3-Clause
//
// The model of an IPU-style NIC (lib/device/ipu), for net_ipu and sluice-device. It has no
// settings.
#pragma once

#include "emulator/attach.h"

namespace sluice::emulator {

extern const ModelInfo kIpuModel;

}  // namespace sluice::emulator
