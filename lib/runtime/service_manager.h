// SPDX-License-Identifier: BSD-3-Clause
//
// What a service tells the service manager that started it: systemd, for units of Type=notify. The
// protocol is one datagram to the socket that $NOTIFY_SOCKET names (sd_notify(3)). Control path.
#pragma once

#include <string_view>

namespace sluice::runtime {

/// What the service is for is being done: ports are open and workers poll.
inline constexpr std::string_view kServiceReady = "READY=1";
/// The service begins to stop.
inline constexpr std::string_view kServiceStopping = "STOPPING=1";

/// Does nothing in a process that no manager waits for. Whatever goes wrong, the manager notices
/// by its own time-out: nobody else could do anything about it.
void TellServiceManager(std::string_view state);

}  // namespace sluice::runtime
