// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that a service's functions make (sluice_rpc.h): what a function asked for becomes a call in
// the line that the function's own call came in (device/rpc/nested_call.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coherent/host_end.h"
#include "device/rpc/nested_call.h"
#include "rpc/x_compiler.h"
#include "sluice_rpc.h"

namespace sluice::rpc_app {

/// The procedures that a service may call. Any thread, once it is made.
class Callees {
 public:
  /// Loads these `.x` files with the constants of --define. Returns null, with one line in `error`,
  /// if that fails.
  static std::unique_ptr<Callees> Load(const std::vector<std::string>& x_files,
                                       const std::string& define, std::string* error);

  struct Found {
    const rpc::Table* table = nullptr;  ///< Null: no file declares it.
    uint32_t arguments = rpc::kVoidType;
  };
  Found Find(const sluice_rpc_procedure& procedure) const;

 private:
  std::vector<rpc::CompiledX> compiled_;
};

/// Of one thread of a service.
class Caller {
 public:
  /// `callees` outlives it; null: no calls are made.
  explicit Caller(const Callees* callees);
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// For the third argument of the service's functions.
  void* request() { return static_cast<sluice_rpc_request*>(&request_); }
  /// Leaves the call that the last function asked for in the line of `end`. `data`: of the call
  /// that came in it. False: it asked for none.
  bool Return(coherent::HostEnd& end, uint64_t data);

 private:
  struct Request : sluice_rpc_request {
    Caller* caller;
  };

  static int Call(sluice_rpc_request* request, const sluice_rpc_procedure* procedure,
                  const void* arguments, sluice_rpc_continuation* then, void* context);
  /// Keeps the arguments, in XDR. False: they cannot be sent.
  bool Keep(const Callees::Found& callee, const void* arguments);

  const Callees* callees_;
  Request request_;
  bool asked_ = false;
  device::rpc::CallHead head_;
  Callees::Found callee_;
  std::vector<uint8_t> xdr_;
  uint32_t xdr_bytes_ = 0;
  std::vector<uint64_t> room_;  ///< As large as a line's buffer: to see whether arguments fit.
};

}  // namespace sluice::rpc_app
