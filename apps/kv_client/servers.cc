// SPDX-License-Identifier: BSD-3-Clause
#include "servers.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <fstream>

namespace sluice::kv_client {

namespace {

using engine::kv::client::RingServer;

constexpr uint32_t kMaxServers = 1000;
constexpr uint32_t kMaxWeight = 1000;

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
  return !server->host.empty() && server->host.find_first_of(" \t[]") == std::string::npos;
}

std::optional<Servers> Read(const std::vector<std::string>& words, uint16_t default_port,
                            std::string* error) {
  Servers servers;
  for (const std::string& word : words) {
    RingServer server;
    if (!ReadServer(word, default_port, &server)) {
      *error = absl::StrCat(word.empty() ? "an empty name" : word,
                            ": not a server: write host:port or [ipv6]:port, /?weight behind it");
      return std::nullopt;
    }
    if (std::ranges::any_of(servers, [&](const RingServer& other) {
          return other.host == server.host && other.port == server.port;
        })) {
      *error = word + ": is there twice: name each server once";
      return std::nullopt;
    }
    servers.push_back(std::move(server));
  }
  if (servers.empty() || servers.size() > kMaxServers) {
    *error = absl::StrCat(servers.size(), " servers: name 1 to ", kMaxServers);
    return std::nullopt;
  }
  return servers;
}

}  // namespace

std::optional<Servers> ReadServers(const std::string& text, uint16_t default_port,
                                   std::string* error) {
  return Read(absl::StrSplit(text, ','), default_port, error);
}

std::optional<Servers> ReadServersFile(const std::string& path, uint16_t default_port,
                                       std::string* error) {
  std::ifstream file(path);
  if (!file) {
    *error = "cannot be read: name a file with a server on each line";
    return std::nullopt;
  }
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    const absl::string_view word = absl::StripAsciiWhitespace(line);
    if (!word.empty()) words.emplace_back(word);
  }
  return Read(words, default_port, error);
}

}  // namespace sluice::kv_client
