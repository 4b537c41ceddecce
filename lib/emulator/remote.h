// SPDX-License-Identifier: BSD-3-Clause
//
// The host's side of a model in another process (server.h is the other): an Attachment
// that hands its memory over and does so again whenever the device comes back.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "emulator/attach.h"

namespace sluice::emulator {

/// Where a device listens, and whose it may be besides this user's and root's.
struct DeviceSocket {
  std::string path;
  std::optional<uid_t> trusted;
};

/// See Attach. A thread of its own watches the connection.
std::unique_ptr<Attachment> AttachRemote(std::string_view name, const ModelInfo& model,
                                         const SettingValues& settings, const DeviceSocket& socket,
                                         std::string* error);

}  // namespace sluice::emulator
