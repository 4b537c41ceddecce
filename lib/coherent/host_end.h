// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of an endpoint. Any process can use it: it needs no EAL and makes no allocations
// or system calls.
//
//   HostEnd end(EndpointMemory::Find(memory), BestWaitMethod());
//   for (;;) {
//     switch (end.Wait(patience)) {
//       case Got::kContent: end.Return(Call(end.content(), end.payload(), end.Room())); break;
//       case Got::kYieldNow: GiveTheCoreBack(); break;
//       ...
//
// The result replaces the arguments in the same line. The next Wait loads the other line; this load
// notifies the NIC that the result is complete. Used by one thread. All values that the NIC writes
// are checked before use: after an invalid answer this end stops permanently (Got::kClosed).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "coherent/endpoint_memory.h"
#include "coherent/wait.h"

namespace sluice::coherent {

/// The answer to a load.
enum class Got : uint8_t {
  kNothing,   ///< No answer yet: the load is pending, and the next call continues to wait.
  kContent,   ///< A request or frames. Transmit pair: a line to fill.
  kTryAgain,  ///< Answered without content: the load timed out, or the host must leave.
  kYieldNow,  ///< The core is needed elsewhere: this end has left the lines, and the next call
              ///< enters again.
  kRetire,    ///< Kernel endpoint: the core is no longer needed. This end has left the lines.
  kBarred,    ///< The process may not enter now: retry when it has a core again.
  kClosed,    ///< Closed permanently.
};

class HostEnd {
 public:
  /// No process may have issued a load on `memory` yet. `machine` must outlive this object.
  HostEnd(const EndpointMemory& memory, WaitMethod wait, const Machine& machine = kMachine)
      : memory_(memory),
        wait_(wait),
        has_way_(HasHostWay(machine)),
        lines_{Line(memory, Pair::kReceive, machine), Line(memory, Pair::kTransmit, machine)} {}

  // The following functions use the receive pair.

  /// Issues the next load, unless one is pending, and waits for its answer for up to
  /// `patience_cycles` (cpu::Cycles(); 0: polls once). If the previous content was not answered
  /// with Return, the answer is kNoReply.
  Got Wait(uint64_t patience_cycles) {
    Line& line = At(Pair::kReceive);
    return on_way_ && line.state_ == State::kWritten ? LoadNext(line, patience_cycles)
                                                     : LoadAndWait(line, patience_cycles);
  }
  /// Valid after Got::kContent, until Return() or the next Wait. Each call reads the code and the
  /// data pointer from the line.
  Content content() const {
    const Line& line = At(Pair::kReceive);
    const Control control = Control::Of(line.answer);
    const ControlLine& shared = line.line();
    return {control.kind,
            control.length,
            control.count,
            control.in_buffer,
            bar::LoadOnce(shared.code),
            bar::LoadOnce(shared.data)};
  }
  std::span<uint8_t> payload() const {
    const Control control = Control::Of(At(Pair::kReceive).answer);
    return Room(control.in_buffer).first(control.length);
  }
  /// Returns the space for the answer's payload: the line, which contains the arguments, or the
  /// line's buffer.
  std::span<uint8_t> Room(bool in_buffer = false) const {
    return At(Pair::kReceive).Room(memory_, in_buffer);
  }
  /// Writes the answer: kReply, kFrames, kNoReply or kCall. The answer may be replaced until the
  /// next Wait. Returns false if no content is waiting for an answer or the payload does not fit.
  bool Return(const Content& content) {
    Line& line = At(Pair::kReceive);
    if (!on_way_ || line.state_ != State::kHolding) [[unlikely]]
      return Write(line, content);
    if (content.length > line.Capacity(content.in_buffer)) return false;
    line.state_ = State::kWritten;
    line.Publish(content);
    return true;
  }
  /// Returns whether this process was asked to leave or the endpoint is closed. A long-running
  /// handler must then return early; otherwise the process is killed.
  bool Asked() const {
    return std::atomic_ref(memory_.header().ready).load(std::memory_order_relaxed) != kReady;
  }

  // The following functions use the transmit pair.

  /// Returns kContent if a line is granted; SendRoom() is its space. Otherwise returns the same
  /// results as Wait().
  Got Grant(uint64_t patience_cycles) {
    Line& line = At(Pair::kTransmit);
    if (!inside_) {
      const Got admitted = Admit(line);
      if (admitted != Got::kContent) return admitted;
    }
    return line.state() == State::kHolding ? Got::kContent : LoadAndWait(line, patience_cycles);
  }
  std::span<uint8_t> SendRoom(bool in_buffer = false) const {
    return At(Pair::kTransmit).Room(memory_, in_buffer);
  }
  /// Writes the head of the granted line and loads the other line; the load acts as the doorbell.
  /// Returns false and sends nothing if the line is not granted, the payload does not fit, the
  /// process may not enter now, or the endpoint is closed.
  bool Send(const Content& content) {
    Line& line = At(Pair::kTransmit);
    return (inside_ || Admit(line) == Got::kContent) && Write(line, content) && Load(line);
  }

  const Geometry& geometry() const { return memory_.geometry(); }
  State state(Pair pair) const { return At(pair).state(); }
  uint64_t number(Pair pair) const { return At(pair).number(); }
  WaitMethod wait_method() const { return wait_; }
  /// Continues with the same endpoint, mapped at another address.
  void MoveTo(const EndpointMemory& memory) {
    memory_ = memory;
    for (Line& line : lines_) line.Bind(memory);
  }

 private:
  class Line : public PairEnd {
   public:
    Line(const EndpointMemory& memory, Pair pair, const Machine& machine)
        : PairEnd(memory, pair, machine, State::kOutside) {}
    uint64_t answer = 0;  ///< Checked control word of the content.

   private:
    friend class HostEnd;
  };
  /// Maps an answer's four kind bits to an input. A kind that a NIC must not send stops the host.
  static constexpr std::array<Input, 16> kInputOf = [] {
    std::array<Input, 16> inputs{};
    inputs.fill(Input::kGone);
    const auto set = [&inputs](Kind kind, Input input) {
      inputs[static_cast<size_t>(kind)] = input;
    };
    set(Kind::kRequest, Input::kContent);
    set(Kind::kFrames, Input::kContent);
    set(Kind::kGrant, Input::kContent);
    set(Kind::kTryAgain, Input::kTryAgain);
    set(Kind::kYieldNow, Input::kYieldNow);
    set(Kind::kRetire, Input::kRetireNow);
    return inputs;
  }();

  Line& At(Pair pair) { return lines_[static_cast<size_t>(pair)]; }
  const Line& At(Pair pair) const { return lines_[static_cast<size_t>(pair)]; }

  // The fast path of each request. All other cases are in host_end.cc.

  /// Fast version of LoadAndWait() for the first row of kHostWay.
  Got LoadNext(Line& line, uint64_t patience_cycles) {
    const uint64_t number = line.number_ + 1;
    line.number_ = number;
    line.state_ = State::kWaiting;
    // Release order: the answer is complete in its line before the NIC sees the load of the other
    // line.
    std::atomic_ref(line.word_->load).store(number, std::memory_order_release);
    const uint64_t word =
        bar::LoadOnce(line.lines_[number & 1]->control, std::memory_order_acquire);
    if (static_cast<uint32_t>(word) != static_cast<uint32_t>(number)) {
      return Await(line, word, patience_cycles);
    }
    // If the control word is a request whose payload is in the lines, this difference is the
    // payload's length. For all other words it exceeds the capacity.
    const auto rest = static_cast<uint32_t>(word >> Control::kLengthShift) - kRequestInLines;
    if (rest > line.Capacity(false)) return Answered(line, word);
    line.answer = word;
    line.state_ = State::kHolding;
    return Got::kContent;
  }

  Got LoadAndWait(Line& line, uint64_t patience_cycles) {
    if (line.state() != State::kWaiting && !Load(line)) {
      return line.state() == State::kStopped ? Got::kClosed : Got::kBarred;
    }
    const auto number = static_cast<uint32_t>(line.number_);
    const uint64_t word = bar::LoadOnce(line.line().control, std::memory_order_acquire);
    return static_cast<uint32_t>(word) == number ? Answered(line, word)
                                                 : Await(line, word, patience_cycles);
  }

  bool Load(Line& line) {
    const Action action = line.Move(inside_ ? Input::kCallLoad : Enter());
    if (action != Action::kLoadLine && !LoadOtherwise(line, action)) [[unlikely]]
      return false;
    // Release order: the answer is complete in its line before the NIC sees the load of the other
    // line.
    std::atomic_ref(line.word_->load).store(++line.number_, std::memory_order_release);
    return true;
  }

  bool Write(Line& line, const Content& content) {
    if (content.length > line.Capacity(content.in_buffer) ||
        line.Move(Input::kCallWrite) != Action::kWrite) {
      return false;
    }
    line.Publish(content);
    return true;
  }

  Got Answered(Line& line, uint64_t word) {
    // With the buffer bit set, the value exceeds every line's capacity.
    const uint64_t in_line =
        word >> Control::kLengthShift & (Control::kMaxLength | Control::kBuffer);
    if (kInputOf[word >> Control::kKindShift] == Input::kContent && in_line <= line.Capacity(false))
        [[likely]] {
      line.answer = word;
      return line.Move(Input::kContent) == Action::kHand ? Got::kContent : Got::kNothing;
    }
    return AnsweredOtherwise(line, word);
  }
  Got AnsweredOtherwise(Line& line, uint64_t word);
  Got Hear(Line& line, Input input);
  bool LoadOtherwise(Line& line, Action action);
  Got Await(Line& line, uint64_t word, uint64_t patience_cycles);
  Got LookForClosing(Line& line);
  Got Admit(Line& line);
  Input Enter();
  void Leave();
  void Stop();

  /// Upper half of the control word of a request without arguments.
  static constexpr uint32_t kRequestInLines =
      static_cast<uint32_t>(Control{.kind = Kind::kRequest}.Word() >> Control::kLengthShift);

  EndpointMemory memory_;
  WaitMethod wait_;
  bool inside_ = false;  ///< BUSY is set: the host may access lines.
  bool has_way_;         ///< The machine's table contains all rows of kHostWay.
  bool on_way_ = false;  ///< Both inside_ and has_way_ are true.
  std::array<Line, kPairs> lines_;
};

}  // namespace sluice::coherent
