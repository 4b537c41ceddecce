// SPDX-License-Identifier: BSD-3-Clause
//
// Where processes of a user find each other's sockets.
#pragma once

#include <optional>
#include <string>

namespace sluice::emulator {

/// True if `folder` exists, is not a symbolic link, belongs to this user or root, and nobody else
/// may create files there.
bool IsPrivateFolder(const std::string& folder);

/// <shared>/sluice-<uid>, created if missing, which only this user may enter. Nothing, with one
/// line in `error`, if somebody else made it or may enter it.
std::optional<std::string> OwnFolder(const std::string& shared, std::string* error);

/// The first private folder of $XDG_RUNTIME_DIR, /run/user/<uid>, for root /run, and this user's
/// own below /tmp. Nothing, with one line in `error`, if there is none.
std::optional<std::string> RuntimeFolder(std::string* error);
/// Where sluice-device listens by default, in that folder.
std::optional<std::string> DefaultSocketPath(std::string* error);

}  // namespace sluice::emulator
