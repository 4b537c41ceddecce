// SPDX-License-Identifier: BSD-3-Clause
#include "etcd/registration.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "etcd/messages.h"
#include "etcd/pauses.h"

namespace sluice::etcd {

namespace {

using std::chrono::milliseconds;

constexpr int kLeaveTimeoutS = 2;
constexpr size_t kMaxAnswerBytes = 1 << 16;

// Returns the time limit of a request. A renewal begins a third of the lease after the previous
// one. Even if it times out, enough of the lease remains for another attempt.
int AnswerTimeoutS(uint32_t lease_s) {
  return std::clamp(static_cast<int>(lease_s / 2), 1, kAnswerTimeoutS);
}

}  // namespace

Registration::Registration(Entry entry, Log log, std::atomic<bool>* here)
    : entry_(std::move(entry)),
      log_(std::move(log)),
      here_(here),
      thread_(&Registration::Main, this) {}

Registration::~Registration() { Leave(); }

void Registration::Leave() {
  if (std::exchange(left_, true)) return;
  http_.Interrupt();
  {
    const std::lock_guard lock(mutex_);
    stopping_.notify_all();
  }
  thread_.join();
  here_->store(false, std::memory_order_relaxed);
  if (lease_ == 0) return;
  HttpPoster http;
  std::string answer;
  const std::string error =
      Ask(http, "/v3/lease/revoke", LeaseRequest(lease_), kLeaveTimeoutS, &answer);
  if (error.empty()) return;
  log_(absl::StrCat(entry_.name, " could not be revoked: ", error, "; it expires within ",
                    entry_.lease_s, " s"));
}

void Registration::Main() {
  // A third of the lease, so that the lease survives two attempts that fail at once, or one that
  // times out.
  const milliseconds rest(entry_.lease_s * 1000 / 3);
  base::Backoff pauses(kShortestPause, kLongestPause);
  bool away = false, before = false;
  while (!http_.interrupted()) {
    const std::string trouble = lease_ == 0 ? Register() : KeepAlive();
    if (http_.interrupted()) return;
    here_->store(trouble.empty() && lease_ != 0, std::memory_order_relaxed);
    if (!trouble.empty()) {
      if (!std::exchange(away, true)) log_(absl::StrCat(entry_.name, ": ", trouble));
      if (!Sleep(std::min(pauses.Next(), std::max(rest, kShortestPause)))) return;
      continue;
    }
    pauses.Reset();
    if (lease_ == 0) {  // The lease has expired: request a new one at once.
      away = true;
      continue;
    }
    if (!std::exchange(before, true)) {
      log_(absl::StrCat(entry_.name, " is registered"));
    } else if (away) {
      log_(absl::StrCat(entry_.name, " is registered in etcd again"));
    }
    away = false;
    if (!Sleep(rest)) return;
  }
}

// Returns the error, or an empty string on success.
std::string Registration::Register() {
  std::string answer;
  std::string error = Ask(http_, "/v3/lease/grant", GrantRequest(entry_.lease_s),
                          AnswerTimeoutS(entry_.lease_s), &answer);
  if (!error.empty()) return error;
  const auto lease = ReadGrant(answer, &error);
  if (!lease) return error;
  error = Ask(http_, "/v3/kv/put",
              PutRequest(entry_.address.prefix + entry_.name, entry_.value, lease->id),
              AnswerTimeoutS(entry_.lease_s), &answer);
  // If the put is not answered, the key may exist nevertheless. If `lease_` is not set, the key
  // disappears when the lease expires. During shutdown, `lease_` is set so that the lease is
  // revoked.
  if (error.empty() || http_.interrupted()) lease_ = lease->id;
  if (error.empty() && !IsAnswer(answer, &error)) lease_ = 0;
  return error;
}

// Returns the error, or an empty string on success. Sets lease_ to 0 if etcd no longer knows the
// lease.
std::string Registration::KeepAlive() {
  std::string answer;
  std::string error = Ask(http_, "/v3/lease/keepalive", LeaseRequest(lease_),
                          AnswerTimeoutS(entry_.lease_s), &answer);
  if (!error.empty()) return error;
  const auto lease = ReadKeepAlive(answer, &error);
  if (lease && lease->seconds == 0) lease_ = 0;
  return error;
}

std::string Registration::Ask(HttpPoster& http, const std::string& path, const std::string& request,
                              int timeout_s, std::string* answer) const {
  answer->clear();
  bool too_long = false;
  const std::string error =
      http.Post(entry_.address.url + path, request, timeout_s, [&](std::string_view piece) {
        too_long = answer->size() + piece.size() > kMaxAnswerBytes;
        if (!too_long) *answer += piece;
        return !too_long;
      });
  return too_long ? "etcd's answer is too long" : error;
}

// Returns false if the registration is being stopped.
bool Registration::Sleep(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !stopping_.wait_for(lock, time, [this] { return http_.interrupted(); });
}

}  // namespace sluice::etcd
