// SPDX-License-Identifier: BSD-3-Clause
#include "engine/rpc/message_server.h"

#include "rpc/reply.h"

namespace sluice::engine::rpc {

using wire::AcceptStat;

uint32_t MessageServer::Answer(std::span<const uint8_t> message, std::span<uint8_t> reply) {
  wire::Call call;
  const wire::CallError error =
      wire::ReadCall(message.data(), static_cast<uint32_t>(message.size()), &call);
  if (error != wire::CallError::kNone) return wire::WriteRefusal(reply.data(), call.xid, error);
  const wire::Lookup found = service_.table.Find(call.program, call.version, call.procedure);
  if (found.stat != AcceptStat::kSuccess) {
    return wire::WriteNotFound(reply.data(), call.xid, found);
  }
  AcceptStat stat = execution_.Prepare(service_, found.procedure, call);
  if (stat == AcceptStat::kSuccess && !execution_.Run(service_, found.procedure)) {
    stat = AcceptStat::kSystemErr;
  }
  wire::Marshalled result{};
  if (stat == AcceptStat::kSuccess) {
    result = execution_.WriteResult(service_, found.procedure, reply.data() + wire::kSuccessBytes,
                                    static_cast<uint32_t>(reply.size()) - wire::kSuccessBytes);
    if (result.error != wire::MarshalError::kNone) stat = AcceptStat::kSystemErr;
  }
  const uint32_t bytes = wire::WriteAccepted(reply.data(), call.xid, stat);
  return stat == AcceptStat::kSuccess ? bytes + result.bytes : bytes;
}

}  // namespace sluice::engine::rpc
