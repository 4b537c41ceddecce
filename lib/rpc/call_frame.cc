// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/call_frame.h"

#include "packet/checksum.h"
#include "packet/ethernet.h"

namespace sluice::rpc {
namespace {

FrameError ErrorOf(packet::Datagram::Kind kind) {
  using Kind = packet::Datagram::Kind;
  switch (kind) {
    case Kind::kUdp:
      return FrameError::kNone;
    case Kind::kOther:
      return FrameError::kNotUdp;
    case Kind::kMalformed:
      return FrameError::kMalformed;
    case Kind::kFragment:
      return FrameError::kFragment;
    case Kind::kOptions:
      return FrameError::kOptions;
    case Kind::kBadChecksum:
      return FrameError::kBadChecksum;
  }
  return FrameError::kMalformed;
}

}  // namespace

FrameError ReadCallFrame(const uint8_t* frame, uint32_t length, CallFrame* read) {
  const auto datagram = packet::Datagram::In(frame, length);
  read->datagram = datagram;
  if (datagram.kind != packet::Datagram::Kind::kUdp) return ErrorOf(datagram.kind);
  if (!datagram.ipv6 &&
      !packet::ChecksumHolds(packet::SumBytes(frame + datagram.l3, packet::kIpv4MinHeaderBytes))) {
    return FrameError::kBadChecksum;
  }
  read->error = ReadCall(frame + datagram.payload, datagram.payload_bytes, &read->call);
  return read->error == CallError::kNone ? FrameError::kNone : FrameError::kCall;
}

}  // namespace sluice::rpc
