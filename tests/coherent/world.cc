// SPDX-License-Identifier: BSD-3-Clause
//
// The adversary: enumerates the possible moves and applies them.
#include "world.h"

#include <algorithm>

namespace sluice::coherent::test {

World::Endpoint::Endpoint(const Config& config, uint8_t process)
    : view(EndpointMemory::Format(memory, kGeometry)),
      nic(view, {.process = process, .try_again_ns = kStallNs, .leave_ns = kLeaveNs}, 0,
          *config.machine),
      host(view, WaitMethod::kPause, *config.machine) {}

World::Endpoint::Endpoint(const Endpoint& other)
    : memory(other.memory),
      view(other.view.At(memory.data())),
      nic(other.nic),
      host(other.host),
      alive(other.alive),
      asked(other.asked),
      harmed(other.harmed),
      lent(other.lent),
      serial(other.serial),
      sent(other.sent),
      frames_returned(other.frames_returned) {
  nic.MoveTo(view);
  host.MoveTo(view);
}

uint64_t World::Endpoint::Control(Pair pair, uint64_t number) const {
  return view.line(pair, number).control;
}

World::World(const Config& config) : config_(&config) {
  endpoints_.reserve(static_cast<size_t>(config.processes));
  for (int i = 0; i < config.processes; ++i) {
    endpoints_.emplace_back(config, static_cast<uint8_t>(i));
  }
}

void World::Moves(std::vector<Move>& moves) const {
  const Config& config = *config_;
  if (serial_ < config.requests) moves.push_back({kArrives, 0});
  if (nic_restarts_ < config.nic_restarts) moves.push_back({kNicRestarts, 0});
  for (uint8_t i = 0; i < endpoints_.size(); ++i) {
    const auto add = [&moves, i](bool possible, MoveKind kind) {
      if (possible) moves.push_back({kind, i});
    };
    const Endpoint& endpoint = endpoints_[i];
    const NicEnd& nic = endpoint.nic;
    const HostEnd& host = endpoint.host;
    const bool alive = endpoint.alive && host.state(Pair::kReceive) != State::kStopped;
    add(alive, kHostWaits);
    add(alive && host.state(Pair::kReceive) == State::kHolding, kHostReturns);
    add(alive && endpoint.sent < config.frames, kHostAsksToSend);
    add(alive && endpoint.sent < config.frames && host.state(Pair::kTransmit) == State::kHolding,
        kHostSends);
    add(alive && deaths_ < config.deaths, kProcessDies);
    if (nic.closed()) {
      add(!queue_.empty() && ghosts_[queue_.front()].process == i, kDropsClosed);
      continue;
    }
    add(true, kNicLooks);
    add(config.frames > 0, kNicLooksAtTransmit);
    add(!queue_.empty(), kDelivers);
    add(config.frames > 0, kGrants);
    add(yields_ < config.yields, kYields);
    add(yields_ < config.yields, kRetires);
    add(preempts_ < config.preempts, kPreempts);
    add(nic.state(Pair::kReceive) == State::kPreempted, kResumes);
    add(!alive || kills_ < config.kills, kKills);
    add(stalls_ < config.stalls && nic.Waits(Pair::kReceive), kStalls);
    add(stalls_ < config.stalls && nic.Waits(Pair::kTransmit), kStallsTransmit);
    add(endpoint.asked, kBoundPasses);
    const bool waits = alive && host.state(Pair::kReceive) == State::kWaiting;
    add(waits && losses_ < config.losses, kAnswerIsLost);
    add(waits && losses_ < config.losses &&
            nic.number(Pair::kReceive) < host.number(Pair::kReceive),
        kReturnIsLost);
  }
}

bool World::Benign(Move move) const {
  switch (move.kind) {
    case kHostWaits:
    case kHostReturns:
    case kHostAsksToSend:
    case kHostSends:
    case kNicLooks:
    case kNicLooksAtTransmit:
    case kDelivers:
    case kGrants:
    case kResumes:
    case kDropsClosed:
      return true;
    case kKills: {  // The process is gone, or its host end has stopped.
      const Endpoint& endpoint = endpoints_[move.index];
      return !endpoint.alive || endpoint.host.state(Pair::kReceive) == State::kStopped;
    }
    default:
      return false;
  }
}

void World::Apply(Move move) {
  Endpoint& endpoint = endpoints_[move.index];
  const Controls before = ControlsOf(endpoint);
  Act(move, endpoint);
  CheckWrites(move, endpoint, before);
  for (const Endpoint& each : endpoints_) CheckStates(each);
}

void World::Act(Move move, Endpoint& endpoint) {
  NicEnd& nic = endpoint.nic;
  switch (move.kind) {
    case kHostWaits:
      return HostWaits(endpoint, move.index);
    case kHostReturns:
      return HostReturns(endpoint);
    case kHostAsksToSend:
      endpoint.host.Grant(0);
      return;
    case kHostSends:
      return HostSends(endpoint);
    case kNicLooks:
      return Look(endpoint, Pair::kReceive, 0);
    case kNicLooksAtTransmit:
      return Look(endpoint, Pair::kTransmit, 0);
    case kDelivers:
      return Deliver(endpoint, move.index);
    case kGrants:
      nic.Deliver(Pair::kTransmit, {.kind = Kind::kGrant}, move.index, 0);
      return;
    case kYields:
      yields_ += nic.YieldNow();
      return;
    case kRetires:
      yields_ += nic.Retire();
      return;
    case kPreempts:
      endpoint.asked |= nic.Preempt(0);
      ++preempts_;
      return;
    case kResumes:
      nic.Resume();
      return;
    case kKills:
      kills_ += endpoint.alive && endpoint.host.state(Pair::kReceive) != State::kStopped;
      nic.Kill();
      return Closed(endpoint);
    case kDropsClosed:
      End(queue_.front(), Ending::kDropped);
      queue_.erase(queue_.begin());
      return;
    case kArrives:
      return Arrive();
    case kStalls:
      ++stalls_;
      return Look(endpoint, Pair::kReceive, kStallNs);
    case kStallsTransmit:
      ++stalls_;
      return Look(endpoint, Pair::kTransmit, kStallNs);
    case kBoundPasses:
      return PassBound(endpoint);
    case kNicRestarts:
      return RestartNic();
    case kProcessDies:
      ++deaths_;
      endpoint.alive = false;
      return;
    case kAnswerIsLost:
      return Lose(endpoint, endpoint.host.number(Pair::kReceive));
    default:
      return Lose(endpoint, endpoint.host.number(Pair::kReceive) - 1);
  }
}

void World::HostWaits(Endpoint& endpoint, uint8_t process) {
  if (endpoint.host.Wait(0) != Got::kContent) return;
  // The host end was waiting, so this content must be new: the host end does not return content
  // twice.
  const auto serial = static_cast<uint8_t>(endpoint.host.content().code);
  if (serial == 0 || serial > serial_) return Violate(kExecution);
  Ghost& ghost = ghosts_[serial];
  if (++ghost.executed > 1) Violate(kExecution);
  if (ghost.process != process) Violate(kIsolation);
}

void World::HostReturns(Endpoint& endpoint) {
  const uint64_t serial = endpoint.host.content().code;
  if (!endpoint.host.Return({.kind = Kind::kReply, .code = serial})) return;
  ghosts_[serial].replied = true;
}

void World::HostSends(Endpoint& endpoint) {
  const auto next = static_cast<uint64_t>(endpoint.sent + 1);
  if (endpoint.host.Send({.kind = Kind::kFrames, .count = 1, .code = next})) ++endpoint.sent;
}

void World::Arrive() {
  const uint8_t serial = ++serial_;
  ghosts_[serial].process = static_cast<uint8_t>((serial - 1) % endpoints_.size());
  if (queue_.size() == kQueue) return End(serial, Ending::kDropped);
  queue_.push_back(serial);
}

// A faulty dispatcher offers a request to every endpoint; the endpoint must reject foreign ones.
void World::Deliver(Endpoint& endpoint, uint8_t process) {
  const uint8_t serial = queue_.front();
  const uint8_t whose = config_->any_process ? process : ghosts_[serial].process;
  if (!endpoint.nic.Deliver(Pair::kReceive, {.kind = Kind::kRequest, .code = serial}, whose,
                            serial)) {
    return;
  }
  queue_.erase(queue_.begin());
  if (endpoint.lent != 0) Violate(kExclusion);
  endpoint.lent |= static_cast<uint8_t>(1 << (endpoint.nic.number(Pair::kReceive) & 1));
  endpoint.serial = serial;
}

void World::Look(Endpoint& endpoint, Pair pair, uint64_t now_ns) {
  switch (endpoint.nic.Look(pair, now_ns)) {
    case Seen::kReturned:
      return pair == Pair::kReceive ? Returned(endpoint) : FramesReturned(endpoint);
    case Seen::kLeft:
      endpoint.asked = false;
      return;
    case Seen::kOverdue:
      if (endpoint.view.header().host[0].busy == 0) Violate(kPreemption);
      return Closed(endpoint);
    case Seen::kFault:
      Violate(kSound);
      return Closed(endpoint);
    default:
      return;
  }
}

void World::PassBound(Endpoint& endpoint) {
  // The NIC polls after the bound has passed. A load that the host made earlier must still count,
  // so the endpoint must not be closed.
  for (int looks = 0; looks < 3; ++looks) Look(endpoint, Pair::kReceive, kLeaveNs);
  if (endpoint.asked) Violate(kPreemption);
}

void World::RestartNic() {
  ++nic_restarts_;
  restarted_ = true;
  for (const uint8_t serial : queue_) End(serial, Ending::kForgotten);
  queue_.clear();
  for (uint8_t i = 0; i < endpoints_.size(); ++i) {
    Endpoint& endpoint = endpoints_[i];
    if (endpoint.serial != 0) End(endpoint.serial, Ending::kForgotten);
    endpoint.serial = 0;
    if (config_->resume_early && endpoint.lent != 0) {
      endpoint.Memory().line(Pair::kReceive, endpoint.nic.number(Pair::kReceive)).control = 0;
    }
    endpoint.nic =
        NicEnd(endpoint.view, {.process = i, .try_again_ns = kStallNs, .leave_ns = kLeaveNs}, 0,
               *config_->machine);
    const State state = endpoint.nic.state(Pair::kReceive);
    endpoint.asked = state == State::kAskedAway || state == State::kAskedLent;
    // The restarted NIC ignores a return that its predecessor had not processed.
    if (state == State::kLoading || state == State::kAskedAway) endpoint.lent = 0;
  }
}

// Sets the control word of a line to all ones, the value that a load returns if the device does not
// answer.
void World::Lose(Endpoint& endpoint, uint64_t number) {
  ++losses_;
  endpoint.harmed = true;
  endpoint.Memory().line(Pair::kReceive, number).control = kPoison;
}

}  // namespace sluice::coherent::test
