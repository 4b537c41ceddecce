// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that a service's functions make (sluice_rpc.h). If a function requests a call, the
// requested call is stored in the line that contained the call to the function
// (device/rpc/nested_call.h).
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

/// The procedures that a service may call. Any thread may use the object after
/// construction.
class Callees {
 public:
  /// Loads these `.x` files with the constants of --define. Returns null and sets `error` on
  /// failure.
  static std::unique_ptr<Callees> Load(const std::vector<std::string>& x_files,
                                       const std::string& define, std::string* error);

  struct Found {
    const rpc::Table* table = nullptr;  ///< Null if no file declares the procedure.
    uint32_t arguments = rpc::kVoidType;
  };
  Found Find(const sluice_rpc_procedure& procedure) const;

 private:
  std::vector<rpc::CompiledX> compiled_;
};

/// Used by one thread of a service.
class Caller {
 public:
  /// `callees` must outlive the object; null disables calls.
  explicit Caller(const Callees* callees);
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// Returns the third argument for the service's functions.
  void* request() { return static_cast<sluice_rpc_request*>(&request_); }
  /// Stores, in the line of `end`, the call that the last function requested. `data`: the data of
  /// the call that the line contained. Returns false if the function requested no call, or if the
  /// call cannot be stored.
  bool Return(coherent::HostEnd& end, uint64_t data);

 private:
  struct Request : sluice_rpc_request {
    Caller* caller;
  };

  static int Call(sluice_rpc_request* request, const sluice_rpc_procedure* procedure,
                  const void* arguments, sluice_rpc_continuation* then, void* context);
  /// Stores the arguments as XDR. Returns false if they cannot be sent.
  bool Keep(const Callees::Found& callee, const void* arguments);

  const Callees* callees_;
  Request request_;
  bool asked_ = false;
  device::rpc::CallHead head_;
  Callees::Found callee_;
  std::vector<uint8_t> xdr_;
  uint32_t xdr_bytes_ = 0;
  /// Buffer of the same size as a line's; used to check that the arguments fit.
  std::vector<uint64_t> room_;
};

}  // namespace sluice::rpc_app
