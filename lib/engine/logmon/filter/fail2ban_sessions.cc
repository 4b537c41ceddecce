// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/fail2ban_sessions.h"

#include <absl/hash/hash.h>

#include <algorithm>

namespace sluice::engine::logmon {

Fail2banSessions::Fail2banSessions() : keys_(kMaxSessions), sessions_(kMaxSessions) {}

void Fail2banSessions::Session::SetUser(std::string_view name) {
  if (name.empty()) return;
  const uint64_t hash = absl::HashOf(name) | 1;
  several_users |= user != 0 && user != hash;
  user = hash;
}

void Fail2banSessions::Session::SetHost(const TaggedLine& line) {
  uint8_t place = 0;
  for (const std::string_view one : {line.ip4, line.ip6, line.dns, line.id}) {
    if (one.data() != nullptr && place <= rank) {
      rank = place;
      host_bytes = static_cast<uint8_t>(one.copy(host.data(), host.size()));
      return;
    }
    ++place;
  }
}

Fail2banSessions::Session* Fail2banSessions::Find(uint64_t key, uint64_t now, uint64_t max_age) {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  if (found == keys_.end()) return nullptr;
  Session& session = sessions_[static_cast<size_t>(found - keys_.begin())];
  if (max_age == 0 || now - session.time <= max_age) return &session;
  *found = 0;
  return nullptr;
}

std::string_view Fail2banSessions::Process(uint64_t key, uint64_t now, uint64_t max_age,
                                           const TaggedLine& line) {
  const bool gained = !line.gained.empty(), ends = !line.forget.empty();
  bool fails = !gained && line.no_fail.empty();
  Session* session = Find(key, now, max_age);
  if (session != nullptr) {
    session->is_pending &= !gained;
    if (ends) keys_[static_cast<size_t>(session - sessions_.data())] = 0;
  } else {
    session = &passing_;
    if (!ends) {
      keys_[next_] = key;
      session = &sessions_[next_];
      next_ = (next_ + 1) % kMaxSessions;
    }
    *session = {};
  }
  session->time = now;
  session->SetUser(line.user);
  session->SetHost(line);
  // A login does not clear a session with several user names or an earlier failure.
  fails |= session->is_pending || session->several_users;
  session->is_pending = fails && session->rank == UINT8_MAX;
  if (!fails || session->is_pending) return {};
  return {session->host.data(), session->host_bytes};
}

}  // namespace sluice::engine::logmon
