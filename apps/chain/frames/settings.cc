// SPDX-License-Identifier: BSD-3-Clause
#include "frames/settings.h"

#include <algorithm>

#include "engine/messages/message_server.h"
#include "frames/client_library.h"
#include "host/flag_text.h"

namespace sluice::chain_app {
namespace {

using engine::messages::MessageServer;

constexpr uint8_t kUdp = 17;

/// Restricts the flows to UDP, including those that match any protocol. Returns an error message,
/// or an empty string.
std::string RestrictToUdp(FrameSettings* settings) {
  for (engine::chain::FlowMatch& flow : settings->flows) {
    if (flow.protocol == 0) flow.protocol = kUdp;
    if (flow.protocol != kUdp || flow.port == 0)
      return engine::chain::NameOf(flow) +
             ": messages are UDP datagrams: give each flow as udp:PORT";
    if (std::ranges::count(settings->flows, flow.port, &engine::chain::FlowMatch::port) != 1)
      return engine::chain::NameOf(flow) + ": give each port once";
  }
  return "";
}

}  // namespace

std::optional<FrameSettings> ReadFrameSettings(runtime::CommandLine* line, std::string* error) {
  FrameSettings settings;
  *error = ReadChainFlags(&settings);
  if (!error->empty()) return std::nullopt;
  if (const std::string fault = RestrictToUdp(&settings); !fault.empty()) {
    *error = host::FlagComplaint("flow", fault);
    return std::nullopt;
  }
  const size_t most = MessageServer::kMostMessages / 2 / settings.flows.size();
  if (settings.outstanding > most) {
    *error = host::FlagComplaint("outstanding",
                                 "all flows share " + std::to_string(MessageServer::kMostMessages) +
                                     " slots for messages: give at most " + std::to_string(most));
    return std::nullopt;
  }
  if (line->options.workers != 1) {
    *error = host::FlagComplaint("workers", "a chain supports only one worker: omit --workers");
    return std::nullopt;
  }
  settings.clients = !line->own_port && !line->options.frame_size.empty();
  if (settings.clients) {
    ClientOptions client{.traffic = settings.traffic->name,
                         .traffic_options = settings.traffic_options,
                         .outstanding = settings.outstanding,
                         .messages = settings.messages,
                         .timeout_ns = settings.timeout_ns,
                         .flows = {}};
    for (const auto flow : settings.flows)
      client.flows.push_back({flow.port, engine::chain::ChainOf(settings.graph, flow)->message});
    const auto text = ClientOptionsText(client);
    if (!text) {
      *error = host::FlagComplaint("traffic", "give options of letters, digits and =,.:/_-");
      return std::nullopt;
    }
    // The library is linked into this process, so its name without a path is sufficient.
    line->options.wire = "library:libsluice_chain_wire.so+" + *text;
    line->options.traffic = "clients";
  }
  static_cast<host::RunSettings&>(settings) = line->options;
  line->options.answers = false;
  line->options.hangup = !settings.graph_file.empty();
  return settings;
}

}  // namespace sluice::chain_app
