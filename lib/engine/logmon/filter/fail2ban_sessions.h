// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of one connection, put together (fail2ban, server/filter.py, _mergeFailure): a line that is
// no failure, or names no host, may become one by what its session says before or after it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/fail2ban_tags.h"

namespace sluice::engine::logmon {

/// One thread's, for one filter. Allocates at construction only. (fail2ban remembers 100 sessions.)
class Fail2banSessions {
 public:
  static constexpr size_t kMaxSessions = 1024;
  static constexpr size_t kMaxHostBytes = 255;

  Fail2banSessions();

  /// Takes a line of the session `key`, not 0, that came at `now`, in any unit; sessions without a
  /// line for longer than `max_age` are forgotten, unless that is 0. The host that has failed,
  /// valid until the next call; without data if none has: nobody failed, or nobody knows yet who.
  std::string_view Take(uint64_t key, uint64_t now, uint64_t max_age, const TaggedLine& line);

 private:
  struct Session {
    uint64_t time = 0;
    uint64_t user = 0;  ///< Hash of the first; 0: none yet.
    bool several_users = false;
    bool is_pending = false;   ///< There was a failure, and nobody knew whose.
    uint8_t rank = UINT8_MAX;  ///< Of the host: an address counts before a name.
    uint8_t host_bytes = 0;
    std::array<char, kMaxHostBytes> host{};

    void SetUser(std::string_view name);
    void SetHost(const TaggedLine& line);
  };
  /// Null if there is none, or it is too old.
  Session* Find(uint64_t key, uint64_t now, uint64_t max_age);

  std::vector<uint64_t> keys_;  ///< Of sessions, by place; 0: it is free.
  std::vector<Session> sessions_;
  size_t next_ = 0;  ///< The place of the next new session.
  Session passing_;  ///< Of a line that ends a session which was not known.
};

}  // namespace sluice::engine::logmon
