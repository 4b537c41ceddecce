// SPDX-License-Identifier: BSD-3-Clause
//
// Builds the generator's frames in the card's memory. They equal the frames of a model on the CPU.
#pragma once

#include <string>

#include "device/grid/wire_state.h"
#include "emulator/arguments.h"
#include "emulator/grid/executor.h"

namespace sluice::emulator {

/// Builds the frames that `arguments` specify, copies them to the card and describes them in
/// `shape`. If memory is insufficient, or the frames are too many for the card, returns false and
/// sets `error` to one line.
bool UploadWire(const Arguments& arguments, Executor& executor, device::grid::WireShape* shape,
                std::string* error);

}  // namespace sluice::emulator
