// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC's end of an endpoint: sees which line the host loads, answers, takes what is returned,
// asks the host to leave, closes the endpoint. Step functions without a wait, a clock, an
// allocation or a call into the system. Belongs to one thread. Nothing that the host writes is
// trusted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "coherent/endpoint_memory.h"

namespace sluice::coherent {

/// What a look at a pair found.
enum class Seen : uint8_t {
  kNothing,
  kLoad,        ///< The host loads a line, and had nothing to return.
  kReturned,    ///< The host loads a line: the other one is back, see returned().
  kTriedAgain,  ///< A load had waited long enough and was answered with TRYAGAIN.
  kLeft,        ///< The host was asked to leave, and has: its core is free.
  kOverdue,     ///< The host was asked to leave, and has not within the bound. Closed.
  kFault,       ///< The host broke the protocol. Closed.
};

/// What came back in a line.
struct Returned {
  Kind kind = Kind::kNone;  ///< Of the host's; kNone: what it wrote makes no sense.
  uint8_t count = 0;        ///< Frames in the payload.
  uint64_t status = 0;      ///< Of a reply.
  /// In the endpoint's memory. A host that breaks the rules may change it meanwhile: each byte is
  /// to be read once, and copied before it is judged. Valid until the next Deliver() of the pair.
  std::span<uint8_t> payload{};
  /// What Deliver() was given. Empty: an earlier NIC end delivered it, and nobody knows for whom.
  std::optional<uint64_t> tag{};
};

/// Endings of what a pair was given; `delivered` is the sum of the next four and of what is lent.
struct NicCounters {
  uint64_t delivered = 0;  ///< Contents answered; of a transmit pair: grants.
  uint64_t replied = 0;    ///< Came back with a reply, frames or a call.
  uint64_t unreplied = 0;  ///< Came back with nothing to send.
  uint64_t malformed = 0;  ///< Came back with what makes no sense.
  uint64_t lost = 0;       ///< Were lent when the endpoint was closed.
  /// Came back, delivered by an earlier NIC end: a reply is for nobody; frames may still be sent.
  uint64_t orphaned = 0;
  uint64_t try_again = 0;  ///< Other answers.
  uint64_t yield_now = 0;
  uint64_t retire = 0;
  uint64_t left = 0;     ///< Times that the host left when asked to,
  uint64_t overdue = 0;  ///< and that it did not.
  uint64_t faults = 0;   ///< Breaches of the protocol: at most 1.
};

struct NicOptions {
  /// Whose endpoint it is: what is for another process is refused.
  uint64_t process = 0;
  uint64_t try_again_ns = kTryAgainNs;
  /// Time for a host to end its handler and leave.
  uint64_t leave_ns = 10'000'000;
};

class NicEnd {
 public:
  /// Takes an endpoint up where its memory says it is: laid out just now, or left by a NIC end that
  /// died. `now_ns`, here and below: any clock that does not go back. `machine` outlives this
  /// object.
  NicEnd(const EndpointMemory& memory, const NicOptions& options, uint64_t now_ns,
         const Machine& machine = kMachine);

  /// Whether the host has loaded a line that no Look() has seen. What it returned before that load,
  /// in either pair, a Look() that follows finds. One shared load.
  bool HasLoaded(Pair pair) const;
  /// Looks at a pair; two shared loads if there is nothing new. Call it until it returns kNothing.
  Seen Look(Pair pair, uint64_t now_ns);
  /// After Seen::kReturned.
  const Returned& returned(Pair pair) const { return At(pair).returned; }

  /// Whether the host waits for an answer, and which line it loads: number() mod 2.
  bool Waits(Pair pair) const { return At(pair).state() == State::kLoading; }
  State state(Pair pair) const { return At(pair).state(); }
  uint64_t number(Pair pair) const { return At(pair).number(); }
  Mode mode() const { return memory_.geometry().mode; }
  const Geometry& geometry() const { return memory_.geometry(); }

  /// Where the payload of an answer goes, while the host Waits(); empty otherwise.
  std::span<uint8_t> Room(Pair pair, bool in_buffer = false) const {
    return Waits(pair) ? At(pair).Room(memory_, in_buffer) : std::span<uint8_t>();
  }
  /// Answers the load. False, without effect: the host does not wait, `process` is not whose
  /// endpoint this is, or the payload does not fit. `tag`: the caller's, back in Returned or
  /// TakeLost().
  bool Deliver(Pair pair, const Content& content, uint64_t process, uint64_t tag);
  /// Answers the load of the receive pair. False: the host does not wait there.
  bool YieldNow();
  bool Retire();

  /// Asks the host to leave: a load that waits is answered with YIELDNOW, the next one will be.
  /// Look() tells when it has, or closes the endpoint. Whoever asks also signals the process.
  /// False: it was asked before, or the endpoint is closed.
  bool Preempt(uint64_t now_ns);
  /// Lets the host in again. False: it has not left.
  bool Resume();
  /// Closes the endpoint; its memory is neither read nor written from here on.
  void Kill();
  bool closed() const { return At(Pair::kReceive).state() == State::kClosed; }
  /// Of a closed endpoint: the tag of what a pair was lent when it was closed. Once.
  std::optional<uint64_t> TakeLost(Pair pair);

  const NicCounters& counters(Pair pair) const { return At(pair).counters; }
  /// The same endpoint, mapped somewhere else.
  void MoveTo(const EndpointMemory& memory) {
    memory_ = memory;
    for (Line& line : lines_) line.Bind(memory);
  }

 private:
  class Line : public PairEnd {
   public:
    Line(const EndpointMemory& memory, Pair pair, const Machine& machine)
        : PairEnd(memory, pair, machine, State::kAway) {}

    Returned returned;
    NicCounters counters;
    std::optional<uint64_t> tag;  ///< Of what is lent.
    bool lent = false;            ///< By this object, and not back.
    uint64_t since_ns = 0;        ///< Since when the present load waits.

   private:
    friend class NicEnd;
  };

  Line& At(Pair pair) { return lines_[static_cast<size_t>(pair)]; }
  const Line& At(Pair pair) const { return lines_[static_cast<size_t>(pair)]; }
  bool Asked() const;
  Seen Load(Line& line, uint64_t number, uint64_t now_ns);
  Seen LookAtClock(Line& line, uint64_t now_ns);
  Seen LookForLeaving(Line& line, uint64_t now_ns);
  void Take(Line& line);
  void Answer(Line& line, Kind kind);
  void Close();

  EndpointMemory memory_;
  NicOptions options_;
  std::array<Line, kPairs> lines_;
  uint64_t asked_ns_ = 0;  ///< Since when the host is asked to leave.
};

}  // namespace sluice::coherent
