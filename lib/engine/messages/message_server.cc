// SPDX-License-Identifier: BSD-3-Clause
#include "engine/messages/message_server.h"

#include <algorithm>
#include <cstring>

namespace sluice::engine::messages {

using packet::Datagram;
using packet::Verdict;

namespace {

/// A MAC pads shorter frames to this length.
constexpr uint32_t kShortestFrame = 60;
constexpr uint32_t kLongestFrame = 1518;

}  // namespace

MessageServer::MessageServer(const Options& options)
    : flows_(options.flows),
      timeout_cycles_(options.timeout_cycles),
      ns_per_cycle_(1e9 / static_cast<double>(options.cycles_hz)),
      slots_(std::clamp(options.messages, 1u, kMostMessages)),
      whole_(options.flows.size()) {
  for (uint32_t i = 0; i < slots_.size(); ++i) free_.push_back(i);
}

Verdict MessageServer::Process(packet::Frame& frame, uint64_t now) {
  now_ = now;
  const Datagram datagram = Datagram::In(frame.data, frame.length);
  switch (datagram.kind) {
    case Datagram::Kind::kUdp:
      break;
    case Datagram::Kind::kOther:
      return packet::kPass;
    case Datagram::Kind::kMalformed:
      return packet::Drop(kMalformed);
    case Datagram::Kind::kFragment:
      return packet::Drop(kFragment);
    case Datagram::Kind::kOptions:
      return packet::Drop(kOptions);
    case Datagram::Kind::kBadChecksum:
      return packet::Drop(kBadChecksum);
  }
  const auto flow = std::ranges::find_if(
      flows_, [&](const Flow& one) { return one.port == 0 || one.port == datagram.port; });
  if (flow == flows_.end() || !IsToUs(frame.data, datagram)) return packet::kPass;
  const std::span payload(frame.data + datagram.payload, datagram.payload_bytes);
  if (!IsPart(payload)) return packet::Drop(kNoMessage);
  const auto part = ReadPart(payload);
  if (!part || datagram.payload > kMostHeaders) return packet::Drop(kBadPart);
  if (part->length > flow->longest) return packet::Drop(kTooLong);
  return AcceptPart(frame, datagram, static_cast<size_t>(flow - flows_.begin()), *part, now);
}

bool MessageServer::IsToUs(const uint8_t* frame, const Datagram& datagram) const {
  if (own_.empty()) return true;
  const uint8_t* const ip = frame + datagram.l3;
  return own_.IsOurMac(frame) &&
         (datagram.ipv6 ? own_.Owns(packet::Load<packet::Ipv6Address>(ip + 24))
                        : own_.Owns(packet::Load<packet::Ipv4Address>(ip + 16)));
}

Verdict MessageServer::AcceptPart(const packet::Frame& frame, const Datagram& datagram, size_t flow,
                                  const Part& part, uint64_t now) {
  Sender sender;
  if (!part.whole()) {
    const uint8_t* const ip = frame.data + datagram.l3;
    std::copy_n(ip + (datagram.ipv6 ? 8 : 12), datagram.ipv6 ? 16 : 4, sender.address.begin());
    sender.from_port = packet::LoadBe16(frame.data + datagram.l4());
    sender.to_port = datagram.port;
    sender.number = part.number;
    if (part.offset != 0) return Continue(flow, sender, part, now);
    // The sender restarts the message.
    if (const auto before = filling_.find(sender); before != filling_.end()) {
      Slot& slot = slots_[before->second];
      filling_.erase(before);
      Add(kIncomplete);
      Free(slot);
    }
    if (filling_.size() >= std::max<size_t>(1, slots_.size() / 2)) return packet::Drop(kBusy);
  }
  Slot* const slot = Claim();
  if (slot == nullptr) return packet::Drop(kBusy);
  slot->since = now;
  slot->number = part.number;
  slot->datagram = datagram;
  std::copy_n(frame.data, datagram.payload, slot->headers.begin());
  slot->length = part.length;
  slot->data.assign(part.bytes.begin(), part.bytes.end());
  if (part.whole()) {
    Finish(flow, *slot);
  } else {
    slot->state = Slot::State::kFilling;
    slot->sender = sender;
    filling_.emplace(sender, IndexOf(*slot));
  }
  return packet::kConsume;
}

/// Adds a later part to a message.
Verdict MessageServer::Continue(size_t flow, const Sender& sender, const Part& part, uint64_t now) {
  const auto found = filling_.find(sender);
  if (found == filling_.end()) return packet::Drop(kPartMissing);
  Slot& slot = slots_[found->second];
  if (part.length != slot.length) return packet::Drop(kBadPart);
  if (part.offset != slot.data.size()) return packet::Drop(kPartMissing);
  slot.data.insert(slot.data.end(), part.bytes.begin(), part.bytes.end());
  slot.since = now;
  if (slot.data.size() == slot.length) {
    filling_.erase(found);
    Finish(flow, slot);
  }
  return packet::kConsume;
}

void MessageServer::Finish(size_t flow, Slot& slot) {
  slot.state = Slot::State::kWhole;
  whole_[flow].push_back({IndexOf(slot), slot.generation});
  Add(kReceived);
  Add(kReceivedBytes, slot.data.size());
}

MessageServer::Slot* MessageServer::Claim() {
  if (free_.empty()) return nullptr;
  Slot& slot = slots_[free_.front()];
  free_.pop_front();
  slot.generation = (slot.generation + 1) % kGenerations;
  return &slot;
}

void MessageServer::Free(Slot& slot) {
  slot.state = Slot::State::kFree;
  free_.push_back(IndexOf(slot));
}

void MessageServer::Expire(uint64_t now) {
  now_ = now;
  for (uint32_t i = 0; i < std::min<size_t>(kLooks, slots_.size()); ++i) {
    looked_ = looked_ + 1 < slots_.size() ? looked_ + 1 : 0;
    Slot& slot = slots_[looked_];
    if (slot.state == Slot::State::kFree || now - slot.since < timeout_cycles_) continue;
    if (slot.state == Slot::State::kFilling) {
      filling_.erase(slot.sender);
      Add(kIncomplete);
    } else {
      Add(kUnanswered);
    }
    Free(slot);
  }
  // Drops stale entries of messages that no worker accepted, so that the queue stays bounded.
  for (auto& whole : whole_)
    while (!whole.empty() && IsStale(whole.front())) whole.pop_front();
}

bool MessageServer::HasMessage(size_t flow) {
  std::deque<Whole>& whole = whole_[flow];
  while (!whole.empty() && IsStale(whole.front())) whole.pop_front();
  return !whole.empty();
}

uint32_t MessageServer::Receive(size_t flow, std::span<uint8_t> room, uint32_t* number) {
  const Whole whole = whole_[flow].front();
  whole_[flow].pop_front();
  Slot& slot = slots_[whole.slot];
  slot.state = Slot::State::kTaken;
  std::ranges::copy(slot.data, room.begin());
  *number = slot.generation << kSlotBits | whole.slot;
  return static_cast<uint32_t>(slot.data.size());
}

void MessageServer::Answer(uint32_t number, std::span<const uint8_t> data,
                           const std::array<uint32_t, 2>& key) {
  const uint32_t index = number & (kMostMessages - 1);
  if (index >= slots_.size()) return Add(kLate);
  Slot& slot = slots_[index];
  if (slot.state != Slot::State::kTaken || slot.generation != number >> kSlotBits)
    return Add(kLate);
  SendAnswer(slot, data, key);
  Add(kAnswered);
  Add(kAnsweredBytes, data.size());
  latency_.Record(static_cast<uint64_t>(static_cast<double>(now_ - slot.since) * ns_per_cycle_));
  Free(slot);
}

void MessageServer::SendAnswer(const Slot& slot, std::span<const uint8_t> data,
                               const std::array<uint32_t, 2>& key) {
  const Datagram& to = slot.datagram;
  const bool only = data.size() <= kPartBytes;
  bool all = true;
  uint32_t offset = 0;
  do {
    const auto part = data.subspan(offset, std::min<size_t>(kPartBytes, data.size() - offset));
    std::array<uint8_t, kLongestFrame> frame;
    static_assert(kMostHeaders + kPartHeaderBytes + kPartBytes <= kLongestFrame);
    std::copy_n(slot.headers.begin(), to.payload, frame.begin());
    uint8_t* const payload = frame.data() + to.payload;
    WritePartHeader(payload, {.number = slot.number,
                              .length = static_cast<uint32_t>(data.size()),
                              .offset = offset,
                              .key = key,
                              .bytes = {}});
    std::ranges::copy(part, payload + kPartHeaderBytes);
    const auto bytes = static_cast<uint32_t>(kPartHeaderBytes + part.size());
    to.Answer(frame.data(), bytes, only);
    const uint32_t length = to.payload + bytes;
    if (length < kShortestFrame) std::memset(frame.data() + length, 0, kShortestFrame - length);
    all &= outbox_.Send(frame.data(), std::max(length, kShortestFrame));
    offset += static_cast<uint32_t>(part.size());
  } while (offset < data.size());
  if (!all) Add(kUnsent);
}

MessageCounts MessageServer::counts() const {
  const auto count = [&](Count which) { return counts_[which].load(std::memory_order_relaxed); };
  return {.received = count(kReceived),
          .received_bytes = count(kReceivedBytes),
          .answered = count(kAnswered),
          .answered_bytes = count(kAnsweredBytes),
          .unanswered = count(kUnanswered),
          .incomplete = count(kIncomplete),
          .late = count(kLate),
          .unsent = count(kUnsent)};
}

}  // namespace sluice::engine::messages
