// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC's end of an endpoint: detects the host's loads, answers them, reads returned lines,
// preempts the host, and closes the endpoint. No function waits, reads a clock, allocates or makes
// a system call. Used by one thread. Nothing that the host writes is trusted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "coherent/endpoint_memory.h"

namespace sluice::coherent {

/// Result of polling a pair.
enum class Seen : uint8_t {
  kNothing,
  kLoad,        ///< The host has loaded a line and did not own the other one.
  kReturned,    ///< The host has loaded a line and returned the other one; see returned().
  kTriedAgain,  ///< A load timed out and was answered with TRYAGAIN.
  kLeft,        ///< The host has left on request: its core is free.
  kOverdue,     ///< The host did not leave within the time limit; the endpoint is now closed.
  kFault,       ///< The host violated the protocol; the endpoint is now closed.
};

/// Content of a returned line.
struct Returned {
  Kind kind = Kind::kNone;  ///< Kind that the host wrote; kNone if invalid.
  uint8_t count = 0;        ///< Frames in the payload.
  uint64_t status = 0;      ///< Status of a reply.
  /// Points to the endpoint's memory. A faulty host may change that memory at any time, so read
  /// each byte only once: copy it, then check the copy. Valid until the next Deliver() on the pair.
  std::span<uint8_t> payload{};
  /// The tag passed to Deliver(). Empty if an earlier NIC end delivered the content.
  std::optional<uint64_t> tag{};
};

/// Counts what became of the contents that were delivered to a pair. `delivered` equals the sum of
/// the next four counters, plus 1 while content is lent, that is, delivered and not returned yet.
struct NicCounters {
  uint64_t delivered = 0;  ///< Loads answered with content; transmit pair: grants.
  uint64_t replied = 0;    ///< Returned with a reply, frames or a call.
  uint64_t unreplied = 0;  ///< Returned without an answer.
  uint64_t malformed = 0;  ///< Returned with an invalid answer.
  uint64_t lost = 0;       ///< Lent when the endpoint was closed.
  /// Returned, but delivered by an earlier NIC end. Such a reply has no receiver; such frames can
  /// still be sent.
  uint64_t orphaned = 0;
  uint64_t try_again = 0;  ///< Loads answered without content: one counter for each kind of answer.
  uint64_t yield_now = 0;
  uint64_t retire = 0;
  uint64_t left = 0;     ///< Number of times that the host left on request.
  uint64_t overdue = 0;  ///< Number of times that the host did not leave in time.
  uint64_t faults = 0;   ///< Protocol violations by the host; at most 1, because the first one
                         ///< closes the endpoint.
};

struct NicOptions {
  /// Owner of the endpoint: content for another process is rejected.
  uint64_t process = 0;
  uint64_t try_again_ns = kTryAgainNs;
  /// Time that a host has to end its handler and leave.
  uint64_t leave_ns = 10'000'000;
};

class NicEnd {
 public:
  /// Continues from the state in the endpoint's memory, which may be new or may come from a NIC end
  /// that died. `now_ns`, here and below, can come from any monotonic clock. `machine` must outlive
  /// this object.
  NicEnd(const EndpointMemory& memory, const NicOptions& options, uint64_t now_ns,
         const Machine& machine = kMachine);

  /// Returns whether the host has issued a load that Look() has not processed. If so, a Look()
  /// after this call finds all of the host's answers that precede the load, in both pairs. Costs
  /// one load from shared memory.
  bool HasLoaded(Pair pair) const;
  /// Polls a pair; costs two loads from shared memory if there is nothing new. Call it until it
  /// returns kNothing.
  Seen Look(Pair pair, uint64_t now_ns);
  /// Valid after Seen::kReturned.
  const Returned& returned(Pair pair) const { return At(pair).returned; }

  /// Returns whether one of the host's loads is pending. It refers to line number() mod 2.
  bool Waits(Pair pair) const { return At(pair).state() == State::kLoading; }
  State state(Pair pair) const { return At(pair).state(); }
  uint64_t number(Pair pair) const { return At(pair).number(); }
  Mode mode() const { return memory_.geometry().mode; }
  const Geometry& geometry() const { return memory_.geometry(); }

  /// Returns the space for an answer's payload if the host Waits(), otherwise an empty span.
  std::span<uint8_t> Room(Pair pair, bool in_buffer = false) const {
    return Waits(pair) ? At(pair).Room(memory_, in_buffer) : std::span<uint8_t>();
  }
  /// Answers the load with `content`. Returns false and does nothing if no load is pending, if
  /// `process` does not own this endpoint, or if the payload does not fit. `tag` is returned in
  /// Returned or by ConsumeLost().
  bool Deliver(Pair pair, const Content& content, uint64_t process, uint64_t tag);
  /// Answer the pending load of the receive pair without content. Return false if no load is
  /// pending.
  bool YieldNow();
  bool Retire();

  /// Asks the host to leave: the pending load, or the next one if none is pending, is answered with
  /// YIELDNOW. Look() reports that the host has left, or closes the endpoint if the host does not
  /// leave in time. The caller must also signal the process. Returns false if the host was already
  /// asked, or the endpoint is closed.
  bool Preempt(uint64_t now_ns);
  /// Allows the host to enter again. Returns false if it has not left.
  bool Resume();
  /// Closes the endpoint. This end does not access the endpoint's memory afterwards.
  void Kill();
  bool closed() const { return At(Pair::kReceive).state() == State::kClosed; }
  /// Returns the tag of the content that the host had not returned when the endpoint was closed.
  /// The tag is returned only once; later calls return an empty value.
  std::optional<uint64_t> ConsumeLost(Pair pair);

  const NicCounters& counters(Pair pair) const { return At(pair).counters; }
  /// Continues with the same endpoint, mapped at another address.
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
    std::optional<uint64_t> tag;  ///< Tag of the content that the host has not returned yet.
    bool lent = false;      ///< Content was delivered by this object and has not been returned.
    uint64_t since_ns = 0;  ///< Start time of the pending load.

   private:
    friend class NicEnd;
  };

  Line& At(Pair pair) { return lines_[static_cast<size_t>(pair)]; }
  const Line& At(Pair pair) const { return lines_[static_cast<size_t>(pair)]; }
  bool Asked() const;
  Seen Load(Line& line, uint64_t number, uint64_t now_ns);
  Seen LookAtClock(Line& line, uint64_t now_ns);
  Seen LookForLeaving(Line& line, uint64_t now_ns);
  void AcceptReturn(Line& line);
  void Answer(Line& line, Kind kind);
  void Close();

  EndpointMemory memory_;
  NicOptions options_;
  std::array<Line, kPairs> lines_;
  uint64_t asked_ns_ = 0;  ///< Time at which the host was asked to leave.
};

}  // namespace sluice::coherent
