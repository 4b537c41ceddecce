// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/kv/partition.h"

namespace sluice::engine::kv {

inline Bytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string TextOf(Bytes bytes) { return std::string(bytes.begin(), bytes.end()); }

/// A partition with text keys and values, at a fixed time.
struct PartitionLab {
  explicit PartitionLab(const PartitionOptions& options) : partition(options) {}

  static uint64_t Hash(const std::string& key) { return HashOf(BytesOf(key), 1).index; }
  Result Set(const std::string& key, const std::string& value, Attributes attributes = {},
             Condition condition = Condition::kAlways, uint64_t* unique = nullptr) {
    return partition.Set(BytesOf(key), Hash(key), BytesOf(value), attributes, condition, now_s,
                         unique);
  }
  std::optional<ItemView> View(const std::string& key) {
    return partition.Get(BytesOf(key), Hash(key), now_s);
  }
  std::optional<std::string> Get(const std::string& key) {
    const auto view = View(key);
    return view ? std::optional(TextOf(view->value)) : std::nullopt;
  }
  Result Append(const std::string& key, const std::string& more) {
    return partition.Append(BytesOf(key), Hash(key), BytesOf(more), now_s);
  }
  Result Prepend(const std::string& key, const std::string& more) {
    return partition.Prepend(BytesOf(key), Hash(key), BytesOf(more), now_s);
  }
  Result SetPadded(const std::string& key, const std::string& text) {
    return partition.SetPadded(BytesOf(key), Hash(key), BytesOf(text), now_s, nullptr);
  }
  Result Delete(const std::string& key, uint64_t unique = 0) {
    return partition.Delete(BytesOf(key), Hash(key), unique, now_s);
  }
  Result Touch(const std::string& key, uint32_t expires_s) {
    return partition.Touch(BytesOf(key), Hash(key), expires_s, now_s);
  }

  Partition partition;
  uint32_t now_s = 100;
};

}  // namespace sluice::engine::kv
