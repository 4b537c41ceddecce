// SPDX-License-Identifier: BSD-3-Clause
//
// The generator's frames, as the CPU's model sends them, in the card's memory.
#pragma once

#include <string>

#include "device/grid/wire_state.h"
#include "emulator/arguments.h"
#include "emulator/grid/executor.h"

namespace sluice::emulator {

/// Builds the frames that `arguments` ask for, copies them to the card and describes them in
/// `shape`. False, with one line in `error`, if there is no memory for them.
bool UploadWire(const Arguments& arguments, Executor& executor, device::grid::WireShape* shape,
                std::string* error);

}  // namespace sluice::emulator
