// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/client/server_list.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <utility>

namespace sluice::engine::kv::client {

namespace {

constexpr uint32_t kMaxWeight = 1000;
constexpr size_t kMaxHostBytes = 255;  // RFC 1035, section 2.3.4.
constexpr size_t kShownBytes = 60;

bool IsHost(const std::string& host) {
  return !host.empty() && host.size() <= kMaxHostBytes &&
         std::ranges::all_of(
             host, [](unsigned char c) { return absl::ascii_isgraph(c) && c != '[' && c != ']'; });
}

bool ReadServer(absl::string_view text, uint16_t default_port, RingServer* server) {
  const size_t weight = text.find("/?");
  if (weight != absl::string_view::npos) {
    if (!absl::SimpleAtoi(text.substr(weight + 2), &server->weight) || server->weight == 0 ||
        server->weight > kMaxWeight) {
      return false;
    }
    text = text.substr(0, weight);
  }
  const bool bracketed = absl::ConsumePrefix(&text, "[");
  const size_t end = std::min(text.find(bracketed ? ']' : ':'), text.size());
  if (bracketed && end == text.size()) return false;
  server->host = std::string(text.substr(0, end));
  text.remove_prefix(bracketed ? end + 1 : end);
  server->port = default_port;
  if (!text.empty()) {
    uint32_t port = 0;
    if (!absl::ConsumePrefix(&text, ":") || !absl::SimpleAtoi(text, &port) || port == 0 ||
        port > UINT16_MAX) {
      return false;
    }
    server->port = static_cast<uint16_t>(port);
  }
  return IsHost(server->host);
}

// Returns `word` for an error message: truncated to kShownBytes, then escaped.
std::string Shown(absl::string_view word) {
  return word.empty() ? "an empty name" : absl::CHexEscape(word.substr(0, kShownBytes));
}

}  // namespace

std::optional<Servers> ReadServers(const std::vector<std::string>& words, const ServerRules& rules,
                                   std::string* error) {
  if (words.empty() || words.size() > kMaxServers) {
    *error = absl::StrCat(words.size(), " servers: give 1 to ", kMaxServers);
    return std::nullopt;
  }
  Servers servers;
  for (const std::string& word : words) {
    RingServer server;
    if (!ReadServer(word, rules.default_port, &server)) {
      *error = Shown(word) +
               ": not a server: give host:port or [ipv6]:port, optionally followed by /?weight";
      return std::nullopt;
    }
    if (server.port + rules.ports - 1 > UINT16_MAX) {
      *error = absl::StrCat(Shown(word), ": --workers=", rules.ports,
                            " needs as many consecutive ports, but the last would exceed 65535: "
                            "give fewer workers or a lower port");
      return std::nullopt;
    }
    if (std::ranges::any_of(servers, [&](const RingServer& other) {
          return other.host == server.host && other.port == server.port;
        })) {
      *error = Shown(word) + ": listed twice: give each server once";
      return std::nullopt;
    }
    servers.push_back(std::move(server));
  }
  return servers;
}

}  // namespace sluice::engine::kv::client
