// SPDX-License-Identifier: BSD-3-Clause
//
// The server's entry among those that clients find in etcd (--register).
#pragma once

#include <optional>
#include <string>

#include "etcd/registration.h"

namespace sluice::kv {

/// What the flags say, once those of the ports are checked. On a bad one: false, with its name and
/// the fix. Nothing in `entry` if the server is not to be registered.
bool ReadRegistration(std::optional<etcd::Registration::Entry>* entry, std::string* flag,
                      std::string* fix);

}  // namespace sluice::kv
