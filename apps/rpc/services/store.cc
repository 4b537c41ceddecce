// SPDX-License-Identifier: BSD-3-Clause
//
// A key-value store service: one partition of MICA's table, in store mode. SLUICE_RPC_STORE_MIB,
// set by sluice-rpc, limits its memory. Items that do not fit are rejected, and stored items
// persist until the process ends. Threads read concurrently and write one at a time.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "engine/kv/partition.h"

// Same layout as rpcgen's output for store.x.
struct StoreBytes {
  uint32_t length;
  uint8_t* value;
};
struct StoreItem {
  StoreBytes key;
  StoreBytes value;
};
struct StoreFound {
  int32_t status;
  StoreBytes value;
};

namespace {

namespace kv = sluice::engine::kv;

enum Status : int32_t { kOk, kNotFound, kBadKey, kFull };

constexpr uint32_t kMaxValueBytes = 8192;
/// Expected item size, for the size of the index.
constexpr uint64_t kItemBytes = 128;
/// The store's time is constant, because items do not expire.
constexpr uint32_t kNow = 0;

uint64_t MemoryBytes() {
  const char* const text = std::getenv("SLUICE_RPC_STORE_MIB");
  const uint64_t mib = text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
  return (mib == 0 ? 64 : mib) << 20;
}

uint64_t Secret() {
  uint64_t secret = 0;
  if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret)) std::abort();
  return secret;
}

struct Store {
  kv::Partition partition{kv::PartitionOptions{.mode = kv::Mode::kStore,
                                               .memory_bytes = MemoryBytes(),
                                               .items = MemoryBytes() / kItemBytes}};
  std::mutex writing;
  const uint64_t secret = Secret();  ///< Hash seed. Clients that do not know it cannot make all
                                     ///< keys fall into one bucket.
};

Store& TheStore() {
  static Store store;
  return store;
}

/// The store is created before the first call, so that the process fails at startup if memory is
/// insufficient.
[[maybe_unused]] Store& g_store = TheStore();

kv::Bytes BytesOf(const StoreBytes& bytes) { return {bytes.value, bytes.length}; }

}  // namespace

extern "C" {

int store_get_1_svc(StoreBytes* key, StoreFound* result, void*) {
  static thread_local std::vector<uint8_t> copy(kMaxValueBytes);
  if (key->length == 0) {
    result->status = kBadKey;
    return 1;
  }
  Store& store = TheStore();
  const kv::Bytes bytes = BytesOf(*key);
  kv::ItemCopy found;
  const kv::Result outcome =
      store.partition.Read(bytes, kv::IndexHash(bytes, store.secret), kNow, copy, &found);
  result->status = outcome == kv::Result::kOk ? kOk : kNotFound;
  result->value = {found.value_bytes, copy.data()};
  return 1;
}

int store_put_1_svc(StoreItem* item, int32_t* result, void*) {
  if (item->key.length == 0) {
    *result = kBadKey;
    return 1;
  }
  Store& store = TheStore();
  const kv::Bytes key = BytesOf(item->key);
  const std::scoped_lock lock(store.writing);
  const kv::Result outcome =
      store.partition.Set(key, kv::IndexHash(key, store.secret), BytesOf(item->value), {},
                          kv::Condition::kAlways, kNow);
  *result = outcome == kv::Result::kOk ? kOk : kFull;
  return 1;
}

int store_delete_1_svc(StoreBytes* key, int32_t* result, void*) {
  if (key->length == 0) {
    *result = kBadKey;
    return 1;
  }
  Store& store = TheStore();
  const kv::Bytes bytes = BytesOf(*key);
  const std::scoped_lock lock(store.writing);
  const kv::Result outcome =
      store.partition.Delete(bytes, kv::IndexHash(bytes, store.secret), 0, kNow);
  *result = outcome == kv::Result::kOk ? kOk : kNotFound;
  return 1;
}
}
