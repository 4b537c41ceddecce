// SPDX-License-Identifier: BSD-3-Clause
#include "engine/rpc/message_server.h"

#include <algorithm>

#include "rpc/reply.h"

namespace sluice::engine::rpc {

using wire::AcceptStat;

CallAnswer AnswerCall(Execution& execution, const device::rpc::Service& service, uint32_t procedure,
                      const wire::Call& call, std::span<uint8_t> reply) {
  CallAnswer answer{execution.Prepare(service, procedure, call)};
  answer.executed = answer.stat == AcceptStat::kSuccess;
  if (answer.executed && !execution.Run(service, procedure)) answer.stat = AcceptStat::kSystemErr;
  wire::Marshalled result{};
  if (answer.stat == AcceptStat::kSuccess) {
    result = execution.WriteResult(service, procedure, reply.data() + wire::kSuccessBytes,
                                   static_cast<uint32_t>(reply.size()) - wire::kSuccessBytes);
    answer.bad_result = result.error != wire::MarshalError::kNone;
    if (answer.bad_result) answer.stat = AcceptStat::kSystemErr;
  }
  answer.bytes = wire::WriteAccepted(reply.data(), call.xid, answer.stat);
  if (answer.stat == AcceptStat::kSuccess) answer.bytes += result.bytes;
  return answer;
}

uint32_t MaxResultBytes(const device::rpc::Services& services) {
  uint32_t bytes = 0;
  for (uint32_t id = 0; id < device::rpc::kMaxProcesses; ++id) {
    const device::rpc::Service* const service =
        services.Of(static_cast<device::rpc::ProcessId>(id));
    if (service != nullptr) bytes = std::max(bytes, service->table.MaxResultBytes());
  }
  return bytes;
}

uint32_t MessageServer::Answer(std::span<const uint8_t> message, std::span<uint8_t> reply) {
  wire::Call call;
  const wire::CallError error =
      wire::ReadCall(message.data(), static_cast<uint32_t>(message.size()), &call);
  if (error != wire::CallError::kNone) return wire::WriteRefusal(reply.data(), call.xid, error);
  const wire::Lookup found = service_.table.Find(call.program, call.version, call.procedure);
  if (found.stat != AcceptStat::kSuccess) {
    return wire::WriteNotFound(reply.data(), call.xid, found);
  }
  return AnswerCall(execution_, service_, found.procedure, call, reply).bytes;
}

}  // namespace sluice::engine::rpc
