// SPDX-License-Identifier: BSD-3-Clause
//
// Starts a small EAL for a process that acts as a device. It does not interfere with hosts.
#pragma once

#include <string>

#include "flags.h"

namespace sluice::device_app {

/// Starts EAL with the user's arguments and these defaults: no hugepages, because all relevant
/// memory belongs to the host; only devices that are named; and one sleeping lcore that may run on
/// all CPUs, so that the model's thread can use any CPU that the host does not use. Stores the name
/// of the process's runtime folder in `file_prefix` unless the user chose one. Returns 0, or the
/// exit code after one line on standard error.
int StartEal(const Flags& flags, std::string* file_prefix);

}  // namespace sluice::device_app
