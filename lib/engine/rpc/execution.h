// SPDX-License-Identifier: BSD-3-Clause
//
// A call executed in this process: its arguments become a structure, the function is called, and
// what it returned becomes XDR. Whatever the call came in, and whatever its reply leaves in.
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

/// A procedure as `rpcgen -M` declares it: 0 if it failed. `request` is null where functions make
/// no calls. What the result points to stays valid until the same thread calls the function again;
/// it may be the arguments.
using Function = int (*)(void* arguments, void* result, void* request);

/// Belongs to one thread. One call at a time, in the order of the methods. Allocates nothing after
/// construction.
class Execution {
 public:
  /// Longest arguments, in C: those that fit a line's buffer of a service's process.
  static constexpr uint32_t kArgumentBytes = 65536;

  /// `result_bytes`: Table::MaxResultBytes of the services that it is used for.
  explicit Execution(uint32_t result_bytes)
      : arguments_(std::make_unique<uint64_t[]>(kArgumentBytes / 8)),
        result_(result_bytes / 8 + 1) {}

  /// Reads the arguments of a call to the service's procedure number `procedure`. kSuccess, or what
  /// to answer instead of executing it.
  wire::AcceptStat Prepare(const device::rpc::Service& service, uint32_t procedure,
                           const wire::Call& call) {
    const wire::Unmarshalled made = wire::Unmarshal(
        service.table, service.table.procedures[procedure].arguments, call.arguments,
        call.argument_bytes, wire::Room::Here(arguments_.get(), kArgumentBytes));
    return wire::StatOf(made.error);
  }
  /// Calls the function, which the procedure's entry names. False: it failed.
  bool Run(const device::rpc::Service& service, uint32_t procedure) {
    const uint32_t type = service.table.procedures[procedure].result;
    std::memset(result_.data(), 0, service.table.types[type].bytes);
    const auto function = reinterpret_cast<Function>(service.entries[procedure].code);
    return function(arguments_.get(), result_.data(), nullptr) != 0;
  }
  /// Writes the result to the `room` bytes at `to`; any number of times.
  wire::Marshalled WriteResult(const device::rpc::Service& service, uint32_t procedure, uint8_t* to,
                               uint32_t room) const {
    return wire::Marshal(service.table, service.table.procedures[procedure].result,
                         wire::Source::Own(result_.data()), to, room);
  }

 private:
  std::unique_ptr<uint64_t[]> arguments_;  ///< Words, so that structures are aligned.
  std::vector<uint64_t> result_;
};

}  // namespace sluice::engine::rpc
