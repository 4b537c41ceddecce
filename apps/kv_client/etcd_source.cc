// SPDX-License-Identifier: BSD-3-Clause
#include "etcd_source.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <utility>

namespace sluice::kv_client {

namespace {

using std::chrono::milliseconds;

constexpr int kReadTimeoutS = 5;
constexpr milliseconds kShortestPause{100}, kLongestPause{5000};
constexpr size_t kMaxAnswerBytes = 1 << 20;  // Of all keys, or of one line while watching.
static_assert(kMaxServers == 1000);
constexpr char kTooMany[] = "etcd has more than 1000 such keys: give a prefix of servers only";

}  // namespace

std::optional<EtcdAddress> EtcdAddress::Read(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos || slash + 1 == text.size()) return std::nullopt;
  const std::string server = text.substr(0, slash);
  // A colon in brackets is an IPv6 address's.
  const size_t colon = server.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(server.substr(colon + 1), &port) || port == 0 || port > UINT16_MAX ||
      server.find_first_of("@?# \t\"\\") != std::string::npos) {
    return std::nullopt;
  }
  return EtcdAddress{"http://" + server, text.substr(slash + 1)};
}

EtcdSource::EtcdSource(EtcdAddress address, const ServerRules& rules)
    : address_(std::move(address)), rules_(rules) {}

EtcdSource::~EtcdSource() {
  http_.Interrupt();
  {
    const std::lock_guard lock(mutex_);
    stopping_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::optional<Servers> EtcdSource::Open(std::string* error) {
  *error = ReadKeys();
  if (!error->empty()) return std::nullopt;
  Publish();
  auto servers = Poll(error);
  if (servers) thread_ = std::thread(&EtcdSource::Follow, this);
  return servers;
}

std::optional<Servers> EtcdSource::Poll(std::string* error) {
  const std::lock_guard lock(mutex_);
  *error = std::exchange(trouble_, {});
  return std::exchange(news_, std::nullopt);
}

void EtcdSource::Follow() {
  milliseconds pause = kShortestPause;
  bool told = false;
  std::string trouble = Watch();
  while (!http_.interrupted()) {
    if (since_ && Clock::now() - *since_ > kLongestPause) {
      pause = kShortestPause;
      told = false;
    }
    if (!trouble.empty() && !std::exchange(told, true)) Complain(trouble);
    if (!Sleep(pause)) return;
    pause = std::min(2 * pause, kLongestPause);
    since_.reset();
    trouble = ReadKeys();
    if (!trouble.empty()) continue;
    Publish();
    trouble = Watch();
  }
}

// Empty, or why they could not be read.
std::string EtcdSource::ReadKeys() {
  std::string answer;
  bool too_long = false;
  std::string error = http_.Post(
      address_.url + "/v3/kv/range", RangeRequest(address_.prefix, kMaxServers + 1), kReadTimeoutS,
      [&](std::string_view piece) {
        too_long = answer.size() + piece.size() > kMaxAnswerBytes;
        if (!too_long) answer += piece;
        return !too_long;
      });
  if (too_long) error = "etcd's answer is too long";
  if (!error.empty()) return error;
  auto range = ReadRange(answer, address_.prefix, &error);
  if (!range) return error;
  if (range->keys.size() > kMaxServers) return kTooMany;
  keys_ = std::move(range->keys);
  revision_ = range->revision;
  return {};
}

// Watches until that ends. Empty if there is nothing to complain about: etcd has forgotten what
// comes after revision_.
std::string EtcdSource::Watch() {
  std::string line, trouble;
  bool ended = false;
  const std::string error = http_.Post(
      address_.url + "/v3/watch", WatchRequest(address_.prefix, revision_ + 1), 0,
      [&](std::string_view piece) {
        while (!ended) {
          const size_t end = piece.find('\n');
          line += piece.substr(0, end);
          if (line.size() > kMaxAnswerBytes) {
            trouble = "etcd's answer to the watch is too long";
            ended = true;
          }
          if (ended || end == std::string_view::npos) break;
          ended = !TakeLine(line, &trouble);
          line.clear();
          piece.remove_prefix(end + 1);
        }
        return !ended;
      });
  if (ended) return trouble;
  return error.empty() ? "etcd ended the connection" : error;
}

// False: there is nothing more to expect.
bool EtcdSource::TakeLine(std::string_view line, std::string* trouble) {
  auto watch = ReadWatch(line, address_.prefix, trouble);
  if (!watch) return false;
  if (watch->compacted != 0) return false;  // It has forgotten the revision.
  if (watch->canceled) {
    *trouble = "etcd refuses to watch these keys";
    return false;
  }
  if (watch->created) since_ = Clock::now();
  for (WatchEvent& event : watch->events) {
    if (event.value) {
      keys_.insert_or_assign(std::move(event.key), *std::move(event.value));
    } else {
      keys_.erase(event.key);
    }
    if (keys_.size() > kMaxServers) {
      *trouble = kTooMany;
      return false;
    }
  }
  if (!watch->events.empty()) Publish();
  return true;
}

// False: there is no time for it, everything ends.
bool EtcdSource::Sleep(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !stopping_.wait_for(lock, time, [this] { return http_.interrupted(); });
}

// Tells Poll what the keys say, if that is news.
void EtcdSource::Publish() {
  std::vector<std::string> words;
  for (const auto& [key, value] : keys_) words.push_back(value);
  if (words == published_ && !words.empty()) return;
  std::string error;
  auto servers = ReadServers(words, rules_, &error);
  if (!servers) return Complain(error);
  published_ = std::move(words);
  const std::lock_guard lock(mutex_);
  news_ = std::move(servers);
}

void EtcdSource::Complain(const std::string& trouble) {
  const std::lock_guard lock(mutex_);
  trouble_ = trouble;
}

}  // namespace sluice::kv_client
