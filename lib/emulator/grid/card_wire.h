// SPDX-License-Identifier: BSD-3-Clause
//
// Copies the frames that a wire sends to card memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/grid/wire_state.h"
#include "emulator/arguments.h"
#include "emulator/grid/executor.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Copies the frames of the wire that `arguments` specifies to the card, and describes them in
/// `shape`, except for `samples`. Generated frames are the same as those of a model on the CPU.
/// Sets `wire` to a wire with a recording, unless the wire is the generator or a loopback. If there
/// is not enough memory, or a card cannot send the frames, returns false and sets `error` to a
/// one-line message. `name` and `mac` are the NIC's.
bool UploadWire(std::string_view name, const Arguments& arguments, const MacAddress& mac,
                Executor& executor, device::grid::WireShape* shape, std::unique_ptr<Wire>* wire,
                std::string* error);

}  // namespace sluice::emulator
