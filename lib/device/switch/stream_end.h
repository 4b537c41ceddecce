// SPDX-License-Identifier: BSD-3-Clause
//
// A device's side of a stream: what puts messages into a window, and what takes them out of a
// streaming buffer. Both keep to credits; neither knows the policy, or who is at the other end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/switch/message.h"
#include "device/switch/spec.h"
#include "device/switch/tlp.h"

namespace sluice::device::pcie_switch {

struct Message {
  MessageHeader header;
  std::vector<uint8_t> data;
};

/// Sends messages as writes to a window. One thread.
class StreamWriter {
 public:
  /// `granules`: NodeSpec::window_granules; `port`: of the device.
  StreamWriter(uint64_t window, uint32_t granules, PortId port)
      : window_(window), granules_(granules), port_(port) {}

  /// Queues a message; `header.length` is set here.
  void Put(MessageHeader header, std::span<const uint8_t> data) {
    header.length = static_cast<uint32_t>(data.size());
    std::vector<uint8_t> bytes;
    if (!spare_.empty()) {
      bytes = std::move(spare_.back());
      spare_.pop_back();
    }
    bytes.resize(sizeof header + data.size());
    StoreTo(bytes.data(), header);
    std::copy(data.begin(), data.end(), bytes.begin() + sizeof header);
    waiting_.push_back(std::move(bytes));
  }
  /// The next write. False: nothing is queued, or there are no credits.
  bool Next(Tlp& out) {
    if (waiting_.empty()) return false;
    const std::vector<uint8_t>& bytes = waiting_.front();
    const auto count = std::min(kMaxPayload, static_cast<uint32_t>(bytes.size()) - offset_);
    if (outstanding() + Granules(count) > granules_) return false;
    out.kind = TlpKind::kWrite;
    out.refused = false;
    out.requester = port_;
    out.address = window_ + offset_;
    out.length = count;
    std::memcpy(out.payload.data(), bytes.data() + offset_, count);
    sent_ += Granules(count);
    offset_ += count;
    if (offset_ == bytes.size()) {
      spare_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
      offset_ = 0;
    }
    return true;
  }
  /// What the switch wrote to NodeSpec::control: granules that have left it.
  void SetFreed(uint64_t freed) { freed_ = std::max(freed_, freed); }
  /// Goes on after a restart from what a flush read of the window said.
  void Resume(const WindowReport& report) {
    waiting_.clear();
    offset_ = 0;
    sent_ = report.received;
    SetFreed(report.freed);  // It may have told more since.
  }
  /// Without credits: only the port's flow control holds it.
  void IgnoreCredits() { granules_ = ~0u; }
  size_t waiting() const { return waiting_.size(); }
  /// No more can have left than were sent.
  uint64_t outstanding() const { return sent_ - std::min(sent_, freed_); }

 private:
  uint64_t window_;
  uint64_t granules_;
  PortId port_;
  std::deque<std::vector<uint8_t>> waiting_;
  std::vector<std::vector<uint8_t>> spare_;  ///< Memory of messages that have left.
  uint32_t offset_ = 0;                      ///< In the first that waits.
  uint64_t sent_ = 0;
  uint64_t freed_ = 0;
};

/// Takes messages from a streaming buffer. One thread.
class StreamReader {
 public:
  StreamReader(uint64_t buffer, uint32_t bytes, uint64_t reg, PortId port)
      : buffer_(buffer), bytes_(bytes), register_(reg), port_(port) {}

  bool Owns(uint64_t address) const { return address - buffer_ < bytes_.size(); }
  /// A write inside of the buffer, in order. Ignored if it is over what was not consumed, for which
  /// nobody had credits, or leaves a gap: what never came is no message.
  void Take(const Tlp& tlp) {
    const uint64_t at = tlp.address - buffer_;
    // Messages begin at whole granules: what is skipped is padding.
    const uint64_t skipped = (at + bytes_.size() - received_ % bytes_.size()) % bytes_.size();
    const uint64_t end = received_ + skipped + tlp.length;
    if (skipped >= kGranule || end - begin_ > bytes_.size()) return;
    std::memcpy(bytes_.data() + at, tlp.payload.data(), tlp.length);
    received_ = end;
  }
  /// What the switch wrote to NodeSpec::control + 8: the message that has no end is void, and the
  /// next one begins at `next`. Ignored if that cannot be.
  void Abort(uint64_t next) {
    if (next % kGranule != 0 || next - begin_ > bytes_.size()) return;
    uint64_t at = begin_;
    for (size_t skipped = 0;;) {
      if (skipped < void_.size() && void_[skipped].from == at) {
        at = void_[skipped++].to;
      } else if (WholeAt(at)) {
        at = End(at);
      } else {
        break;
      }
    }
    if (at > next) return;
    if (at != next) void_.push_back({at, next});
    received_ = next;
    Skip();
  }
  /// A message is there from its first byte to its last.
  bool Whole() const { return WholeAt(begin_); }
  /// The oldest whole message, which then is consumed.
  std::optional<Message> Pop() {
    Message message;
    if (!Pop(message)) return std::nullopt;
    return message;
  }
  /// The same into memory that is used again.
  bool Pop(Message& message) {
    if (!Whole()) return false;
    message.header = HeaderAt(begin_);
    message.data.resize(message.header.length);
    CopyOut(begin_ + sizeof(MessageHeader), message.data.data(), message.data.size());
    begin_ = End(begin_);
    Skip();
    return true;
  }
  MessageHeader Front() const { return HeaderAt(begin_); }
  /// Credits that the switch does not know of yet, as a write to it.
  bool Credits(Tlp& out) {
    if (begin_ == told_) return false;
    told_ = begin_;
    out.kind = TlpKind::kWrite;
    out.refused = false;
    out.requester = port_;
    out.address = register_;
    out.length = sizeof begin_;
    StoreTo(out.payload.data(), begin_);
    return true;
  }
  uint64_t received() const { return received_; }
  uint64_t consumed() const { return begin_; }

 private:
  /// Positions that belong to a message without end.
  struct Void {
    uint64_t from;
    uint64_t to;
  };

  /// A length that no buffer of this size has room for is never there.
  bool WholeAt(uint64_t position) const {
    return received_ >= position + sizeof(MessageHeader) &&
           received_ - position - sizeof(MessageHeader) >= HeaderAt(position).length &&
           sizeof(MessageHeader) + uint64_t{HeaderAt(position).length} <= bytes_.size();
  }
  /// Of the message there: where the next one begins.
  uint64_t End(uint64_t position) const {
    return position +
           uint64_t{Granules(sizeof(MessageHeader) + uint64_t{HeaderAt(position).length})} *
               kGranule;
  }
  void Skip() {
    while (!void_.empty() && void_.front().from == begin_) {
      begin_ = void_.front().to;
      void_.pop_front();
    }
  }
  void CopyOut(uint64_t position, uint8_t* to, size_t count) const {
    if (count == 0) return;
    const size_t at = position % bytes_.size();
    const size_t head = std::min(count, bytes_.size() - at);
    std::memcpy(to, bytes_.data() + at, head);
    if (count != head) std::memcpy(to + head, bytes_.data(), count - head);
  }
  MessageHeader HeaderAt(uint64_t position) const {
    std::array<uint8_t, sizeof(MessageHeader)> bytes;
    CopyOut(position, bytes.data(), bytes.size());
    return LoadFrom<MessageHeader>(bytes.data());
  }

  uint64_t buffer_;
  std::vector<uint8_t> bytes_;
  uint64_t register_;
  PortId port_;
  uint64_t received_ = 0;
  uint64_t begin_ = 0;  ///< Of the oldest message.
  uint64_t told_ = 0;
  std::deque<Void> void_;  ///< In order.
};

}  // namespace sluice::device::pcie_switch
