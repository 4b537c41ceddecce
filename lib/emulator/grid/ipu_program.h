// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "emulator/grid/program.h"

namespace sluice::emulator {

/// The IPU-style NIC as blocks (lib/device/grid/ipu_blocks.h).
extern const GridProgram kIpuProgram;

}  // namespace sluice::emulator
