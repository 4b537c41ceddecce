// SPDX-License-Identifier: BSD-3-Clause
#include "caller.h"

#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "process_page.h"
#include "rpc/marshal.h"
#include "rpc/unmarshal.h"
#include "service_functions.h"

namespace sluice::rpc_app {
namespace {

using device::rpc::CallHead;
using device::rpc::NestedStatus;
using device::rpc::ReplyHead;

/// Maximum arguments in XDR; longer ones do not fit into a datagram.
constexpr uint32_t kMaxArgumentXdr = 65536;

static_assert(SLUICE_RPC_SYSTEM_ERR == static_cast<int>(NestedStatus::kSystemErr) &&
              SLUICE_RPC_BUSY == static_cast<int>(NestedStatus::kBusy) &&
              SLUICE_RPC_TOO_MANY == static_cast<int>(NestedStatus::kTooMany) &&
              SLUICE_RPC_TOO_DEEP == static_cast<int>(NestedStatus::kTooDeep) &&
              SLUICE_RPC_TIMED_OUT == static_cast<int>(NestedStatus::kTimedOut));

// The device requests a call to this function when the answer to a nested call has arrived. The
// function has the signature of service functions; its argument is the answer. CallHead::context
// contains the continuation and its context.
int Continue(void* payload, void* result, void* request) {
  ReplyHead head;
  std::memcpy(&head, payload, sizeof(head));
  const bool good = head.status == NestedStatus::kSuccess;
  const sluice_rpc_reply reply = {static_cast<sluice_rpc_status>(head.status),
                                  good ? static_cast<uint8_t*>(payload) + sizeof(head) : nullptr,
                                  reinterpret_cast<void*>(head.context[1])};
  return reinterpret_cast<sluice_rpc_continuation*>(head.context[0])(&reply, result, request);
}

}  // namespace

std::unique_ptr<Callees> Callees::Load(const std::vector<std::string>& x_files,
                                       const std::string& define, std::string* error) {
  auto callees = std::make_unique<Callees>();
  for (const std::string& path : x_files) {
    std::optional<rpc::CompiledX> compiled = CompileFile(path, define, error);
    if (!compiled) return nullptr;
    callees->compiled_.push_back(std::move(*compiled));
  }
  return callees;
}

Callees::Found Callees::Find(const sluice_rpc_procedure& procedure) const {
  for (const rpc::CompiledX& compiled : compiled_) {
    const rpc::Lookup lookup =
        compiled.table.Find(procedure.program, procedure.version, procedure.procedure);
    if (lookup.stat != rpc::AcceptStat::kSuccess) continue;
    return {&compiled.table, compiled.table.procedures[lookup.procedure].arguments};
  }
  return {};
}

Caller::Caller(const Callees* callees) : callees_(callees), request_{{&Caller::Call}, this} {
  if (callees_ == nullptr) return;
  xdr_.resize(kMaxArgumentXdr);
  room_.resize((kUserGeometry.buffer_bytes - sizeof(CallHead)) / sizeof(uint64_t));
}

int Caller::Call(sluice_rpc_request* request, const sluice_rpc_procedure* procedure,
                 const void* arguments, sluice_rpc_continuation* then, void* context) {
  Caller& caller = *static_cast<Request*>(request)->caller;
  caller.asked_ = false;
  if (caller.callees_ == nullptr || then == nullptr) return 0;
  const Callees::Found callee = caller.callees_->Find(*procedure);
  if (callee.table == nullptr || !caller.Keep(callee, arguments)) return 0;
  caller.callee_ = callee;
  caller.head_ = {
      .program = procedure->program,
      .version = procedure->version,
      .procedure = procedure->procedure,
      .code = reinterpret_cast<uint64_t>(&Continue),
      .context = {reinterpret_cast<uint64_t>(then), reinterpret_cast<uint64_t>(context)}};
  caller.asked_ = true;
  return SLUICE_RPC_CALLED;
}

bool Caller::Keep(const Callees::Found& callee, const void* arguments) {
  const rpc::Type& type = callee.table->types[callee.arguments];
  if (arguments == nullptr && type.bytes != 0) return false;
  const rpc::Marshalled made =
      rpc::Marshal(*callee.table, callee.arguments, rpc::Source::Own(arguments), xdr_.data(),
                   static_cast<uint32_t>(xdr_.size()));
  if (made.error != rpc::MarshalError::kNone) return false;
  xdr_bytes_ = made.bytes;
  const auto room = static_cast<uint32_t>(room_.size() * sizeof(uint64_t));
  return rpc::Unmarshal(*callee.table, callee.arguments, xdr_.data(), xdr_bytes_,
                        rpc::Room::Here(room_.data(), room))
             .error == rpc::UnmarshalError::kNone;
}

// The arguments are copied through XDR, because they may point to data in the line, which must not
// be overwritten yet.
bool Caller::Return(coherent::HostEnd& end, uint64_t data) {
  if (!std::exchange(asked_, false)) return false;
  head_.data = data;
  for (const bool in_buffer : {false, true}) {
    const std::span<uint8_t> room = end.Room(in_buffer);
    if (room.size() < sizeof(head_)) continue;
    const rpc::Unmarshalled made =
        rpc::Unmarshal(*callee_.table, callee_.arguments, xdr_.data(), xdr_bytes_,
                       rpc::Room::Here(room.data() + sizeof(head_),
                                       static_cast<uint32_t>(room.size() - sizeof(head_))));
    if (made.error != rpc::UnmarshalError::kNone) continue;
    std::memcpy(room.data(), &head_, sizeof(head_));
    return end.Return({.kind = coherent::Kind::kCall,
                       .length = static_cast<uint32_t>(sizeof(head_)) + made.bytes,
                       .in_buffer = in_buffer});
  }
  return false;
}

}  // namespace sluice::rpc_app
