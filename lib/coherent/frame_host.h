// SPDX-License-Identifier: BSD-3-Clause
//
// Receives and sends frames at the host's end of an endpoint. Received frames are lent to the
// caller in place and go back to the NIC with the next load. Frames to send are written into
// granted lines, several per line.
//
//   received line: wait ──► frames ──► answer, which loads the other line
//   granted line:  room ──► written ──► send, send, … ──► flush, which loads the other line
//
// Used by one thread, except for the counters. All values that the NIC writes are checked before
// use.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "coherent/frames.h"
#include "coherent/host_end.h"

namespace sluice::coherent {

/// Counters of a FrameHost. Only the owning thread writes them; other threads may read slightly
/// outdated values.
struct FrameHostCounters {
  uint64_t requests = 0;    ///< Loads answered with frames.
  uint64_t try_agains = 0;  ///< Loads answered with TRYAGAIN.
  uint64_t grants = 0;      ///< Lines granted for sending.
  uint64_t faults = 0;  ///< 1 after a protocol violation, a failed send or an unrequested close.
};

/// Frames passed to the NIC, and their bytes.
struct HandedOver {
  uint64_t frames = 0;
  uint64_t bytes = 0;
};

class FrameHost {
 public:
  static constexpr uint32_t kMaxFrames = Control::kMaxCount;

  /// No process may have issued a load on `memory` yet.
  explicit FrameHost(const EndpointMemory& memory) : end_(memory, WaitMethod::kPause) {}

  /// Polls for the answer to the pending load; issues a load if none is pending. Returns the number
  /// of received frames, at most kMaxFrames, in order of arrival. They belong to the caller until
  /// Answer; all frames from the previous call must have been answered. `Frame` must have the
  /// members data, length, headroom and tailroom.
  template <typename Frame>
  uint32_t Wait(Frame* frames) {
    if (got_ != Got::kContent) [[likely]]
      Load();
    if (got_ != Got::kContent) return 0;
    const uint32_t lent = Lend(frames);
    if (lent == 0) [[unlikely]] {
      end_.Return({.kind = Kind::kNoReply});
      Load();
    }
    return lent;
  }

  /// Answers all frames of the last Wait and loads the other line. `data` and `length` describe the
  /// answer within the frame's record; length 0 means no answer. If `frames` is null, all frames
  /// are returned unchanged.
  template <typename Frame>
  void Answer(const Frame* frames, uint32_t count) {
    HandOver(frames == nullptr ? lent_totals_ : Rewrite(frames, count));
  }

  /// Returns space for an answer of `length` bytes that does not fit into its frame's record. The
  /// space follows all other data in the line. Returns null if the rest of the line is too small.
  /// The answer is sent at its frame's position in the order.
  uint8_t* GrownRoom(uint32_t length) {
    const std::span<uint8_t> room = end_.Room();
    return RecordBytes(length, 0) <= room.size() - grown_end_
               ? room.data() + grown_end_ + kRecordBytes
               : nullptr;
  }
  /// Confirms that an answer was written to GrownRoom() and that its frame refers to it.
  void CommitGrown(uint32_t length) {
    const uint32_t stride = RecordBytes(length, 0);
    const uint64_t word =
        Record{static_cast<uint16_t>(stride), kRecordBytes, static_cast<uint16_t>(length)}.Word();
    std::memcpy(end_.Room().data() + grown_end_, &word, sizeof(word));
    grown_end_ += stride;
  }

  /// Returns the destination for the next frame to send, which has `length` bytes. Returns null if
  /// the line is full or has not been granted yet.
  uint8_t* Room(uint32_t length) {
    if (!granted_ && !AcceptGrant()) return nullptr;
    const std::span<uint8_t> room = end_.SendRoom();
    const bool fits =
        writer_.count() < kMaxFrames && RecordBytes(length, 0) <= room.size() - writer_.length();
    return fits ? room.data() + writer_.length() + kRecordBytes : nullptr;
  }
  /// Confirms that the frame was written to Room(). The next Flush sends it.
  void Send(uint32_t length) {
    writer_.Add(length, kMaxFrames);
    ++sent_.frames;
    sent_.bytes += length;
  }
  void Flush() {
    if (!granted_ || writer_.count() == 0) return;
    granted_ = false;
    const Content content{
        .kind = Kind::kFrames, .length = writer_.length(), .count = writer_.count()};
    if (!end_.Send(content)) Fault();
  }

  /// Returns totals for the answers and sent frames that the NIC may not have read yet: those not
  /// flushed, and those whose load has not been answered. Polls for answers without issuing loads.
  HandedOver Outstanding() {
    if (end_.state(Pair::kReceive) == State::kWaiting) Load();
    if (end_.state(Pair::kTransmit) == State::kWaiting) AcceptGrant();
    return {answered_.frames + sent_.frames, answered_.bytes + sent_.bytes};
  }
  /// Records that the NIC has closed the endpoint on request. After this, only Outstanding and
  /// Unseen may be called.
  void Withdraw() { withdrawn_ = true; }
  bool withdrawn() const { return withdrawn_; }
  /// Returns the number of received frames that Wait has not yet returned to the caller.
  uint32_t Unseen() const { return got_ == Got::kContent ? end_.content().count : 0; }

  const FrameHostCounters& counters() const { return counters_; }
  bool faulted() const { return bar::LoadOnce(counters_.faults) != 0; }

 private:
  /// A frame that the caller may access until Answer: the address of its record, and a copy of the
  /// record's head.
  struct Lent {
    uint8_t* at;
    uint64_t head;  ///< Record::Word.
  };

  /// Prefetch distance, in records.
  static constexpr uint32_t kFramesAhead = 8;

  static void Count(uint64_t& counter) {
    std::atomic_ref(counter).store(counter + 1, std::memory_order_relaxed);
  }
  void Fault() {
    if (counters_.faults == 0) Count(counters_.faults);
  }

  /// Writes changed positions and lengths to the records. Returns the frames that are to be sent.
  template <typename Frame>
  HandedOver Rewrite(const Frame* frames, uint32_t count) {
    HandedOver answered;
    for (uint32_t i = 0; i < count; ++i) {
      const Frame& frame = frames[i];
      answered.frames += frame.length != 0;
      answered.bytes += frame.length;
      Record record = Record::Of(lent_[i].head);
      const uint64_t offset = static_cast<uint64_t>(frame.data - lent_[i].at);
      if (frame.length == record.length && offset == record.offset) [[likely]]
        continue;
      record.length = static_cast<uint16_t>(frame.length);
      record.offset = static_cast<uint16_t>(offset);
      if (frame.length != 0 && offset >= record.stride) {  // The answer was written to GrownRoom().
        const auto place = static_cast<uint64_t>(frame.data - end_.Room().data()) - kRecordBytes;
        record = {.stride = record.stride,
                  .offset = kRecordBytes,
                  .length = 0,
                  .flags = static_cast<uint16_t>(place / 8)};
      }
      const uint64_t word = record.Word();
      std::memcpy(lent_[i].at, &word, sizeof(word));
    }
    return answered;
  }
  void HandOver(const HandedOver& answered) {
    const bool any = answered.frames != 0;
    end_.Return({.kind = any ? Kind::kFrames : Kind::kNoReply,
                 .length = any ? std::max(end_.content().length, grown_end_) : 0,
                 .count = static_cast<uint8_t>(any ? records_ : 0)});
    answered_ = answered;
    Load();
  }

  /// Issues a load, if none is pending, and polls once.
  void Load() {
    got_ = end_.Wait(0);
    if (got_ == Got::kNothing) [[likely]]
      return;
    if (got_ == Got::kClosed) return HearClosed();
    answered_ = {};
    if (got_ == Got::kTryAgain) Count(counters_.try_agains);
  }
  /// Handles a closed endpoint, which is a fault unless Withdraw() was called. Outstanding frames
  /// remain outstanding.
  void HearClosed() {
    if (!withdrawn_) Fault();
  }

  bool AcceptGrant() {
    const Got got = end_.Grant(0);
    if (got == Got::kClosed) HearClosed();
    if (got == Got::kNothing || got == Got::kClosed) return false;
    sent_ = {};
    if (got != Got::kContent) return false;
    granted_ = true;
    writer_ = FrameWriter(end_.SendRoom());
    Count(counters_.grants);
    return true;
  }

  template <typename Frame>
  uint32_t Lend(Frame* frames) {
    const Content& content = end_.content();
    if (content.kind != Kind::kFrames) [[unlikely]] {
      Fault();
      return 0;
    }
    Frame* frame = frames;
    Lent* lent = lent_.data();
    uint32_t empty = 0;
    uint64_t bytes = 0, head = 0;
    size_t offset = 0, ahead = 0;
    uint32_t length = 0, headroom = 0, tailroom = 0;
    FrameWalker walker(end_.payload(), content.count);
    while (walker.Next()) {
      if (walker.head() != head) {
        head = walker.head();
        const Record record = walker.record();
        offset = record.offset;
        length = record.length;
        headroom = record.offset - kRecordBytes;
        tailroom = record.stride - record.offset - length;
        ahead = offset + kFramesAhead * record.stride;
      }
      if (length == 0) [[unlikely]] {
        ++empty;
        continue;
      }
      uint8_t* const at = walker.at();
      // Prefetch for writing, because engines answer in place. The address is correct if all frames
      // have the same size; a prefetch of a wrong address cannot fault.
      __builtin_prefetch(at + ahead, 1);
      *frame++ = {at + offset, length, headroom, tailroom};
      *lent++ = {at, head};
      bytes += length;
    }
    const auto count = static_cast<uint32_t>(frame - frames);
    records_ = count + empty;
    lent_totals_ = {count, bytes};
    // Grown answers start after the payload, within the line's capacity.
    grown_end_ = std::min<uint32_t>((content.length + 7) / 8 * 8, end_.Room().size() / 8 * 8);
    if (walker.bad()) [[unlikely]]
      Fault();
    Count(counters_.requests);
    return count;
  }

  HostEnd end_;
  /// Result of the last poll of the receive pair; kContent means that the host owns the line.
  Got got_ = Got::kNothing;
  uint32_t records_ = 0;  ///< Records of the received line, up to the last valid one.
  HandedOver lent_totals_;
  uint32_t grown_end_ = 0;  ///< Bytes of the payload including appended answers; a multiple of 8.
  HandedOver answered_, sent_;
  FrameWriter writer_{{}};  ///< Writer for the granted line; valid while granted_.
  bool granted_ = false;
  bool withdrawn_ = false;
  std::array<Lent, kMaxFrames> lent_;
  FrameHostCounters counters_;
};

}  // namespace sluice::coherent
