// SPDX-License-Identifier: BSD-3-Clause
//
// The coherent interface: host and NIC exchange frames in cache lines. The worker loads a line, and
// the NIC delays the answer until frames arrive or a time limit expires. The line then contains the
// frames that have arrived. The worker answers them in place. It then loads the other line, which
// hands the answers to the NIC. The application's worker builds one queue per endpoint.
//
// The worker owns a frame from the Poll that returned it until it loads the other line. No frame is
// copied. An answer that is too long for its frame's room is written after all frames of the line;
// engines build it at that address (packet::Frame::spare). If the line has no room for an answer,
// the answer is sent in another line after the current line has been handed over. All later answers
// of the burst are sent after it, so that answers stay in the order of their frames. Frames that
// the engine sends by itself use other lines. They are sent at once if no earlier answer of the
// current line is outstanding, otherwise after the current line, like a late answer.
#pragma once

#include <rte_cycles.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/late_answers.h"
#include "nic/patience.h"
#include "nic/tap.h"
#include "packet/burst.h"

namespace sluice::nic {

/// The host side of a queue's endpoints, independent of the driver. Used by one worker. Implemented
/// by IpuLines.
template <typename L>
concept FrameLines = requires(L lines, const L& constant, typename L::Frame* frames,
                              uint32_t count) {
  /// A received frame with the members of packet::Frame; the driver has validated the NIC's values.
  /// To answer, the worker sets `data` and `length` to the answer's position and length, within the
  /// frame's room (headroom, frame and tailroom). A length of 0 drops the frame.
  { frames->data } -> std::convertible_to<uint8_t*>;
  { frames->length } -> std::convertible_to<uint32_t>;
  { frames->headroom } -> std::convertible_to<uint32_t>;
  { frames->tailroom } -> std::convertible_to<uint32_t>;
  { L::kMinFrameBytes } -> std::convertible_to<uint32_t>;
  { L::kMaxFrameBytes } -> std::convertible_to<uint32_t>;
  /// Maximum number of frames that Wait returns.
  { L::kMaxFrames } -> std::convertible_to<uint32_t>;
  /// Stores the loaded line's frames in order of arrival and returns their number. Returns 0 while
  /// the load is outstanding, or if the NIC answered without frames. The frames of the previous
  /// Wait must have been answered.
  { lines.Wait(frames) } -> std::same_as<uint32_t>;
  /// Answers all frames of the last Wait. A null `frames` forwards them unchanged.
  {lines.Answer(frames, count)};
  /// GrownRoom returns an address after all frames of the line, for an answer that exceeds its
  /// frame's room, or null if the line has no room there. CommitGrown reserves the bytes that were
  /// written; the frame's data and length must describe them.
  { lines.GrownRoom(/*length=*/count) } -> std::same_as<uint8_t*>;
  {lines.CommitGrown(/*length=*/count)};
  /// Returns the address at which to write the next frame to send, or null until the NIC provides a
  /// line with room.
  { lines.Room(/*length=*/count) } -> std::same_as<uint8_t*>;
  /// Queues the frame that was written at the address from Room; the next Flush sends it.
  {lines.Send(/*length=*/count)};
  {lines.Flush()};
  /// Memory that contains all lines.
  { constant.memory() } -> std::same_as<std::span<const uint8_t>>;
  /// Returns the number of frames, and their bytes, that were handed to the NIC but that the NIC
  /// has not read yet.
  { lines.Outstanding() } -> std::same_as<FrameTotals>;
  /// Ends the NIC's access to the lines. Only Outstanding may be called afterwards.
  {lines.Withdraw()};
  { constant.LinkUp() } -> std::same_as<bool>;
};

/// FrameQueue over an endpoint. Used by one worker.
template <FrameLines Lines>
class CoherentQueue {
 public:
  /// `lines` must outlive the queue and must have no other user. The constructor requests a line
  /// for frames to send.
  explicit CoherentQueue(Lines& lines, ExceptionPath exception = {})
      : lines_(lines), exception_(std::move(exception)) {
    lines_.Room(0);
  }
  CoherentQueue(const CoherentQueue&) = delete;
  CoherentQueue& operator=(const CoherentQueue&) = delete;

  /// Handles the frames of one line if the NIC has answered the load. Returns the number of frames
  /// received.
  template <packet::QueueEngine Engine>
  uint32_t Poll(Engine& engine, uint64_t now) {
    const uint32_t received = lines_.Wait(frames_.data());
    if (received == 0) return 0;
    if (tap_.see != nullptr) [[unlikely]]
      Show(TapDirection::kReceived, received);
    unforwarded_ = {};
    changed_ = false;
    spare_ = FindSpare();
    const uint64_t bytes = Handle(engine, received, now);
    if constexpr (packet::Sender<Engine>) at_work_ = 0;
    if (!late_.empty()) [[unlikely]]
      DelayWhatFollows(received);
    if (tap_.see != nullptr) [[unlikely]]
      Show(TapDirection::kSent, received);
    FlushSent();
    if (std::exchange(ahead_, false)) [[unlikely]]
      AwaitTaken();
    lines_.Answer(changed_ ? frames_.data() : nullptr, received);
    QueueCounters::Add(counters_.rx_pkts, received);
    QueueCounters::Add(counters_.rx_bytes, bytes);
    QueueCounters::Add(counters_.tx_pkts, received - unforwarded_.pkts);
    QueueCounters::Add(counters_.tx_bytes, bytes - unforwarded_.bytes);
    if (!late_.empty()) [[unlikely]]
      SendLate();
    exception_.Flush(counters_);
    return received;
  }

  packet::Outbox outbox() { return packet::Outbox::To(*this); }
  /// Called by the outbox. The frame is sent no later than in the next FlushSent. If no line has
  /// room, waits with bounded patience.
  bool Send(const uint8_t* frame, uint32_t length) {
    QueueCounters::Add(counters_.sent_pkts, 1);
    if (!LengthIsSound(length)) {
      QueueCounters::Add(counters_.tx_unframeable, 1);
      return false;
    }
    if (FollowsAnswers()) {
      late_.Add(at_work_, frame, length);
    } else {
      uint8_t* const to = AwaitRoom(length);
      if (to == nullptr) {
        QueueCounters::Add(counters_.tx_full, 1);
        return false;
      }
      std::memcpy(to, frame, length);
      Leave(to, length);
      ahead_ = true;
    }
    QueueCounters::Add(counters_.tx_pkts, 1);
    QueueCounters::Add(counters_.tx_bytes, length);
    return true;
  }
  template <FrameSource Source>
  uint32_t Emit(const Source& source, uint32_t count) {
    FrameTotals left;
    while (left.pkts < count) {
      const auto index = static_cast<uint32_t>(left.pkts);
      const uint32_t length = source.length(index);
      uint8_t* const to = lines_.Room(length);
      if (to == nullptr) break;
      source.Write(index, to);
      Leave(to, length);
      ++left.pkts;
      left.bytes += length;
    }
    FlushSent();
    return counters_.AddEmitted(left);
  }
  bool CanEmit(const uint8_t* /*frame*/, uint32_t length) const { return LengthIsSound(length); }
  void FlushSent() { lines_.Flush(); }

  /// Must be called before the first Poll.
  void set_tap(FrameTap tap) { tap_ = tap; }
  bool LinkUp() const { return lines_.LinkUp(); }
  uint64_t waited_cycles() const { return patience_.waited_cycles(); }
  const QueueCounters& counters() const { return counters_; }
  QueueCounters& counters() { return counters_; }

  /// Waits with bounded patience until the NIC has read the last frames. Frames that it has not
  /// read by then count in tx_full. Frames in lines that were not loaded are not handled, like
  /// frames that remain in a ring.
  void Drain() {
    FlushSent();
    Patience patience;
    while (lines_.Outstanding().pkts > 0 && patience.Wait()) {
    }
    lines_.Withdraw();
    const FrameTotals stay = lines_.Outstanding();
    QueueCounters::Add(counters_.tx_pkts, -stay.pkts);
    QueueCounters::Add(counters_.tx_bytes, -stay.bytes);
    QueueCounters::Add(counters_.tx_full, stay.pkts);
  }

 private:
  using Frame = typename Lines::Frame;

  /// Distance in frames between the frame being handled and the frame passed to Prepare.
  static constexpr uint32_t kPrepareAhead = 8;

  static bool LengthIsSound(uint32_t length) {
    return length >= Lines::kMinFrameBytes && length <= Lines::kMaxFrameBytes;
  }
  static packet::Frame View(const Frame& frame) {
    return {frame.data, frame.length, frame.headroom, frame.tailroom};
  }
  uint8_t* FindSpare() { return lines_.GrownRoom(packet::Frame::kSpareBytes); }

  /// Returns whether answers to earlier frames of the burst are yet to be handed over.
  bool FollowsAnswers() const {
    return !late_.empty() || std::ranges::any_of(std::span(frames_).first(at_work_),
                                                 [](const Frame& held) { return held.length > 0; });
  }

  /// Passes all frames to the engine. Returns the number of bytes received.
  template <packet::QueueEngine Engine>
  uint64_t Handle(Engine& engine, uint32_t received, uint64_t now) {
    if constexpr (packet::BurstEngine<Engine>) {
      packet::BurstTotals totals;
      for (uint32_t i = 0; i < received; ++i) totals.Add(frames_[i].length);
      packet::FoundBurst burst(
          received, totals, [&](uint32_t number) { return View(frames_[number]); },
          [&](uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
            Frame& held = frames_[number];
            Settle(held, held.data, held.length, frame, verdict);
            if constexpr (packet::Sender<Engine>) at_work_ = number + 1;
          },
          [this] { return spare_; });
      engine.ProcessBurst(burst, now);
      return totals.bytes;
    } else {
      uint64_t bytes = 0;
      for (uint32_t i = 0; i < received; ++i) {
        if constexpr (packet::PreparingEngine<Engine>) {
          const Frame& ahead = frames_[std::min(i + kPrepareAhead, received - 1)];
          engine.Prepare(ahead.data, ahead.length);
        }
        packet::Frame frame = View(frames_[i]);
        frame.spare = spare_;
        const uint8_t* const data = frame.data;
        const uint32_t length = frame.length;
        bytes += length;
        if constexpr (packet::Sender<Engine>) at_work_ = i;
        const packet::Verdict verdict = packet::ProcessFrame(engine, frame, now);
        Settle(frames_[i], data, length, frame, verdict);
      }
      return bytes;
    }
  }

  /// Applies the engine's verdict to the frame that arrived as `held`: `length` bytes at `data`.
  void Settle(Frame& held, const uint8_t* data, uint32_t length, const packet::Frame& frame,
              packet::Verdict verdict) {
    if (verdict.action != packet::Action::kForward) [[unlikely]] {
      changed_ = true;
      End(held, frame, verdict);
    } else if (frame.data != data || frame.length != length) {
      changed_ = true;
      Resize(held, frame.data, frame.length);
    }
  }

  /// Carries out a verdict other than kForward.
  [[gnu::noinline]] void End(Frame& held, const packet::Frame& frame, packet::Verdict verdict) {
    if (verdict.action == packet::Action::kConsume) {
      QueueCounters::Add(counters_.consumed_pkts, 1);
    } else if (verdict.action == packet::Action::kPass) {
      exception_.Pass(frame.data, frame.length, counters_);
    } else {
      const uint32_t reason = std::min<uint32_t>(verdict.reason, QueueCounters::kMaxReasons - 1);
      QueueCounters::Add(counters_.engine_drops[reason], 1);
    }
    KeepBack(held);
  }
  void KeepBack(Frame& held) {
    ++unforwarded_.pkts;
    unforwarded_.bytes += held.length;
    held.length = 0;
  }

  /// Applies an answer of `length` bytes at `data`, which may be inside or outside the frame's
  /// room.
  [[gnu::noinline]] void Resize(Frame& held, uint8_t* data, uint32_t length) {
    if (!LengthIsSound(length)) return Refuse(held, counters_.tx_unframeable);
    uint8_t* const begin = held.data - held.headroom;
    const uint64_t room = uint64_t{held.headroom} + held.length + held.tailroom;
    if (const uint64_t at = Distance(begin, data); at <= room && length <= room - at) {
      return Keep(held, data, length);
    }
    const std::span<const uint8_t> lines = lines_.memory();
    const bool built = data == spare_ && length <= packet::Frame::kSpareBytes;
    if (!built && Distance(lines.data(), data) < lines.size()) {
      return Refuse(held, counters_.tx_unframeable);
    }
    if (!built && length <= room) {
      return Keep(held, static_cast<uint8_t*>(std::memcpy(begin, data, length)), length);
    }
    if (uint8_t* const answer = built ? data : lines_.GrownRoom(length); answer != nullptr) {
      if (!built) std::memcpy(answer, data, length);
      lines_.CommitGrown(length);
      spare_ = FindSpare();
      return Keep(held, answer, length);
    }
    late_.Add(static_cast<uint32_t>(&held - frames_.data()), data, length);
    unforwarded_.bytes += uint64_t{held.length} - length;
    held.length = 0;  // The line does not forward this frame.
  }
  /// Moves all answers after the first late frame from the line to the late frames, so that they
  /// are sent in order.
  [[gnu::noinline]] void DelayWhatFollows(uint32_t received) {
    for (uint32_t i = late_.First(); i < received; ++i) {
      Frame& held = frames_[i];
      if (held.length == 0) continue;
      late_.Add(i, held.data, held.length);
      held.length = 0;
      changed_ = true;
    }
  }
  /// Sends late answers after the line has been handed over. Waits with bounded patience until the
  /// NIC has accepted them, so that they precede the next line. Answers that get no line in time
  /// count in tx_full.
  [[gnu::noinline]] void SendLate() {
    late_.Empty([this](const uint8_t* frame, uint32_t length) {
      uint8_t* const to = AwaitRoom(length);
      if (to == nullptr) {
        QueueCounters::Add(counters_.tx_full, 1);
        QueueCounters::Add(counters_.tx_pkts, -1);
        QueueCounters::Add(counters_.tx_bytes, -uint64_t{length});
        return;
      }
      std::memcpy(to, frame, length);
      Leave(to, length);
    });
    FlushSent();
    AwaitTaken();
  }
  /// Records that the line forwards the frame, as `length` bytes at `data`.
  void Keep(Frame& held, uint8_t* data, uint32_t length) {
    unforwarded_.bytes += uint64_t{held.length} - length;
    held.data = data;
    held.length = length;
  }
  void Refuse(Frame& held, uint64_t& reason) {
    QueueCounters::Add(reason, 1);
    KeepBack(held);
  }
  /// Returns `data` minus `first` modulo 2^64, which is very large for addresses before `first`.
  static uint64_t Distance(const uint8_t* first, const uint8_t* data) {
    return reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(first);
  }

  uint8_t* AwaitRoom(uint32_t length) {
    uint8_t* to = lines_.Room(length);
    if (to != nullptr) [[likely]]
      return to;
    FlushSent();
    do {
      to = lines_.Room(length);
    } while (to == nullptr && patience_.Wait());
    if (to != nullptr) patience_.Renew();
    return to;
  }
  /// Waits with bounded patience until the NIC has read the sent line and provides an empty one.
  void AwaitTaken() { AwaitRoom(Lines::kMinFrameBytes); }
  void Leave(const uint8_t* frame, uint32_t length) {
    if (tap_.see != nullptr) [[unlikely]] {
      tap_.see(tap_.context, TapDirection::kSent, frame, length);
    }
    lines_.Send(length);
  }

  [[gnu::noinline]] void Show(TapDirection direction, uint32_t count) const {
    for (const Frame& frame : std::span(frames_).first(count)) {
      if (frame.length > 0) tap_.see(tap_.context, direction, frame.data, frame.length);
    }
  }

  Lines& lines_;
  ExceptionPath exception_;
  FrameTap tap_;
  QueueCounters counters_;
  bool changed_ = false;     ///< A frame of this burst was changed or not forwarded.
  FrameTotals unforwarded_;  ///< Totals received minus totals forwarded in this burst, modulo 2^64.
  bool ahead_ = false;       ///< Frames were sent that the NIC must read before the next answers.
  uint32_t at_work_ = 0;     ///< Index of the frame being handled, if the engine is a Sender.
  Patience patience_;        ///< Limits the waits for lines in which to send frames.
  LateAnswers late_;         ///< Late answers of this burst.
  uint8_t* spare_ = nullptr;  ///< Address for the next answer that exceeds its room, or null.
  std::array<Frame, Lines::kMaxFrames> frames_;
};

}  // namespace sluice::nic
