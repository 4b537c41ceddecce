// SPDX-License-Identifier: BSD-3-Clause
#include "persistence.h"

#include <filesystem>
#include <system_error>

#include "engine/kv/snapshot.h"

namespace sluice::kv {

bool Persistence::Restore(uint32_t now_s, std::string* error) {
  std::error_code ignored;
  if (path_.empty() || !std::filesystem::exists(path_, ignored)) return true;
  const auto hash = [this](engine::kv::Bytes key) {
    return store_.trust_hashes ? engine::kv::Trusted(engine::kv::RouteHash(key))
                               : engine::kv::HashOf(key, store_.secret);
  };
  return engine::kv::ReadSnapshot(path_, store_.partitions, hash, now_s, error);
}

bool Persistence::Save(uint32_t now_s, std::string* error) {
  return path_.empty() || engine::kv::WriteSnapshot(path_, store_.partitions, now_s, error);
}

}  // namespace sluice::kv
