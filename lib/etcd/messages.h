// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of etcd's JSON gateway (etcd v3, "gRPC gateway"). Keys and values are base64, and 64-bit
// numbers are strings. Answers are not trusted, so they are validated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::etcd {

/// Keys with their values.
using Keys = std::map<std::string, std::string>;

/// Request for /v3/kv/range. Asks for at most `limit` keys that begin with `prefix`, which must not
/// be empty.
std::string RangeRequest(const std::string& prefix, size_t limit);
/// Request for /v3/watch. Asks for changes of these keys from `revision` on.
std::string WatchRequest(const std::string& prefix, int64_t revision);

struct RangeAnswer {
  int64_t revision = 0;  ///< Revision at which all `keys` were read.
  Keys keys;
};
/// Parses an answer to RangeRequest(prefix). Returns nullopt, with the reason in `error`, if it is
/// invalid.
std::optional<RangeAnswer> ReadRange(std::string_view json, const std::string& prefix,
                                     std::string* error);

struct WatchEvent {
  std::string key;
  std::optional<std::string> value;  ///< Absent if the key was deleted.
};
struct WatchAnswer {
  bool created = false;   ///< The first answer: the watch is active.
  bool canceled = false;  ///< The last answer: the watch has ended.
  /// If not 0, etcd has discarded all revisions up to this one, and the requested revision is among
  /// them.
  int64_t compacted = 0;
  std::vector<WatchEvent> events;  ///< In order of occurrence.
};
/// Parses one line of the answer to WatchRequest(prefix).
std::optional<WatchAnswer> ReadWatch(std::string_view json, const std::string& prefix,
                                     std::string* error);

/// Request for /v3/lease/grant. Asks for a lease of `seconds`.
std::string GrantRequest(uint32_t seconds);
/// Request for /v3/lease/keepalive and /v3/lease/revoke.
std::string LeaseRequest(int64_t lease);
/// Request for /v3/kv/put. etcd deletes the key when its lease ends.
std::string PutRequest(const std::string& key, const std::string& value, int64_t lease);

struct Lease {
  int64_t id = 0;
  int64_t seconds = 0;  ///< Remaining lifetime, or 0 if the lease no longer exists.
};
/// Parses an answer to GrantRequest.
std::optional<Lease> ReadGrant(std::string_view json, std::string* error);
/// Parses the first line of an answer to a LeaseRequest for keepalive.
std::optional<Lease> ReadKeepAlive(std::string_view json, std::string* error);
/// Returns whether the text is a valid answer to PutRequest, or to LeaseRequest for revoke.
bool IsAnswer(std::string_view json, std::string* error);

}  // namespace sluice::etcd
