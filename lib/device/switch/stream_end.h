// SPDX-License-Identifier: BSD-3-Clause
//
// A device's side of a stream, which writes messages to a window and reads them from a streaming
// buffer. Both directions use credits. The code does not depend on the policy or the peer.
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

/// Sends messages as writes to a window. Used by one thread.
class StreamWriter {
 public:
  /// `granules` is NodeSpec::window_granules; `port` is the device's port.
  StreamWriter(uint64_t window, uint32_t granules, PortId port)
      : window_(window), granules_(granules), port_(port) {}

  /// Queues a message; sets `header.length`.
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
  /// Copies the next write to `out`. Returns false if the queue is empty or there are not enough
  /// credits.
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
  /// Handles the switch's write to NodeSpec::control: the number of granules that have left the
  /// switch.
  void SetFreed(uint64_t freed) { freed_ = std::max(freed_, freed); }
  /// Drops queued messages. After a restart, continues from the result of a flush read of the
  /// window.
  void Resume(const WindowReport& report) {
    waiting_.clear();
    offset_ = 0;
    sent_ = report.received;
    SetFreed(report.freed);  // A later value may already have arrived.
  }
  /// Disables credits, so that only the port's flow control applies.
  void IgnoreCredits() { granules_ = ~0u; }
  size_t waiting() const { return waiting_.size(); }
  /// Returns the number of granules that have been sent but have not left the switch. If the switch
  /// reports more than were sent, returns 0.
  uint64_t outstanding() const { return sent_ - std::min(sent_, freed_); }

 private:
  uint64_t window_;
  uint64_t granules_;
  PortId port_;
  std::deque<std::vector<uint8_t>> waiting_;
  std::vector<std::vector<uint8_t>> spare_;  ///< Buffers of sent messages, kept for reuse.
  uint32_t offset_ = 0;                      ///< Offset in the first message of the queue.
  uint64_t sent_ = 0;
  uint64_t freed_ = 0;
};

/// Receives messages from a streaming buffer. Used by one thread.
class StreamReader {
 public:
  StreamReader(uint64_t buffer, uint32_t bytes, uint64_t reg, PortId port)
      : buffer_(buffer), bytes_(bytes), register_(reg), port_(port) {}

  bool Owns(uint64_t address) const { return address - buffer_ < bytes_.size(); }
  /// Handles a write to the buffer; writes must be passed in order. Ignores a write that exceeds
  /// the credits, because it would overwrite unconsumed bytes, and a write that leaves a gap,
  /// because the skipped bytes are not a message.
  void Accept(const Tlp& tlp) {
    const uint64_t at = tlp.address - buffer_;
    // Messages begin at granule boundaries; skipped bytes are padding.
    const uint64_t skipped = (at + bytes_.size() - received_ % bytes_.size()) % bytes_.size();
    const uint64_t end = received_ + skipped + tlp.length;
    if (skipped >= kGranule || end - begin_ > bytes_.size()) return;
    std::memcpy(bytes_.data() + at, tlp.payload.data(), tlp.length);
    received_ = end;
  }
  /// Handles the switch's write to NodeSpec::control + 8: the incomplete message is aborted, and
  /// the next one begins at `next`. Ignores invalid positions.
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
  /// Returns whether a complete message has arrived.
  bool Whole() const { return WholeAt(begin_); }
  /// Returns and consumes the oldest complete message.
  std::optional<Message> Pop() {
    Message message;
    if (!Pop(message)) return std::nullopt;
    return message;
  }
  /// Like Pop() above, but reuses the memory of `message`.
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
  /// Writes a TLP that reports the consumed bytes to `out`. Returns false if the switch already
  /// knows their number.
  bool Credits(Tlp& out) {
    if (begin_ == reported_) return false;
    reported_ = begin_;
    WriteValue(register_, port_, begin_, out);
    return true;
  }
  uint64_t received() const { return received_; }
  uint64_t consumed() const { return begin_; }

 private:
  /// Positions of an aborted message.
  struct Void {
    uint64_t from;
    uint64_t to;
  };

  /// Returns whether the message at `position` is complete. A message that is longer than the
  /// buffer is never complete.
  bool WholeAt(uint64_t position) const {
    return received_ >= position + sizeof(MessageHeader) &&
           received_ - position - sizeof(MessageHeader) >= HeaderAt(position).length &&
           sizeof(MessageHeader) + uint64_t{HeaderAt(position).length} <= bytes_.size();
  }
  /// Returns the position after the message at `position`.
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
  uint64_t begin_ = 0;  ///< Position of the oldest message.
  uint64_t reported_ = 0;
  std::deque<Void> void_;  ///< Sorted by position.
};

}  // namespace sluice::device::pcie_switch
