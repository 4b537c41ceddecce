// SPDX-License-Identifier: BSD-3-Clause
#include "etcd/watcher.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "base/backoff.h"
#include "etcd/pauses.h"

namespace sluice::etcd {

namespace {

using std::chrono::milliseconds;

}  // namespace

Watcher::Watcher(Address address, const Limits& limits, OnKeys on_keys, OnTrouble on_trouble)
    : address_(std::move(address)),
      limits_(limits),
      on_keys_(std::move(on_keys)),
      on_trouble_(std::move(on_trouble)) {}

Watcher::~Watcher() {
  http_.Interrupt();
  {
    const std::lock_guard lock(mutex_);
    stopping_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::string Watcher::Open() {
  std::string error = ReadKeys();
  if (error.empty()) on_keys_(keys_);
  return error;
}

void Watcher::Follow() { thread_ = std::thread(&Watcher::Main, this); }

void Watcher::Main() {
  base::Backoff pauses(kShortestPause, kLongestPause);
  bool reported = false;
  std::string trouble = Watch();
  while (!http_.interrupted()) {
    if (since_ && Clock::now() - *since_ > kLongestPause) {
      pauses.Reset();
      reported = false;
    }
    if (!trouble.empty() && !std::exchange(reported, true)) on_trouble_(trouble);
    if (!Sleep(pauses.Next())) return;
    since_.reset();
    trouble = ReadKeys();
    if (!trouble.empty()) continue;
    on_keys_(keys_);
    trouble = Watch();
  }
}

std::string Watcher::TooMany() const {
  return absl::StrCat("etcd contains more than ", limits_.keys,
                      " keys with this prefix: use a dedicated prefix");
}

// Returns the error, or an empty string on success.
std::string Watcher::ReadKeys() {
  std::string answer;
  bool too_long = false;
  std::string error =
      http_.Post(address_.url + "/v3/kv/range", RangeRequest(address_.prefix, limits_.keys + 1),
                 kAnswerTimeoutS, [&](std::string_view piece) {
                   too_long = answer.size() + piece.size() > limits_.bytes;
                   if (!too_long) answer += piece;
                   return !too_long;
                 });
  if (too_long) error = "etcd's answer is too long";
  if (!error.empty()) return error;
  auto range = ReadRange(answer, address_.prefix, &error);
  if (!range) return error;
  if (range->keys.size() > limits_.keys) return TooMany();
  keys_ = std::move(range->keys);
  revision_ = range->revision;
  return {};
}

// Follows changes until the watch ends. Returns the error, or an empty string if etcd has discarded
// revisions after revision_; the caller must then read all keys again.
std::string Watcher::Watch() {
  std::string line, trouble;
  bool ended = false;
  const std::string error =
      http_.Post(address_.url + "/v3/watch", WatchRequest(address_.prefix, revision_ + 1), 0,
                 [&](std::string_view piece) {
                   while (!ended) {
                     const size_t end = piece.find('\n');
                     line += piece.substr(0, end);
                     if (line.size() > limits_.bytes) {
                       trouble = "etcd's answer to the watch is too long";
                       ended = true;
                     }
                     if (ended || end == std::string_view::npos) break;
                     ended = !ProcessLine(line, &trouble);
                     line.clear();
                     piece.remove_prefix(end + 1);
                   }
                   return !ended;
                 });
  if (ended) return trouble;
  return error.empty() ? "etcd ended the connection" : error;
}

// Processes one line of the answer. Returns false if the watch has ended.
bool Watcher::ProcessLine(std::string_view line, std::string* trouble) {
  auto watch = ReadWatch(line, address_.prefix, trouble);
  if (!watch) return false;
  if (watch->compacted != 0) return false;  // etcd has discarded the revision.
  if (watch->canceled) {
    *trouble = "etcd rejected the watch of these keys";
    return false;
  }
  if (watch->created) since_ = Clock::now();
  for (WatchEvent& event : watch->events) {
    if (event.value) {
      keys_.insert_or_assign(std::move(event.key), *std::move(event.value));
    } else {
      keys_.erase(event.key);
    }
    if (keys_.size() > limits_.keys) {
      *trouble = TooMany();
      return false;
    }
  }
  if (!watch->events.empty()) on_keys_(keys_);
  return true;
}

// Returns false if the watcher is being stopped.
bool Watcher::Sleep(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !stopping_.wait_for(lock, time, [this] { return http_.interrupted(); });
}

}  // namespace sluice::etcd
