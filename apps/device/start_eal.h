// SPDX-License-Identifier: BSD-3-Clause
//
// EAL of a process that is a device: small, and nowhere in a host's way.
#pragma once

#include <string>

#include "flags.h"

namespace sluice::device_app {

/// Starts EAL with the user's arguments. What these leave open: no hugepages, since all memory that
/// matters is the host's; no devices but those that are named; one lcore, which sleeps, on all
/// CPUs, so that the model's thread may use any that the host leaves. Stores the name of the
/// process's runtime folder in `file_prefix` unless the user chose one. Returns 0, or the exit code
/// after one line on standard error.
int StartEal(const Flags& flags, std::string* file_prefix);

}  // namespace sluice::device_app
