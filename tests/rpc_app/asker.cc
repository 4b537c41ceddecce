// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include "sluice_rpc.h"

namespace {

constexpr sluice_rpc_procedure kRecurse = {0x20000778, 1, 2};

int Asked(const sluice_rpc_reply* reply, void* result, void*) {
  *static_cast<uint32_t*>(result) = reply->status;
  return 1;
}

int Recursed(const sluice_rpc_reply* reply, void* result, void*) {
  *static_cast<uint32_t*>(result) = reply->status == SLUICE_RPC_SUCCESS
                                        ? *static_cast<const uint32_t*>(reply->result) + 1
                                        : 1000 + reply->status;
  return 1;
}

}  // namespace

extern "C" {

// Calls the procedure `target`. Returns the outcome of the nested call.
int ask_1_svc(sluice_rpc_procedure* target, uint32_t*, void* request) {
  static uint32_t milliseconds = 60'000;  // Argument of procedures that wait.
  return sluice_rpc_call(request, target, &milliseconds, &Asked, nullptr);
}

// Calls itself `depth` times.
int recurse_1_svc(uint32_t* depth, uint32_t* result, void* request) {
  *result = 0;
  if (*depth == 0) return 1;
  const uint32_t less = *depth - 1;
  return sluice_rpc_call(request, &kRecurse, &less, &Recursed, nullptr);
}
}
