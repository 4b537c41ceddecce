// SPDX-License-Identifier: BSD-3-Clause
//
// Combines the lines of a session (fail2ban, server/filter.py, _mergeFailure): a line that is not a
// failure by itself, or that does not name a host, may become a failure because of earlier or later
// lines of its session.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/fail2ban_tags.h"

namespace sluice::engine::logmon {

/// One filter's sessions in one thread. Allocates only at construction. Remembers the newest
/// kMaxSessions sessions; fail2ban remembers 100.
class Fail2banSessions {
 public:
  static constexpr size_t kMaxSessions = 1024;
  static constexpr size_t kMaxHostBytes = 255;

  Fail2banSessions();

  /// Processes a line of session `key`, which is not 0. `now` and `max_age` may have any unit. A
  /// session is dropped if it had no line for longer than `max_age`, unless `max_age` is 0. Returns
  /// the host that failed, valid until the next call, or a view without data if there was no
  /// failure or the host is not known yet.
  std::string_view Process(uint64_t key, uint64_t now, uint64_t max_age, const TaggedLine& line);

 private:
  struct Session {
    uint64_t time = 0;
    uint64_t user = 0;  ///< Hash of the last user name; 0: none yet.
    bool several_users = false;
    bool is_pending = false;   ///< A failure whose host is not known yet.
    uint8_t rank = UINT8_MAX;  ///< Rank of the known host: addresses have lower ranks than names.
                               ///< UINT8_MAX: none.
    uint8_t host_bytes = 0;
    std::array<char, kMaxHostBytes> host{};

    void SetUser(std::string_view name);
    void SetHost(const TaggedLine& line);
  };
  /// Returns null if the session does not exist or is too old.
  Session* Find(uint64_t key, uint64_t now, uint64_t max_age);

  std::vector<uint64_t> keys_;  ///< Keys of the sessions by index; 0: free.
  std::vector<Session> sessions_;
  size_t next_ = 0;  ///< Index of the next new session.
  Session passing_;  ///< Temporary session for a line that ends an unknown session.
};

}  // namespace sluice::engine::logmon
