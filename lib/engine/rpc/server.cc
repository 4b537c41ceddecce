// SPDX-License-Identifier: BSD-3-Clause
#include "engine/rpc/server.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/rpc/message_server.h"
#include "packet/ethernet.h"
#include "rpc/reply.h"

namespace sluice::engine::rpc {
using device::rpc::Service;
using device::rpc::Services;
using packet::Verdict;
using wire::AcceptStat;
using wire::FrameError;

Server::Server(const Services& services, Counts& counts, const packet::OwnAddresses& own,
               uint32_t mtu)
    : services_(&services),
      counts_(&counts),
      own_(own),
      execution_(MaxResultBytes(services)),
      fragmenter_(mtu),
      large_(std::make_unique<uint8_t[]>(kMaxFrame)) {}

Verdict Server::Process(packet::Frame& frame, uint64_t /*now*/) {
  wire::CallFrame read;
  const FrameError error = wire::ReadCallFrame(frame.data, frame.length, &read);
  if (const auto drop = device::rpc::DropOf(error, read.error)) {
    if (*drop == RpcCounter::kNotUdp) return packet::kPass;
    return packet::Drop(static_cast<uint8_t>(static_cast<uint32_t>(*drop) - kFirstReason));
  }
  if (!own_.empty() && !IsToUs(frame.data, read.datagram)) return packet::kPass;
  uint8_t message[wire::kMaxReplyBytes];
  if (error == FrameError::kNone) [[likely]] {
    const Services::Found found = services_->Find(read.datagram.port, read.call);
    if (found.lookup.stat == AcceptStat::kSuccess) [[likely]]
      return Serve(frame, read, found);
    if (!services_->HasPort(read.datagram.port)) return packet::kPass;
    const uint32_t bytes = wire::WriteNotFound(message, read.call.xid, found.lookup);
    return Refuse(frame, read, message, bytes, device::rpc::CounterOf(found.lookup.stat));
  }
  if (!services_->HasPort(read.datagram.port)) return packet::kPass;
  const uint32_t bytes = wire::WriteRefusal(message, read.call.xid, read.error);
  return Refuse(frame, read, message, bytes, device::rpc::CounterOf(read.error));
}

bool Server::IsToUs(const uint8_t* frame, const packet::Datagram& datagram) const {
  const uint8_t* const ip = frame + datagram.l3;
  return own_.IsOurMac(frame) &&
         (datagram.ipv6 ? own_.Owns(packet::Load<packet::Ipv6Address>(ip + 24))
                        : own_.Owns(packet::Load<packet::Ipv4Address>(ip + 16)));
}

Verdict Server::Serve(packet::Frame& frame, const wire::CallFrame& read,
                      const Services::Found& found) {
  const Service& service = *services_->Of(found.process);
  const uint32_t procedure = found.lookup.procedure;
  const AcceptStat prepared = execution_.Prepare(service, procedure, read.call);
  if (prepared != AcceptStat::kSuccess) [[unlikely]] {
    return RefuseAccepted(frame, read, prepared);
  }
  Count(RpcCounter::kReceived);
  if (!execution_.Run(service, procedure)) [[unlikely]] {
    return RefuseAccepted(frame, read, AcceptStat::kSystemErr);
  }
  return Results(frame, read, service, procedure);
}

Verdict Server::Results(packet::Frame& frame, const wire::CallFrame& read, const Service& service,
                        uint32_t procedure) {
  // Overwrites the call if the result fits; the arguments are no longer needed.
  const uint32_t head = read.reply_at() + wire::kSuccessBytes;
  const uint32_t most = read.reply_at() + read.datagram.MostAnswerBytes();
  const auto write_to = [&](const Place& place) -> wire::Marshalled {
    if (place.bytes < head) return {.error = wire::MarshalError::kNoRoom};
    return execution_.WriteResult(service, procedure, place.data + head,
                                  std::min(place.bytes, most) - head);
  };
  wire::Marshalled made = write_to({frame.data, RoomOf(frame)});
  if (made.error == wire::MarshalError::kNoRoom) [[unlikely]] {
    for (const Place& place : OtherPlaces(frame)) {
      made = write_to(place);
      if (made.error == wire::MarshalError::kNoRoom) continue;
      MoveTo(place.data, frame, read);
      break;
    }
  }
  if (made.error != wire::MarshalError::kNone) [[unlikely]] {
    Count(RpcCounter::kBadResults);
    return RefuseAccepted(frame, read, AcceptStat::kSystemErr);
  }
  wire::WriteAccepted(frame.data + read.reply_at(), read.call.xid, AcceptStat::kSuccess);
  frame.length = wire::FinishReply(frame.data, read, wire::kSuccessBytes + made.bytes);
  if (!fragmenter_.Fits(frame.length, read.datagram.l3)) [[unlikely]]
    return SendInFragments(frame, read);
  Count(RpcCounter::kSent);
  return packet::kForward;
}

Verdict Server::SendInFragments(const packet::Frame& frame, const wire::CallFrame& read) {
  const bool sent = fragmenter_.Cut(
      frame.data, frame.length, read.datagram.l3,
      [&](const uint8_t* piece, uint32_t length) { return outbox_.Send(piece, length); });
  Count(sent ? RpcCounter::kSent : RpcCounter::kUnsent);
  return packet::kConsume;
}

uint32_t Server::RoomOf(const packet::Frame& frame) {
  return std::min(frame.length + frame.tailroom, kMaxFrame);
}

std::array<Server::Place, 2> Server::OtherPlaces(const packet::Frame& frame) const {
  return {{{frame.spare, frame.spare != nullptr ? packet::Frame::kSpareBytes : 0},
           {large_.get(), kMaxFrame}}};
}

void Server::MoveTo(uint8_t* data, packet::Frame& frame, const wire::CallFrame& read) {
  std::memcpy(data, frame.data, read.reply_at());
  frame.data = data;
}

Verdict Server::RefuseAccepted(packet::Frame& frame, const wire::CallFrame& read, AcceptStat stat) {
  uint8_t message[wire::kMaxReplyBytes];
  const uint32_t bytes = wire::WriteAccepted(message, read.call.xid, stat);
  return Refuse(frame, read, message, bytes, device::rpc::CounterOf(stat));
}

Verdict Server::Refuse(packet::Frame& frame, const wire::CallFrame& read, const uint8_t* message,
                       uint32_t bytes, RpcCounter counter) {
  Count(counter);
  Count(RpcCounter::kSent);
  const uint32_t needed = read.reply_at() + bytes;
  if (needed > RoomOf(frame)) {
    for (const Place& place : OtherPlaces(frame)) {
      if (needed > place.bytes) continue;
      MoveTo(place.data, frame, read);
      break;
    }
  }
  std::memcpy(frame.data + read.reply_at(), message, bytes);
  frame.length = wire::FinishReply(frame.data, read, bytes);
  return packet::kForward;
}

}  // namespace sluice::engine::rpc
