// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the two real ends of each endpoint on real memory. An adversary schedules the hosts, the
// NIC, its dispatcher, clocks, process deaths, NIC restarts and lost lines. An observer checks the
// invariants after each move.
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

/// Bit numbers in World::violated().
enum Property : uint8_t {
  kExclusion,   ///< An end writes to a line that the peer owns, or the host owns both lines.
  kExecution,   ///< A request is executed more than once.
  kAnswer,      ///< A request is answered twice, with a wrong reply, or without a reply.
  kIsolation,   ///< A process sees a request of another process.
  kPreemption,  ///< The NIC treats a host as gone while it uses the endpoint, or keeps the endpoint
                ///< open past the bound.
  kEnding,      ///< A request ends twice, or is counted under the wrong ending.
  kSound,       ///< An end reports a fault although its peer is honest.
};
inline constexpr uint8_t kProperties = 7;
const char* PropertyName(uint8_t property);

/// The moves that the adversary may make, and their limits.
struct Config {
  const Machine* machine = &kMachine;
  int processes = 1;  ///< Number of processes; each has one endpoint.
  int requests = 2;   ///< Number of requests; the processes get them in rotation.
  int stalls = 1;     ///< Maximum number of loads that wait until the NIC answers TRYAGAIN.
  int preempts = 0;
  int yields = 0;  ///< Maximum number of YIELDNOW and RETIRE answers without preemption.
  int nic_restarts = 0;
  int deaths = 0;  ///< Maximum number of process deaths.
  int kills = 0;   ///< Maximum number of endpoints that are killed while their process lives.
  int losses = 0;  ///< Maximum number of lost lines.
  int frames = 0;  ///< Number of frames that each host sends.
  // Unsafe settings.
  bool any_process = false;    ///< The dispatcher names the endpoint's process, not the request's.
  bool deliver_again = false;  ///< A request that was lost with a process is delivered again.
  bool resume_early = false;   ///< A restarted NIC treats a lent line as not yet answered.
};

enum MoveKind : uint8_t {
  // Moves of the hosts; the index is the endpoint.
  kHostWaits,
  kHostReturns,
  kHostAsksToSend,
  kHostSends,
  // Moves of the NIC.
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
  // Moves of the environment.
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
  /// Capacity of the dispatcher's queue; further requests are dropped.
  static constexpr size_t kQueue = 1;
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
  /// An endpoint with both ends, and the observer's state for it.
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
    bool asked = false;                     ///< The host was asked to leave and has not left.
    bool harmed = false;                    ///< A line of the endpoint was lost.
    uint8_t lent = 0;                       ///< Bit mask of the receive lines that the host owns.
    uint8_t serial = 0;                     ///< Serial lent by this NIC end; 0 without one.
    uint8_t sent = 0, frames_returned = 0;  ///< Frame counts.
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
  std::vector<uint8_t> queue_;  ///< Serials of the queued requests.
  std::array<Ghost, kMaxRequests + 1> ghosts_{};
  uint8_t serial_ = 0;  ///< Serial of the last request.
  uint8_t stalls_ = 0, preempts_ = 0, yields_ = 0, nic_restarts_ = 0, deaths_ = 0, kills_ = 0,
          losses_ = 0;
  bool restarted_ = false;
  uint32_t violated_ = 0;
};

}  // namespace sluice::coherent::test
