// SPDX-License-Identifier: BSD-3-Clause
//
// The coherent interface: frames are handed over in cache lines. The worker's load waits; the NIC
// answers it with a line that holds frames, as many as came; the worker answers them where they
// lie, and its next load, of the other line, hands them back. Built by the application's worker,
// one per endpoint.
//
// A frame belongs to the worker from the moment Poll gets it to the moment the other line is
// loaded, and nothing is copied. An answer that outgrows the room in which the frame lay goes
// behind all that lies in the line: engines build it there (packet::Frame::spare). A grown
// answer for which the line has no room leaves through a line of its own once the line at work is
// handed over, and so do all answers that follow it in the burst: answers keep the order of their
// frames. Frames that the engine sends by itself leave through lines of their own: at once if no
// answer before them leaves with the line at work, otherwise as such a grown answer does.
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

/// The host's end of a queue's endpoints, of any driver; used by one worker. Production: IpuLines.
template <typename L>
concept FrameLines = requires(L lines, const L& constant, typename L::Frame* frames,
                              uint32_t count) {
  /// What a line brought, as packet::Frame has it; the NIC's word was checked. `data` and `length`
  /// may be changed to what leaves, within the frame's room; length 0: nothing does.
  { frames->data } -> std::convertible_to<uint8_t*>;
  { frames->length } -> std::convertible_to<uint32_t>;
  { frames->headroom } -> std::convertible_to<uint32_t>;
  { frames->tailroom } -> std::convertible_to<uint32_t>;
  { L::kMinFrameBytes } -> std::convertible_to<uint32_t>;
  { L::kMaxFrameBytes } -> std::convertible_to<uint32_t>;
  /// Frames that Wait returns at most.
  { L::kMaxFrames } -> std::convertible_to<uint32_t>;
  /// The frames that the load has brought, in the order in which they came; 0: it waits. Those of
  /// the last Wait were answered.
  { lines.Wait(frames) } -> std::same_as<uint32_t>;
  /// Answers the frames of the last Wait: all of them. Null: they leave from where they came.
  {lines.Answer(frames, count)};
  /// Where an answer is written that outgrows its frame's room, behind all that lies in the line;
  /// null: there is none. It was written there, and is what the frame's data and length say.
  { lines.GrownRoom(/*length=*/count) } -> std::same_as<uint8_t*>;
  {lines.TakeGrown(/*length=*/count)};
  /// Where the next frame to send is written; null: there is no room until the NIC gives a line.
  { lines.Room(/*length=*/count) } -> std::same_as<uint8_t*>;
  /// What was written there leaves with the next Flush.
  {lines.Send(/*length=*/count)};
  {lines.Flush()};
  /// The memory that all of this lies in.
  { constant.memory() } -> std::same_as<std::span<const uint8_t>>;
  /// Frames handed to the NIC that it has not taken out of its lines yet, and their bytes.
  { lines.Outstanding() } -> std::same_as<FrameTotals>;
  /// The NIC takes nothing more. The end: only Outstanding is called after it.
  {lines.Withdraw()};
  { constant.LinkUp() } -> std::same_as<bool>;
};

/// FrameQueue over an endpoint. Used by one worker.
template <FrameLines Lines>
class CoherentQueue {
 public:
  /// `lines` outlives the queue, which is its only user. A line for frames to send is asked for.
  explicit CoherentQueue(Lines& lines, ExceptionPath exception = {})
      : lines_(lines), exception_(std::move(exception)) {
    lines_.Room(0);
  }
  CoherentQueue(const CoherentQueue&) = delete;
  CoherentQueue& operator=(const CoherentQueue&) = delete;

  /// Handles the frames of one line, if the NIC has answered the load. Returns them.
  template <QueueEngine Engine>
  uint32_t Poll(Engine& engine, uint64_t now) {
    const uint32_t received = lines_.Wait(frames_.data());
    if (received == 0) return 0;
    if (tap_.see != nullptr) [[unlikely]]
      Show(TapDirection::kReceived, received);
    kept_back_ = {};
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
    QueueCounters::Add(counters_.tx_pkts, received - kept_back_.pkts);
    QueueCounters::Add(counters_.tx_bytes, bytes - kept_back_.bytes);
    if (!late_.empty()) [[unlikely]]
      SendLate();
    exception_.Flush(counters_);
    return received;
  }

  packet::Outbox outbox() { return packet::Outbox::To(*this); }
  /// What the outbox calls: leaves at the next FlushSent at the latest. Waits for a line, with
  /// bounded patience.
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

  /// Before the first Poll.
  void set_tap(FrameTap tap) { tap_ = tap; }
  bool LinkUp() const { return lines_.LinkUp(); }
  uint64_t waited_cycles() const { return patience_.waited_cycles(); }
  const QueueCounters& counters() const { return counters_; }
  QueueCounters& counters() { return counters_; }

  /// Waits until the NIC has taken the last frames out of its lines; what it does not take stays:
  /// tx_full. Frames in lines that were not looked at stay unseen, as in a ring.
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

  /// Frames between the one at work and the one that the engine fetches for.
  static constexpr uint32_t kPrepareAhead = 8;

  static bool LengthIsSound(uint32_t length) {
    return length >= Lines::kMinFrameBytes && length <= Lines::kMaxFrameBytes;
  }
  static packet::Frame View(const Frame& frame) {
    return {frame.data, frame.length, frame.headroom, frame.tailroom};
  }
  uint8_t* FindSpare() { return lines_.GrownRoom(packet::Frame::kSpareBytes); }

  /// Whether answers that are not handed over yet leave before the frame at work.
  bool FollowsAnswers() const {
    return !late_.empty() || std::ranges::any_of(std::span(frames_).first(at_work_),
                                                 [](const Frame& held) { return held.length > 0; });
  }

  /// Shows the engine all frames; returns their bytes as they came.
  template <QueueEngine Engine>
  uint64_t Handle(Engine& engine, uint32_t received, uint64_t now) {
    if constexpr (BurstEngine<Engine>) {
      packet::BurstTotals totals;
      for (uint32_t i = 0; i < received; ++i) totals.Add(frames_[i].length);
      packet::FoundBurst burst(
          received, totals, [&](uint32_t number) { return View(frames_[number]); },
          [&](uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
            Settle(frames_[number], frame, verdict);
            if constexpr (packet::Sender<Engine>) at_work_ = number + 1;
          },
          [this] { return spare_; });
      engine.ProcessBurst(burst, now);
      return totals.bytes;
    } else {
      uint64_t bytes = 0;
      for (uint32_t i = 0; i < received; ++i) {
        if constexpr (PreparingEngine<Engine>) {
          const Frame& ahead = frames_[std::min(i + kPrepareAhead, received - 1)];
          engine.Prepare(ahead.data, ahead.length);
        }
        bytes += frames_[i].length;
        packet::Frame frame = View(frames_[i]);
        frame.spare = spare_;
        if constexpr (packet::Sender<Engine>) at_work_ = i;
        const packet::Verdict verdict = packet::ProcessFrame(engine, frame, now);
        Settle(frames_[i], frame, verdict);
      }
      return bytes;
    }
  }

  /// Sees to the ending of a frame that came as `held` says.
  void Settle(Frame& held, const packet::Frame& frame, packet::Verdict verdict) {
    if (verdict.action != packet::Action::kForward) [[unlikely]] {
      changed_ = true;
      End(held, frame, verdict);
    } else if (frame.data != held.data || frame.length != held.length) {
      changed_ = true;
      Resize(held, frame.data, frame.length);
    }
  }

  /// A frame that does not leave.
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
    ++kept_back_.pkts;
    kept_back_.bytes += held.length;
    held.length = 0;
  }

  /// The engine answered with `length` bytes at `data`: in the room that the frame had, or
  /// elsewhere.
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
    if (uint8_t* const behind = built ? data : lines_.GrownRoom(length); behind != nullptr) {
      if (!built) std::memcpy(behind, data, length);
      lines_.TakeGrown(length);
      spare_ = FindSpare();
      return Keep(held, behind, length);
    }
    late_.Add(static_cast<uint32_t>(&held - frames_.data()), data, length);
    kept_back_.bytes += uint64_t{held.length} - length;
    held.length = 0;  // Nothing leaves from where it lay.
  }
  /// No answer behind a late one leaves with the line.
  [[gnu::noinline]] void DelayWhatFollows(uint32_t received) {
    for (uint32_t i = late_.First(); i < received; ++i) {
      Frame& held = frames_[i];
      if (held.length == 0) continue;
      late_.Add(i, held.data, held.length);
      held.length = 0;
      changed_ = true;
    }
  }
  /// The line is handed over; the next one will not be before the NIC has taken these.
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
  /// It leaves in its turn.
  void Keep(Frame& held, uint8_t* data, uint32_t length) {
    kept_back_.bytes += uint64_t{held.length} - length;
    held.data = data;
    held.length = length;
  }
  void Refuse(Frame& held, uint64_t& reason) {
    QueueCounters::Add(reason, 1);
    KeepBack(held);
  }
  /// Modulo 2^64: what lies before `first` is far behind it.
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
  /// A line is given for the one that was taken.
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
  bool changed_ = false;      ///< Of this burst: some frame leaves otherwise than it came.
  FrameTotals kept_back_;     ///< Of this burst: received minus what leaves; modulo 2^64.
  bool ahead_ = false;        ///< The NIC has to take frames that were sent before it is answered.
  uint32_t at_work_ = 0;      ///< Frame that an engine handles which sends frames of its own.
  Patience patience_;         ///< With the lines for frames to send.
  LateAnswers late_;          ///< Of this burst.
  uint8_t* spare_ = nullptr;  ///< While an engine works: where a grown answer lies.
  std::array<Frame, Lines::kMaxFrames> frames_;
};

}  // namespace sluice::nic
