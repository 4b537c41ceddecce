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

namespace sluice::kv_client {

using EtcdKeys = std::map<std::string, std::string>;

/// For /v3/kv/range: at most `limit` of the keys that begin with `prefix`, which is not empty.
std::string RangeRequest(const std::string& prefix, size_t limit);
/// For /v3/watch: what happens to these keys from `revision` on.
std::string WatchRequest(const std::string& prefix, int64_t revision);

struct RangeAnswer {
  int64_t revision = 0;  ///< At which `keys` were all.
  EtcdKeys keys;         ///< With values.
};
/// Nothing, with the reason in `error`, if this is no answer to RangeRequest(prefix).
std::optional<RangeAnswer> ReadRange(std::string_view json, const std::string& prefix,
                                     std::string* error);

struct WatchEvent {
  std::string key;
  std::optional<std::string> value;  ///< Nothing: the key is gone.
};
struct WatchAnswer {
  bool created = false;   ///< The first answer: etcd watches.
  bool canceled = false;  ///< The last.
  int64_t compacted = 0;  ///< Not 0: the revision asked for is forgotten, up to this one.
  std::vector<WatchEvent> events;  ///< In the order in which they happened.
};
/// One line of the answer to WatchRequest(prefix).
std::optional<WatchAnswer> ReadWatch(std::string_view json, const std::string& prefix,
                                     std::string* error);

}  // namespace sluice::kv_client
