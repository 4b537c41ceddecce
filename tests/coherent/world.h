// SPDX-License-Identifier: BSD-3-Clause
//
// Both ends of endpoints, the real ones on real memory, between an adversary and an observer. The
// adversary decides who comes next: hosts, the NIC, its dispatcher, clocks, processes that end, a
// NIC that starts again, lines that are lost. The observer sees everything and judges it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../exhaustive/explorer.h"
#include "coherent/host_end.h"
#include "coherent/nic_end.h"

namespace sluice::coherent::test {

using exhaustive::Exploration;
using exhaustive::Explorer;
using exhaustive::Move;

/// Bits of World::violated().
enum Property : uint8_t {
  kExclusion,   ///< An end writes to a line that the other one owns; both lines are the host's.
  kExecution,   ///< A request is executed more than once.
  kAnswer,      ///< It is answered more than once, with another's reply, or without its own.
  kIsolation,   ///< A process sees another one's request.
  kPreemption,  ///< A host that left touches lines; one that has not is neither gone nor killed.
  kEnding,      ///< A request ends twice, or under a counter of the wrong name.
  kSound,       ///< An honest peer is found at fault.
};
inline constexpr uint8_t kProperties = 7;
const char* PropertyName(uint8_t property);

/// What the adversary may do, and how often.
struct Config {
  const Machine* machine = &kMachine;
  int processes = 1;  ///< Each at an endpoint of its own.
  int requests = 2;   ///< To each process in turn.
  int stalls = 1;     ///< Loads that wait too long.
  int preempts = 0;
  int yields = 0;  ///< YIELDNOW and RETIRE without preemption.
  int nic_restarts = 0;
  int deaths = 0;  ///< Of processes.
  int kills = 0;   ///< Of endpoints whose process lives.
  int losses = 0;  ///< Of lines.
  int frames = 0;  ///< That a host sends by itself.
  // Unsafe.
  bool any_process = false;    ///< The dispatcher does not say whose a request is.
  bool deliver_again = false;  ///< What was lost with a process is delivered once more.
  bool resume_early = false;   ///< A NIC that starts again takes a lent line for one not answered.
};

enum MoveKind : uint8_t {
  // The hosts' (index: the endpoint)
  kHostWaits,
  kHostReturns,
  kHostAsksToSend,
  kHostSends,
  // The NIC's
  kNicLooks,
  kNicLooksAtTransmit,
  kDelivers,
  kGrants,
  kYields,
  kRetires,
  kPreempts,
  kResumes,
  kKills,
  kDropsClosed,
  // Of the world
  kArrives,
  kStalls,
  kStallsTransmit,
  kBoundPasses,
  kNicRestarts,
  kProcessDies,
  kAnswerIsLost,
  kReturnIsLost,
};

class World {
 public:
  explicit World(const Config& config);

  void Moves(std::vector<Move>& moves) const;
  void Apply(Move move);
  bool Benign(Move move) const;
  std::string Key() const;
  uint32_t violated() const { return violated_; }
  bool Resolved() const;
  std::string Describe(Move move) const;
  std::string Summary() const;

 private:
  static constexpr Geometry kGeometry = {.overflow_lines = 0};
  static constexpr size_t kMemoryBytes = kGeometry.Bytes();
  static constexpr uint64_t kStallNs = 1000;
  static constexpr uint64_t kLeaveNs = 10;
  static constexpr size_t kQueue = 1;  ///< Requests that the dispatcher holds; more are dropped.
  static constexpr size_t kMaxRequests = 4;

  enum class Ending : uint8_t {
    kNone,
    kDropped,
    kAnswered,
    kUnanswered,
    kMalformed,
    kLost,
    kForgotten
  };
  struct Ghost {
    uint8_t process = 0;
    uint8_t executed = 0;
    bool replied = false;  ///< The host wrote a reply.
    Ending ending = Ending::kNone;
  };
  /// An endpoint with both its ends, and what the observer knows of it.
  struct Endpoint {
    Endpoint(const Config& config, uint8_t process);
    Endpoint(const Endpoint& other);
    Endpoint& operator=(const Endpoint&) = delete;

    EndpointMemory Memory() { return view.At(memory.data()); }
    uint64_t Control(Pair pair, uint64_t number) const;

    alignas(kLineBytes) std::array<uint8_t, kMemoryBytes> memory{};
    EndpointMemory view;
    NicEnd nic;
    HostEnd host;
    bool alive = true;
    bool asked = false;           ///< To leave, and has not.
    bool harmed = false;          ///< A line of it was lost.
    uint8_t lent = 0;             ///< Lines of the receive pair that are the host's, by bit.
    uint8_t serial = 0;           ///< What is lent, for this NIC end; 0: nothing.
    uint8_t sent = 0, taken = 0;  ///< Frames.
  };
  using Controls = std::array<uint64_t, 2 * kPairs>;

  void Violate(Property property) { violated_ |= 1u << property; }
  static Controls ControlsOf(const Endpoint& endpoint);
  void Act(Move move, Endpoint& endpoint);
  void HostWaits(Endpoint& endpoint, uint8_t process);
  void HostReturns(Endpoint& endpoint);
  void HostSends(Endpoint& endpoint);
  void Arrive();
  void Deliver(Endpoint& endpoint, uint8_t process);
  void Look(Endpoint& endpoint, Pair pair, uint64_t now_ns);
  void Returned(Endpoint& endpoint);
  void FramesReturned(Endpoint& endpoint);
  void PassBound(Endpoint& endpoint);
  void Closed(Endpoint& endpoint);
  void RestartNic();
  void Lose(Endpoint& endpoint, uint64_t number);
  void End(uint8_t serial, Ending ending);
  void CheckWrites(Move move, const Endpoint& endpoint, const Controls& before);
  void CheckStates(const Endpoint& endpoint);

  const Config* config_;
  std::vector<Endpoint> endpoints_;
  std::vector<uint8_t> queue_;  ///< Serials.
  std::array<Ghost, kMaxRequests + 1> ghosts_{};
  uint8_t serial_ = 0;  ///< Of the last request.
  uint8_t stalls_ = 0, preempts_ = 0, yields_ = 0, nic_restarts_ = 0, deaths_ = 0, kills_ = 0,
          losses_ = 0;
  bool restarted_ = false;
  uint32_t violated_ = 0;
};

}  // namespace sluice::coherent::test
