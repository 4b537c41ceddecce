// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "check.h"
#include "choices.h"
#include "engine/messages/message_server.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using namespace engine::messages;  // NOLINT
using packet::Datagram;

constexpr uint64_t kTimeout = 1000;
constexpr uint32_t kMessages = 8;
constexpr uint32_t kLongest = 300;

/// Returns the byte at offset `at` of this sender's message. The byte does not depend on how the
/// message is divided into parts.
uint8_t ByteOf(uint8_t sender, uint32_t number, uint32_t at) {
  return static_cast<uint8_t>(sender * 31 + number * 7 + at);
}

/// Counts and parses sent frames.
struct Out {
  bool Send(const uint8_t* frame, uint32_t length) {
    const Datagram datagram = Datagram::In(frame, length);
    FUZZ_CHECK(datagram.kind == Datagram::Kind::kUdp && length >= 60 && length <= 1518);
    const auto part = ReadPart({frame + datagram.payload, datagram.payload_bytes});
    FUZZ_CHECK(part.has_value());
    bytes += part->bytes.size();
    return bytes % 5 != 0;
  }
  uint64_t bytes = 0;
};

class MessagePlay {
 public:
  MessagePlay(const uint8_t* data, size_t size) : choices_(data, size) {
    server_.set_outbox(packet::Outbox::To(out_));
  }

  void Play() {
    while (!choices_.empty()) {
      Step(choices_.Byte());
      CheckCounts();
    }
    // Expires all messages. Each must have ended, and the server must accept the maximum number of
    // messages again.
    now_ += 2 * kTimeout;
    for (uint32_t i = 0; i < kMessages; ++i) server_.Expire(now_);
    FUZZ_CHECK(server_.open() == 0);
    for (uint32_t i = 0; i < kMessages; ++i)
      FUZZ_CHECK(Send(1, i, {.number = i, .length = 0, .bytes = {}}) == packet::kConsume);
  }

 private:
  void Step(uint8_t what) {
    switch (what % 8) {
      case 0:
        return ReceiveOne(what / 8 % 2);
      case 1:
        if (!taken_.empty()) return Answer(choices_.Byte());
        return server_.Answer(static_cast<uint32_t>(choices_.Word64()) & 0xfffffff, {}, {});
      case 2:
        now_ += choices_.Word16();
        return server_.Expire(now_);
      case 3:
        return AnyFrame();
      default:
        return AnyPart(what);
    }
  }

  void AnyFrame() {
    const auto bytes = choices_.Consume(choices_.Byte());
    std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    packet::Frame frame{exact.data(), static_cast<uint32_t>(exact.size()), 0, 0};
    foreign_ |= server_.Process(frame, now_) == packet::kConsume;
    FUZZ_CHECK(std::ranges::equal(exact, bytes));
  }

  /// Sends a part with correct bytes and arbitrary numbers.
  void AnyPart(uint8_t what) {
    const uint8_t sender = what / 8 % 4;
    Part part{.number = choices_.Byte() % 4u, .length = choices_.Word16() % 400u, .bytes = {}};
    part.offset = what >= 128 ? choices_.Word16() : sent_;
    const uint32_t count = choices_.Byte();
    std::vector<uint8_t> bytes(count);
    for (uint32_t i = 0; i < count; ++i) bytes[i] = ByteOf(sender, part.number, part.offset + i);
    part.bytes = bytes;
    sent_ = Send(sender, part.number, part) == packet::kConsume ? part.offset + count : 0;
  }

  packet::Verdict Send(uint8_t sender, uint32_t number, Part part) {
    const uint32_t payload = kPartHeaderBytes + static_cast<uint32_t>(part.bytes.size());
    std::vector<uint8_t> bytes(Datagram::kPlainPayload + payload);
    const auto to_port = static_cast<uint16_t>(number % 2 == 0 ? 5000 : 7);
    Datagram::WritePlain(bytes.data(),
                         {{{2, 0, 0, 0, 0, 1}},
                          {{2, 0, 0, 0, 0, 2}},
                          {{10, 0, 0, sender}},
                          {{10, 0, 0, 9}},
                          1,
                          to_port},
                         payload);
    WritePartHeader(&bytes[Datagram::kPlainPayload], part);
    std::ranges::copy(part.bytes, bytes.begin() + Datagram::kPlainPayload + kPartHeaderBytes);
    packet::Frame frame{bytes.data(), static_cast<uint32_t>(bytes.size()), 0, 0};
    return server_.Process(frame, now_);
  }

  void ReceiveOne(size_t flow) {
    if (!server_.HasMessage(flow)) return;
    std::array<uint8_t, kLongest> room;
    uint32_t name = 0;
    const uint32_t length = server_.Receive(flow, room, &name);
    FUZZ_CHECK(length <= kLongest && name >> MessageServer::kNumberBits == 0);
    FUZZ_CHECK(taken_.insert(name).second);
    // All bytes belong to one message of one sender, which the first byte identifies.
    for (uint32_t i = 1; i < length; ++i)
      FUZZ_CHECK(room[i] == static_cast<uint8_t>(room[0] + i) || foreign_);
  }

  void Answer(uint8_t length) {
    const uint32_t name = *taken_.begin();
    taken_.erase(taken_.begin());
    const MessageCounts before = server_.counts();
    std::vector<uint8_t> bytes(length * 20u);
    server_.Answer(name, bytes, {1, 2});
    const MessageCounts after = server_.counts();
    FUZZ_CHECK(after.answered + after.late == before.answered + before.late + 1);
  }

  void CheckCounts() {
    const MessageCounts counts = server_.counts();
    FUZZ_CHECK(counts.received >= counts.answered + counts.unanswered);
    FUZZ_CHECK(server_.open() <= kMessages);
  }

  Choices choices_;
  Out out_;
  MessageServer server_{{.flows = {{5000, kLongest}, {0, kLongest}},
                         .messages = kMessages,
                         .timeout_cycles = kTimeout,
                         .cycles_hz = 1'000'000'000}};
  std::set<uint32_t> taken_;  ///< Messages that await answers or have timed out.
  uint64_t now_ = 0;
  uint32_t sent_ = 0;
  bool foreign_ = false;  ///< Set if a frame of arbitrary bytes was accepted as a part.
};

}  // namespace

void Messages(const uint8_t* data, size_t size) { MessagePlay(data, size).Play(); }

}  // namespace sluice::fuzz
