// SPDX-License-Identifier: BSD-3-Clause
//
// How the model of a run is to be had by hosts.
#pragma once

#include <memory>
#include <string>

#include "emulator/front.h"
#include "emulator/hosted_model.h"
#include "flags.h"

namespace sluice::device_app {

/// Listens where the flags say; `flags` and `model` outlive it. Null, with one line in `error` that
/// names the flag and the fix, if it cannot.
std::unique_ptr<emulator::Front> MakeFront(const Flags& flags, emulator::HostedModel& model,
                                           std::string* error);
/// The socket that it listens at.
const std::string& SocketOf(const Flags& flags);
/// How to attach to it, as people are told.
std::string Hint(const Flags& flags);

}  // namespace sluice::device_app
