// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "emulator/grid/program.h"

namespace sluice::emulator {

/// The Ensō NIC as blocks (lib/device/grid/enso_blocks.h).
extern const GridProgram kEnsoProgram;

}  // namespace sluice::emulator
