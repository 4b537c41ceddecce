// SPDX-License-Identifier: BSD-3-Clause
//
// Copies the frames that a wire sends to the card's memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/grid/wire_state.h"
#include "emulator/arguments.h"
#include "emulator/grid/executor.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Copies the frames of the wire that `arguments` specify to the card and describes them in
/// `shape`, except `samples`. Generated frames equal those of a model on the CPU. Sets `wire` to a
/// wire with a recording, unless the wire is the generator or a loopback. If memory is
/// insufficient, or a card cannot send the frames, returns false and sets `error` to one line.
/// `name` and `mac` are the NIC's.
bool UploadWire(std::string_view name, const Arguments& arguments, const MacAddress& mac,
                Executor& executor, device::grid::WireShape* shape, std::unique_ptr<Wire>* wire,
                std::string* error);

}  // namespace sluice::emulator
