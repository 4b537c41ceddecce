// SPDX-License-Identifier: BSD-3-Clause
//
// Reports on messages that arrived in frames: the worker's counters, and the counters of the
// built-in clients, if they are used.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/messages/message_server.h"
#include "figures.h"
#include "runtime/wire_clients.h"

namespace sluice::chain_app {

/// Returns the text to append to a line of statistics.
std::string MessageLine(const engine::messages::MessageServer& server,
                        const runtime::PortStats& port);
/// Returns the reason why a run with the built-in clients was not clean, or an empty string if it
/// was.
std::string ClientFault(const emulator::ClientCounts& clients, const Figures& run);

/// Adds the worker's message counters and, if `clients` is true, the clients' counters.
void ExtendByMessages(const engine::messages::MessageServer& server, const runtime::PortStats& port,
                      bool clients, nlohmann::ordered_json& report);
/// Returns the endings of a chain whose messages arrived in frames. Answered messages count as
/// right, because the host cannot verify the answers.
Endings EndingsOf(const engine::messages::MessageCounts& counts);

}  // namespace sluice::chain_app
