// SPDX-License-Identifier: BSD-3-Clause
//
// Executes a call in this process: unmarshals the arguments into a structure, calls the function,
// and marshals the result to XDR. Independent of the transport.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "device/rpc/services.h"
#include "rpc/call.h"
#include "rpc/marshal.h"
#include "rpc/unmarshal.h"

namespace sluice::engine::rpc {

namespace wire = ::sluice::rpc;

/// A procedure as declared by `rpcgen -M`; returns 0 on failure. `request` is null if functions
/// make no calls. Data that the result points to may be in the arguments, and stays valid until the
/// same thread calls the function again.
using Function = int (*)(void* arguments, void* result, void* request);

/// Executes calls one at a time: call Prepare, Run and WriteResult in this order. Used by one
/// thread. Allocates only in the constructor.
class Execution {
 public:
  /// Maximum size of unmarshalled arguments in bytes; equal to the buffer size of a line in
  /// sluice-rpc's service processes.
  static constexpr uint32_t kArgumentBytes = 65536;

  /// `result_bytes` is the maximum of Table::MaxResultBytes over the services.
  explicit Execution(uint32_t result_bytes)
      : arguments_(std::make_unique<uint64_t[]>(kArgumentBytes / 8)),
        result_(result_bytes / 8 + 1) {}

  /// Unmarshals the arguments of a call to the service's procedure number `procedure`. Returns
  /// kSuccess, or the error to reply.
  wire::AcceptStat Prepare(const device::rpc::Service& service, uint32_t procedure,
                           const wire::Call& call) {
    const wire::Unmarshalled made = wire::Unmarshal(
        service.table, service.table.procedures[procedure].arguments, call.arguments,
        call.argument_bytes, wire::Room::Here(arguments_.get(), kArgumentBytes));
    return wire::StatOf(made.error);
  }
  /// Calls the function in the procedure's entry. Returns false if the function failed.
  bool Run(const device::rpc::Service& service, uint32_t procedure) {
    const uint32_t type = service.table.procedures[procedure].result;
    std::memset(result_.data(), 0, service.table.types[type].bytes);
    const auto function = reinterpret_cast<Function>(service.entries[procedure].code);
    return function(arguments_.get(), result_.data(), nullptr) != 0;
  }
  /// Marshals the result to the `room` bytes at `to`. May be called repeatedly.
  wire::Marshalled WriteResult(const device::rpc::Service& service, uint32_t procedure, uint8_t* to,
                               uint32_t room) const {
    return wire::Marshal(service.table, service.table.procedures[procedure].result,
                         wire::Source::Own(result_.data()), to, room);
  }

 private:
  std::unique_ptr<uint64_t[]> arguments_;  ///< 64-bit words, for the alignment of structures.
  std::vector<uint64_t> result_;
};

}  // namespace sluice::engine::rpc
