// SPDX-License-Identifier: BSD-3-Clause
//
// The server's entry in etcd, where clients find it (--register).
#pragma once

#include <optional>
#include <string>

#include "etcd/registration.h"

namespace sluice::kv {

/// Reads the flags. The flags of the ports must have been checked. Returns false on a bad flag,
/// with its name and the fix. `entry` is empty if the server is not to be registered.
bool ReadRegistration(std::optional<etcd::Registration::Entry>* entry, std::string* flag,
                      std::string* fix);

}  // namespace sluice::kv
