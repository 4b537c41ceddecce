// SPDX-License-Identifier: BSD-3-Clause
//
// What sluice-chain says of messages that came in frames: what the worker made of them, and the
// clients' figures, if they are ours.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/messages/message_server.h"
#include "figures.h"
#include "runtime/hooks.h"
#include "runtime/port_stats.h"

namespace sluice::chain_app {

/// Below a line of statistics.
std::string MessageLine(const engine::messages::MessageServer& server,
                        const runtime::PortStats& port);
/// Messages of our clients that have no ending yet.
uint64_t OpenMessages(const runtime::PortStats& port);
runtime::Findings FindingsOf(const runtime::PortStats& port);
/// Why a run with our clients was not a clean one; empty: it was.
std::string ClientFault(const runtime::PortStats& port, const Figures& run);

/// Adds what the worker made of messages, and what clients say of them.
void ExtendByMessages(const engine::messages::MessageServer& server, const runtime::PortStats& port,
                      bool clients, nlohmann::ordered_json& report);
/// Of a chain whose messages came in frames: those that were answered are right, as far as the host
/// can know.
Endings EndingsOf(const engine::messages::MessageCounts& counts);

}  // namespace sluice::chain_app
