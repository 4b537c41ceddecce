// SPDX-License-Identifier: BSD-3-Clause
//
// Paths at which a user's processes find each other's sockets.
#pragma once

#include <optional>
#include <string>

namespace sluice::emulator {

/// Returns whether `folder` is a directory (not a symbolic link) that belongs to this user or root,
/// and in which this user, but no other user except root, may create files.
bool IsPrivateFolder(const std::string& folder);

/// Returns <shared>/sluice-<uid>, which is created if missing and which only this user may enter.
/// If another user created it or may enter it, returns nullopt and sets `error` to a one-line
/// message.
std::optional<std::string> OwnFolder(const std::string& shared, std::string* error);

/// Returns the first private folder of $XDG_RUNTIME_DIR, /run/user/<uid>, /run (for root), and this
/// user's folder in /tmp. If none exists, returns nullopt and sets `error` to a one-line message.
std::optional<std::string> RuntimeFolder(std::string* error);
/// Returns the default path of sluice-device's socket, which is in RuntimeFolder(). Fails if
/// RuntimeFolder does.
std::optional<std::string> DefaultSocketPath(std::string* error);

}  // namespace sluice::emulator
