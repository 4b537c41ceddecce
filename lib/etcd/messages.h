// SPDX-License-Identifier: BSD-3-Clause
//
// What etcd's gateway reads and writes (etcd v3, "gRPC gateway"): JSON, in which keys and values
// are in base64 and 64-bit numbers are texts. Answers may be anything: they are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::etcd {

/// With their values.
using Keys = std::map<std::string, std::string>;

/// For /v3/kv/range: at most `limit` of the keys that begin with `prefix`, which is not empty.
std::string RangeRequest(const std::string& prefix, size_t limit);
/// For /v3/watch: what happens to these keys from `revision` on.
std::string WatchRequest(const std::string& prefix, int64_t revision);

struct RangeAnswer {
  int64_t revision = 0;  ///< At which `keys` were all.
  Keys keys;
};
/// Nothing, with the reason in `error`, if this is no answer to RangeRequest(prefix).
std::optional<RangeAnswer> ReadRange(std::string_view json, const std::string& prefix,
                                     std::string* error);

struct WatchEvent {
  std::string key;
  std::optional<std::string> value;  ///< Nothing: the key is gone.
};
struct WatchAnswer {
  bool created = false;            ///< The first answer: etcd watches.
  bool canceled = false;           ///< The last.
  int64_t compacted = 0;           ///< Not 0: the revision asked for is forgotten, up to this one.
  std::vector<WatchEvent> events;  ///< In the order in which they happened.
};
/// One line of the answer to WatchRequest(prefix).
std::optional<WatchAnswer> ReadWatch(std::string_view json, const std::string& prefix,
                                     std::string* error);

/// For /v3/lease/grant: a lease of so many seconds.
std::string GrantRequest(uint32_t seconds);
/// For /v3/lease/keepalive and /v3/lease/revoke.
std::string LeaseRequest(int64_t lease);
/// For /v3/kv/put: a key that is gone with its lease.
std::string PutRequest(const std::string& key, const std::string& value, int64_t lease);

struct Lease {
  int64_t id = 0;
  int64_t seconds = 0;  ///< That it lasts from now on; 0: there is no such lease any more.
};
/// Of the answer to GrantRequest.
std::optional<Lease> ReadGrant(std::string_view json, std::string* error);
/// Of the first line of the answer to LeaseRequest, as keepalive.
std::optional<Lease> ReadKeepAlive(std::string_view json, std::string* error);
/// Whether an answer is etcd's at all: to PutRequest, and to LeaseRequest as revoke.
bool IsAnswer(std::string_view json, std::string* error);

}  // namespace sluice::etcd
