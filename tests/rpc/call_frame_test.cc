// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/call_frame.h"

#include <gtest/gtest.h>

#include "frames.h"
#include "packet/fixtures.h"
#include "rpc/reply.h"

namespace sluice::rpc {
namespace {

using test::Bytes;

FrameError Read(const Bytes& frame, CallFrame* read) {
  const test::ExactBuffer buffer(frame);
  const FrameError error = ReadCallFrame(buffer.data(), buffer.size(), read);
  read->call.arguments = nullptr;  // It pointed into the buffer.
  return error;
}
Bytes Changed(Bytes frame, size_t at, uint8_t value) {
  frame.at(at) = value;
  return frame;
}

TEST(CallFrame, IsAnsweredWhereItLies) {
  const struct {
    const Bytes& call;
    const Bytes& reply;
  } kCases[] = {{test::kCall4, test::kReply4}, {test::kCall6, test::kReply6}};
  for (const auto& c : kCases) {
    const test::ExactBuffer frame(c.call);
    CallFrame read;
    ASSERT_EQ(ReadCallFrame(frame.data(), frame.size(), &read), FrameError::kNone);
    EXPECT_EQ(read.datagram.port, 2000);
    EXPECT_EQ(read.call.xid, 42);
    EXPECT_EQ(read.call.program, 1);
    EXPECT_EQ(read.call.version, 2);
    EXPECT_EQ(read.call.procedure, 1);
    ASSERT_EQ(read.call.argument_bytes, 4);
    const uint32_t argument = packet::LoadBe32(read.call.arguments);
    EXPECT_EQ(argument, 7);
    uint8_t* const message = frame.data() + read.reply_at();
    uint32_t bytes = WriteAccepted(message, read.call.xid, AcceptStat::kSuccess);
    packet::StoreBe32(message + bytes, 2 * argument);
    bytes += 4;
    EXPECT_EQ(frame.bytes(FinishReply(frame.data(), read, bytes)), c.reply);
  }
}

TEST(CallFrame, OrWhatElseItIs) {
  Bytes no_udp_checksum = Changed(Changed(test::kCall4, 40, 0), 41, 0);
  const struct {
    const char* name;
    Bytes frame;
    FrameError error;
  } kCases[] = {
      {"VLAN", test::kVlanCall4, FrameError::kNone},
      {"no UDP checksum", no_udp_checksum, FrameError::kNone},
      {"IPv4 checksum", Changed(test::kCall4, 24, 0x67), FrameError::kBadChecksum},
      {"UDP checksum", Changed(test::kCall4, 85, 8), FrameError::kBadChecksum},
      {"UDP checksum over IPv6", Changed(test::kCall6, 105, 8), FrameError::kBadChecksum},
      {"UDP length", Changed(test::kCall4, 39, 0x35), FrameError::kMalformed},
      {"fragment", test::kUdp4FirstFragment, FrameError::kFragment},
      {"options", test::kUdp4IpOptions, FrameError::kOptions},
      {"TCP", test::kTcp4Syn, FrameError::kNotUdp},
      {"ARP", test::kArpRequest, FrameError::kNotUdp},
      {"no call", test::kUdp4, FrameError::kCall},
      {"empty datagram", test::kUdp4Empty, FrameError::kCall},
  };
  for (const auto& c : kCases) {
    CallFrame read;
    EXPECT_EQ(Read(c.frame, &read), c.error) << c.name;
  }
}

TEST(CallFrame, CutAnywhereIsNone) {
  for (const Bytes& frame : {test::kCall4, test::kCall6, test::kVlanCall4}) {
    for (size_t bytes = 0; bytes < frame.size(); ++bytes) {
      CallFrame read;
      EXPECT_NE(Read(Bytes(frame.begin(), frame.begin() + bytes), &read), FrameError::kNone);
    }
  }
}

}  // namespace
}  // namespace sluice::rpc
