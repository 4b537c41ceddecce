// SPDX-License-Identifier: BSD-3-Clause
//
// Notifies the service manager that started the program: systemd, for units of Type=notify. The
// protocol is one datagram to the socket that $NOTIFY_SOCKET names (sd_notify(3)). Used on the
// control path only.
#pragma once

#include <string_view>

namespace sluice::host {

/// The service is ready: ports are open and workers poll.
inline constexpr std::string_view kServiceReady = "READY=1";
/// The service is stopping.
inline constexpr std::string_view kServiceStopping = "STOPPING=1";

/// Does nothing if $NOTIFY_SOCKET is unset. Errors are ignored, because the manager's time-out
/// detects a missing notification.
void NotifyServiceManager(std::string_view state);

}  // namespace sluice::host
