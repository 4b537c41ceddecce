// SPDX-License-Identifier: BSD-3-Clause
//
// A front-end service without data. LOOK_UP gets a value from the store. KEEP stores a value there
// and then reads it, with two consecutive calls.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sluice_rpc.h"

// Same layout as rpcgen's output for front.x; the store's types are the same.
struct FrontBytes {
  uint32_t length;
  uint8_t* value;
};
struct FrontItem {
  FrontBytes key;
  FrontBytes value;
};
struct FrontFound {
  int32_t status;
  union {
    FrontBytes value;
    uint32_t why;
  };
};

namespace {

enum Status : int32_t { kOk, kNotFound, kBadKey, kUnavailable };

constexpr uint32_t kStoreProgram = 0x20000104;
constexpr sluice_rpc_procedure kGet = {kStoreProgram, 1, 1};
constexpr sluice_rpc_procedure kPut = {kStoreProgram, 1, 2};

int Found(const sluice_rpc_reply* reply, void* result, void*) {
  auto& front = *static_cast<FrontFound*>(result);
  if (reply->status != SLUICE_RPC_SUCCESS) {
    front.status = kUnavailable;
    front.why = reply->status;
    return 1;
  }
  front = *static_cast<const FrontFound*>(reply->result);
  return 1;
}

/// Copy of the key of a KEEP, kept while the store handles the put. The arguments are no longer
/// valid when the store answers.
struct KeptKey {
  uint32_t length;
  uint8_t bytes[250];
};

int KeptFound(const sluice_rpc_reply* reply, void* result, void*) {
  if (reply->status != SLUICE_RPC_SUCCESS) return 0;
  const auto& found = *static_cast<const FrontFound*>(reply->result);
  if (found.status != kOk) return 0;
  *static_cast<FrontBytes*>(result) = found.value;
  return 1;
}

int Kept(const sluice_rpc_reply* reply, void*, void* request) {
  auto* const key = static_cast<KeptKey*>(reply->context);
  int status = 0;
  if (reply->status == SLUICE_RPC_SUCCESS && *static_cast<const int32_t*>(reply->result) == kOk) {
    const FrontBytes bytes = {key->length, key->bytes};
    status = sluice_rpc_call(request, &kGet, &bytes, &KeptFound, nullptr);
  }
  std::free(key);
  return status;
}

}  // namespace

extern "C" {

int look_up_1_svc(FrontBytes* key, FrontFound*, void* request) {
  return sluice_rpc_call(request, &kGet, key, &Found, nullptr);
}

int keep_1_svc(FrontItem* item, FrontBytes*, void* request) {
  auto* const key = static_cast<KeptKey*>(std::malloc(sizeof(KeptKey)));
  if (key == nullptr) return 0;
  key->length = item->key.length;
  if (key->length != 0) std::memcpy(key->bytes, item->key.value, key->length);
  const int status = sluice_rpc_call(request, &kPut, item, &Kept, key);
  if (status == 0) std::free(key);
  return status;
}
}
