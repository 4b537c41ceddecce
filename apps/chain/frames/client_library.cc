// SPDX-License-Identifier: BSD-3-Clause
#include "frames/client_library.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "emulator/options.h"
#include "frames/client_wire.h"
#include "ledger.h"
#include "packet/bytes.h"
#include "stage_kinds.h"

namespace sluice::chain_app {
namespace {

using emulator::ReadNumber;

constexpr uint32_t kMostMessageBytes = 1u << 24;

std::atomic<bool> stopped{false};

bool ReadFlow(std::string_view text, ClientOptions::Flow* flow) {
  const auto [port, longest] = emulator::Cut(text, ':');
  return ReadNumber(port, 1, 65535, &flow->port) &&
         ReadNumber(longest, 1, kMostMessageBytes, &flow->longest);
}

bool ReadOption(std::string_view key, std::string_view value, ClientOptions* options) {
  if (key == "outstanding") return ReadNumber(value, 1, 4096, &options->outstanding);
  if (key == "messages") return ReadNumber(value, &options->messages);
  if (key == "timeout_ns") return ReadNumber(value, 1, ~uint64_t{0}, &options->timeout_ns);
  if (key == "flow") return ReadFlow(value, &options->flows.emplace_back());
  if (key == "traffic") options->traffic = value;
  if (key == "options") {
    options->traffic_options = value;
    std::ranges::replace(options->traffic_options, ';', ',');
  }
  return key == "traffic" || key == "options";
}

/// Creates the clients' wire with one ledger per flow. Returns null and sets `error` if the traffic
/// cannot be created.
std::unique_ptr<ClientWire> MakeWire(const ClientOptions& options, uint64_t seed,
                                     const packet::MacAddress& server, std::string* error) {
  std::string none;
  const TrafficKind* const kind = FindTraffic(options.traffic, &none, error);
  if (kind == nullptr) return nullptr;
  std::vector<ClientWire::Client> clients;
  for (const auto& [port, longest] : options.flows) {
    auto traffic = kind->make({options.traffic_options, seed + clients.size(), longest}, error);
    if (traffic == nullptr) return nullptr;
    const uint64_t most = options.messages == 0 ? ~uint64_t{0} : options.messages;
    clients.push_back(
        {port, std::make_unique<Ledger>(std::move(traffic), longest, options.outstanding,
                                        options.timeout_ns, most)});
  }
  return std::make_unique<ClientWire>(std::move(clients), server);
}

}  // namespace

std::optional<std::string> ClientOptionsText(const ClientOptions& options) {
  std::string given = options.traffic_options;
  const bool plain = std::ranges::all_of(given, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("=,.:/_-").find(c) != std::string_view::npos;
  });
  if (!plain) return std::nullopt;
  std::ranges::replace(given, ',', ';');
  std::string text = "traffic=" + options.traffic + "+options=" + given +
                     "+outstanding=" + std::to_string(options.outstanding) +
                     "+messages=" + std::to_string(options.messages) +
                     "+timeout_ns=" + std::to_string(options.timeout_ns);
  for (const auto& [port, longest] : options.flows)
    text.append("+flow=")
        .append(std::to_string(port))
        .append(1, ':')
        .append(std::to_string(longest));
  return text;
}

std::optional<ClientOptions> ReadClientOptions(std::string_view text, std::string* error) {
  ClientOptions options;
  const auto read = [&](std::string_view key, std::string_view value) {
    return ReadOption(key, value, &options);
  };
  if (!emulator::ReadOptions(text, read, error)) return std::nullopt;
  return options;
}

void StopClients() { stopped = true; }
bool ClientsStopped() { return stopped.load(std::memory_order_relaxed); }

}  // namespace sluice::chain_app

extern "C" [[gnu::visibility("default")]] sluice::emulator::Wire* sluice_create_wire(
    const char* options, uint64_t seed, const uint8_t* nic, std::string* error) {
  const auto read = sluice::chain_app::ReadClientOptions(options, error);
  return read ? sluice::chain_app::MakeWire(
                    *read, seed, sluice::packet::Load<sluice::packet::MacAddress>(nic), error)
                    .release()
              : nullptr;
}
