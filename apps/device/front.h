// SPDX-License-Identifier: BSD-3-Clause
//
// Makes a run's model available to hosts.
#pragma once

#include <memory>
#include <string>

#include "emulator/front.h"
#include "emulator/hosted_model.h"
#include "flags.h"

namespace sluice::device_app {

/// Listens at the socket that the flags name; `flags` and `model` must outlive the result. On
/// failure, returns null and sets `error` to one line that names the flag and the fix.
std::unique_ptr<emulator::Front> MakeFront(const Flags& flags, emulator::HostedModel& model,
                                           std::string* error);
/// Returns the path of the listening socket.
const std::string& SocketOf(const Flags& flags);
/// Returns instructions for users on how to attach.
std::string Hint(const Flags& flags);

}  // namespace sluice::device_app
