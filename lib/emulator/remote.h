// SPDX-License-Identifier: BSD-3-Clause
//
// The host side of a model in another process (server.h is the device side): an Attachment that
// passes its memory to the device, and does so again after each restart of the device.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "emulator/attach.h"

namespace sluice::emulator {

/// Path of the device's socket, and a user who is trusted in addition to this user and root.
struct DeviceSocket {
  std::string path;
  std::optional<uid_t> trusted;
};

/// See Attach. A separate thread watches the connection.
std::unique_ptr<Attachment> AttachRemote(std::string_view name, const ModelInfo& model,
                                         const SettingValues& settings, const DeviceSocket& socket,
                                         std::string* error);

}  // namespace sluice::emulator
