// SPDX-License-Identifier: BSD-3-Clause
//
// A script of segments against one stack in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packet/bytes.h"
#include "packet/host_address.h"
#include "transport/stack.h"
#include "wire.h"

namespace sluice::transport {

inline constexpr uint8_t kFin = 1, kSyn = 2, kRst = 4, kPsh = 8, kAck = 16, kUrg = 32;
inline constexpr uint32_t kMss = 1460;

/// A segment that the stack sent. Sequence numbers are relative to the initial ones of both ends.
struct Segment {
  double time;  ///< In seconds.
  uint8_t flags;
  uint32_t seq, ack, window;
  std::string options, data;

  uint32_t end() const { return seq + static_cast<uint32_t>(data.size()); }
  bool Has(uint8_t flag) const { return (flags & flag) != 0; }
};
using Segments = std::vector<Segment>;

/// Returns the bytes of a stream at positions `from` to `from + bytes - 1`.
inline std::string Text(size_t from, size_t bytes) {
  std::string text(bytes, 0);
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((from + i) * 31 % 251);
  return text;
}

inline std::string MssOption(uint32_t bytes) {
  return {2, 4, static_cast<char>(bytes >> 8), static_cast<char>(bytes)};
}
inline std::string ScaleOption(uint8_t shift) { return {1, 3, 3, static_cast<char>(shift)}; }
inline std::string SackPermitted() { return {1, 1, 4, 2}; }

/// Returns the value of an option, or "-" if the segment does not contain it.
inline std::string Option(const Segment& segment, char kind) {
  const std::string& options = segment.options;
  for (size_t at = 0; at < options.size() && options[at] != 0;) {
    const size_t length = options[at] == 1 ? 1 : static_cast<uint8_t>(options[at + 1]);
    if (length == 0) break;
    if (options[at] == kind) return options.substr(at + 2, length - 2);
    at += length;
  }
  return "-";
}

/// One stack, and a peer whose segments the test writes.
class Script : public Events {
 public:
  explicit Script(uint32_t peer_first = 1'000'000) : peer_first_(peer_first) {
    StackOptions options;
    std::string error;
    EXPECT_TRUE(options.own.Add("10.0.0.2", &error));
    options.own.set_mac({2, 0, 0, 0, 0, 2});
    options.seed = 7;
    stack_ = Stack::Create(options, *this, &error);
    stack_->Advance(now_);
    EXPECT_TRUE(stack_->Listen(80));
  }

  /// Passes a segment of the peer. `ack` is ignored unless `flags` contains kAck.
  void Send(uint8_t flags, uint32_t seq, uint32_t ack, const std::string& data = "",
            const std::string& options = "") {
    Frame frame(54 + options.size() + data.size());
    const uint8_t headers[] = {2, 0, 0, 0, 0, 2,  2, 0, 0, 0,  0, 9, 8, 0,  0x45, 0, 0,
                               0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 9, 10, 0,    0, 2};
    std::copy(std::begin(headers), std::end(headers), frame.begin());
    uint8_t* tcp = frame.data() + 34;
    packet::StoreBe16(tcp, kPeerPort);
    packet::StoreBe16(tcp + 2, local_port_);
    packet::StoreBe32(tcp + 4, peer_first_ + seq);
    packet::StoreBe32(tcp + 8, (flags & kAck) != 0 ? first_ + ack : 0);
    tcp[12] = static_cast<uint8_t>((20 + options.size()) / 4 << 4);
    tcp[13] = flags;
    packet::StoreBe16(tcp + 14, window);
    packet::StoreBe16(tcp + 18, urgent);
    std::copy(options.begin(), options.end(), tcp + 20);
    std::copy(data.begin(), data.end(), tcp + 20 + options.size());
    SetChecksum(frame);
    if ((flags & kAck) != 0 && static_cast<int32_t>(ack - una_) > 0 && ack <= end_) una_ = ack;
    stack_->Input(frame.data(), static_cast<uint32_t>(frame.size()));
  }

  /// Opens a connection to the stack.
  void Open(const std::string& syn_options = MssOption(kMss)) {
    Send(kSyn, 0, 0, "", syn_options);
    syn_ack = Only();
    Send(kAck, 1, 1);
    una_ = 1;
    EXPECT_TRUE(Sent().empty());
    EXPECT_EQ(opened, 1);
  }

  /// Opens a connection, and then sets the peer's window to 0. The peer's next number is 2.
  void OpenAndCloseWindow() {
    Open();
    Send(kAck, 1, 1, "a");
    window = 0;
    Send(kAck, 2, 1);
    Run(0.2);
    Sent();
  }

  /// Lets the stack open a connection, whose SYN is not answered yet.
  void Connect() {
    local_port_ = 4000;
    Peer peer{packet::ToIpv4Mapped({10, 0, 0, 9}), kPeerPort, local_port_};
    EXPECT_TRUE(stack_->Connect(peer, {2, 0, 0, 0, 0, 9}));
  }

  /// Writes the next bytes of Text, and sends them as far as the windows permit.
  void Write(size_t bytes) {
    const std::string text = Text(written_, bytes);
    ASSERT_LE(bytes, stack_->Room(0));
    stack_->Write(0, reinterpret_cast<const uint8_t*>(text.data()), static_cast<uint32_t>(bytes));
    stack_->Flush(0);
    written_ += bytes;
  }

  /// Passes time, in seconds.
  void Run(double seconds) {
    const uint64_t end = now_ + static_cast<uint64_t>(seconds * 1e9);
    while (now_ < end) {
      now_ = std::min(end, now_ + Stack::kTickNs);
      stack_->Advance(now_);
    }
  }

  /// Returns the segments that were sent since the last call.
  Segments Sent() { return std::exchange(sent_, {}); }
  /// Returns the only segment that was sent since the last call.
  Segment Only() {
    Segments sent = Sent();
    EXPECT_EQ(sent.size(), 1u);
    return sent.empty() ? Segment{} : sent[0];
  }
  /// Passes time until a segment is sent, at most `seconds`, and returns it.
  Segment Next(double seconds) {
    for (double time = 0; time < seconds && sent_.empty(); time += 0.05) Run(0.05);
    return Only();
  }
  /// Acknowledges each segment. Returns the segments that were sent in return.
  Segments AckEach(const Segments& segments) {
    for (const Segment& segment : segments) Send(kAck, 1, segment.end());
    return Sent();
  }
  /// Sends until this number of full segments is in flight, which the peer acknowledges one by one.
  void Grow(uint32_t segments) {
    Write(170 * kMss);
    while (flight() < segments && !testing::Test::HasFailure()) Send(kAck, 1, una_ + kMss);
    Sent();
  }
  /// Returns the number of full segments that are sent and not acknowledged.
  uint32_t flight() const { return (end_ - una_) / kMss; }
  /// Returns the first number that is not acknowledged, and the one after the last byte sent.
  uint32_t una() const { return una_; }
  uint32_t end() const { return end_; }
  Stack& stack() { return *stack_; }
  /// Returns the time in seconds.
  double now() const { return static_cast<double>(now_) / 1e9; }

  uint16_t window = 0xffff, urgent = 0;  ///< Of the segments of the peer.
  bool read = true;                      ///< Consume received bytes at once.
  Segment syn_ack{};
  std::string received;
  int opened = 0, half_closed = 0, closed = 0;
  End reason{};

  bool Output(const uint8_t* frame, uint32_t bytes) override {
    const uint8_t* tcp = frame + 34;
    const uint8_t* data = tcp + (tcp[12] >> 4) * 4;
    if ((tcp[13] & kSyn) != 0) first_ = packet::LoadBe32(tcp + 4);
    sent_.push_back({now(), static_cast<uint8_t>(tcp[13]), packet::LoadBe32(tcp + 4) - first_,
                     packet::LoadBe32(tcp + 8) - peer_first_, packet::LoadBe16(tcp + 14),
                     std::string(tcp + 20, data), std::string(data, frame + bytes)});
    if ((tcp[13] & (kRst | kSyn)) == 0) end_ = std::max(end_, sent_.back().end());
    return true;
  }
  bool Opened(ConnectionId, const Peer&) override { return ++opened != 0; }
  void Received(ConnectionId id, const uint8_t* data, uint32_t bytes) override {
    received.append(reinterpret_cast<const char*>(data), bytes);
    if (read) stack_->Consume(id, bytes);
  }
  void HalfClosed(ConnectionId) override { ++half_closed; }
  void RoomFreed(ConnectionId) override {}
  void Closed(ConnectionId, End end) override { ++closed, reason = end; }

 private:
  static constexpr uint16_t kPeerPort = 5000;
  uint16_t local_port_ = 80;
  uint64_t now_ = 1'000'000'000;
  uint32_t peer_first_, first_ = 0, una_ = 1, end_ = 1;
  size_t written_ = 1;
  Segments sent_;
  std::unique_ptr<Stack> stack_;
};

/// Returns whether a segment has these flags apart from PSH, numbers and length.
inline testing::AssertionResult Is(const Segment& segment, uint8_t flags, uint32_t seq,
                                   uint32_t ack, size_t bytes = 0) {
  if ((segment.flags & ~kPsh) == flags && segment.seq == seq && segment.ack == ack &&
      segment.data.size() == bytes) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "flags " << int{segment.flags} << ", seq " << segment.seq << ", ack " << segment.ack
         << ", " << segment.data.size() << " bytes";
}

/// Finishes the stack's direction, and returns the script in FIN-WAIT-1.
inline void FinishFirst(Script& script) {
  script.Open();
  script.stack().Finish(0);
  EXPECT_TRUE(Is(script.Only(), kFin | kAck, 1, 1));
}

}  // namespace sluice::transport
