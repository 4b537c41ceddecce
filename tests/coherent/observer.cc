// SPDX-License-Identifier: BSD-3-Clause
//
// The observer: checks the invariants after every move, and converts worlds to keys and to text.
#include <cstdio>

#include "world.h"

namespace sluice::coherent::test {
namespace {

constexpr const char* kMoveNames[] = {"host waits",
                                      "host returns",
                                      "host asks to send",
                                      "host sends",
                                      "NIC looks",
                                      "NIC looks at the transmit pair",
                                      "NIC delivers",
                                      "NIC grants",
                                      "NIC says YIELDNOW",
                                      "NIC says RETIRE",
                                      "NIC preempts",
                                      "NIC resumes",
                                      "NIC kills",
                                      "NIC drops frames for a closed endpoint",
                                      "a request arrives",
                                      "a load has waited long enough",
                                      "a load of the transmit pair has waited long enough",
                                      "the bound for leaving passes",
                                      "the NIC starts again",
                                      "the process ends",
                                      "the answer is lost",
                                      "the returned line is lost"};
constexpr const char* kStateNames[] = {
    "away",    "loading", "lent",  "asked-away", "asked-lent", "preempted", "closed",
    "outside", "waiting", "empty", "holding",    "written",    "stopped"};
static_assert(std::size(kStateNames) == kStates);

const char* Name(State state) { return kStateNames[static_cast<size_t>(state)]; }

bool IsHosts(uint8_t kind) { return kind <= kHostSends; }
bool IsLoss(uint8_t kind) { return kind == kAnswerIsLost || kind == kReturnIsLost; }

}  // namespace

const char* PropertyName(uint8_t property) {
  constexpr const char* kNames[] = {
      "exclusion",  "executed at most once", "answered at most once", "isolation",
      "preemption", "one named ending",      "no false fault"};
  static_assert(std::size(kNames) == kProperties);
  return kNames[property];
}

World::Controls World::ControlsOf(const Endpoint& endpoint) {
  return {endpoint.Control(Pair::kReceive, 0), endpoint.Control(Pair::kReceive, 1),
          endpoint.Control(Pair::kTransmit, 0), endpoint.Control(Pair::kTransmit, 1)};
}

// The NIC may write only to lines that the host loads, and the host only to the line that is lent
// to it.
void World::CheckWrites(Move move, const Endpoint& endpoint, const Controls& before) {
  if (IsLoss(move.kind) || move.kind == kNicRestarts) return;
  const Controls after = ControlsOf(endpoint);
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i] == before[i]) continue;
    const auto pair = static_cast<Pair>(i / 2);
    const State host = endpoint.host.state(pair);
    const State nic = endpoint.nic.state(pair);
    const bool lent = nic == State::kLent || nic == State::kAskedLent;
    const bool owned =
        IsHosts(move.kind)
            ? endpoint.nic.closed() || (lent && (endpoint.nic.number(pair) & 1) == i % 2)
            : !endpoint.alive || host == State::kStopped ||
                  (host == State::kWaiting && (endpoint.host.number(pair) & 1) == i % 2);
    if (!owned) Violate(kExclusion);
  }
}

void World::CheckStates(const Endpoint& endpoint) {
  const State host = endpoint.host.state(Pair::kReceive);
  const bool inside = host != State::kOutside && host != State::kStopped;
  const bool gone = endpoint.nic.state(Pair::kReceive) == State::kPreempted;
  if (gone && endpoint.alive && inside) Violate(kPreemption);
  if (endpoint.lent == 3) Violate(kExclusion);
  const NicCounters& counters = endpoint.nic.counters(Pair::kReceive);
  const uint64_t lent = endpoint.serial != 0;
  if (counters.delivered !=
      counters.replied + counters.unreplied + counters.malformed + counters.lost + lent) {
    Violate(kEnding);
  }
}

void World::End(uint8_t serial, Ending ending) {
  Ghost& ghost = ghosts_[serial];
  if (ghost.ending != Ending::kNone) Violate(kEnding);
  ghost.ending = ending;
  const bool executes = ending == Ending::kAnswered || ending == Ending::kUnanswered;
  if (executes && ghost.executed != 1) Violate(kAnswer);
}

// Frames return in order, each exactly once. A restarted NIC may lose frames that it had accepted.
void World::FramesReturned(Endpoint& endpoint) {
  const coherent::Returned& back = endpoint.nic.returned(Pair::kTransmit);
  if (back.kind != Kind::kFrames) return Violate(kSound);
  const uint64_t next = endpoint.frames_returned + 1u;
  if (restarted_ ? back.status < next : back.status != next) Violate(kAnswer);
  endpoint.frames_returned = static_cast<uint8_t>(back.status);
}

void World::Returned(Endpoint& endpoint) {
  const coherent::Returned& back = endpoint.nic.returned(Pair::kReceive);
  endpoint.lent = 0;
  if (!back.tag) {
    if (!restarted_) Violate(kEnding);
    return;
  }
  const auto serial = static_cast<uint8_t>(*back.tag);
  if (serial != endpoint.serial) Violate(kEnding);
  endpoint.serial = 0;
  Ghost& ghost = ghosts_[serial];
  switch (back.kind) {
    case Kind::kReply:
      if (back.status != serial || !ghost.replied) Violate(kAnswer);
      return End(serial, Ending::kAnswered);
    case Kind::kNoReply:
      if (ghost.replied) Violate(kAnswer);
      return End(serial, Ending::kUnanswered);
    default:
      if (!endpoint.harmed) Violate(kSound);
      return End(serial, Ending::kMalformed);
  }
}

void World::Closed(Endpoint& endpoint) {
  endpoint.asked = false;
  const std::optional<uint64_t> lost = endpoint.nic.ConsumeLost(Pair::kReceive);
  const uint8_t serial = endpoint.serial;
  endpoint.serial = 0;
  endpoint.lent = 0;
  if (lost.value_or(0) != serial) return Violate(kEnding);
  if (serial == 0) return;
  if (config_->deliver_again) {
    queue_.insert(queue_.begin(), serial);
    return;
  }
  End(serial, Ending::kLost);
}

bool World::Resolved() const {
  if (!queue_.empty()) return false;
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    if (ghosts_[serial].ending == Ending::kNone) return false;
  }
  for (const Endpoint& endpoint : endpoints_) {
    const State host = endpoint.host.state(Pair::kReceive);
    const bool alive = endpoint.alive && host != State::kStopped;
    if (endpoint.nic.closed() == alive) return false;
    if (endpoint.nic.closed()) continue;
    // Both ends are ready for the next request, and the NIC has received each sent frame.
    if (!endpoint.nic.Waits(Pair::kReceive) || host != State::kWaiting) return false;
    const bool all_sent = endpoint.sent == config_->frames;
    if (!all_sent || (!restarted_ && endpoint.frames_returned != endpoint.sent)) return false;
  }
  return true;
}

std::string World::Key() const {
  std::string key;
  const auto put = [&key](auto... values) { ((key += static_cast<char>(values)), ...); };
  put(serial_, stalls_, preempts_, yields_, nic_restarts_, deaths_, kills_, losses_, violated_,
      queue_.size());
  for (const uint8_t serial : queue_) put(serial);
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    const Ghost& ghost = ghosts_[serial];
    put(ghost.executed | ghost.replied << 4, ghost.ending);
  }
  for (const Endpoint& endpoint : endpoints_) {
    const EndpointHeader& header = endpoint.view.header();
    put(header.host[0].busy | header.ready << 1,
        endpoint.alive | endpoint.asked << 1 | endpoint.harmed << 2 | endpoint.lent << 3,
        endpoint.serial, endpoint.sent, endpoint.frames_returned);
    for (const Pair pair : {Pair::kReceive, Pair::kTransmit}) {
      // Only the distance and the parity of numbers matter. All numbers far in the past are
      // equivalent.
      const uint64_t base = endpoint.nic.number(pair) & ~uint64_t{1};
      const auto near = [base](uint64_t number) {
        return number + 2 < base ? uint64_t{100} : number + 2 - base;
      };
      put(endpoint.nic.state(pair), near(endpoint.nic.number(pair)), endpoint.host.state(pair),
          near(endpoint.host.number(pair)), near(header.host[static_cast<size_t>(pair)].load));
      for (uint64_t line = 0; line < 2; ++line) {
        const coherent::Control control = coherent::Control::Of(endpoint.Control(pair, line));
        put(near(control.number), control.kind, endpoint.view.line(pair, line).code);
      }
    }
    put(endpoint.host.content().code);
  }
  return key;
}

std::string World::Describe(Move move) const {
  return std::string(kMoveNames[move.kind]) +
         (endpoints_.size() > 1 ? " at endpoint " + std::to_string(move.index) : "");
}

std::string World::Summary() const {
  std::string text;
  for (const Endpoint& endpoint : endpoints_) {
    char line[160];
    std::snprintf(line, sizeof(line), "NIC %s(%llu), host %s(%llu)%s%s; ",
                  Name(endpoint.nic.state(Pair::kReceive)),
                  static_cast<unsigned long long>(endpoint.nic.number(Pair::kReceive)),
                  Name(endpoint.host.state(Pair::kReceive)),
                  static_cast<unsigned long long>(endpoint.host.number(Pair::kReceive)),
                  endpoint.alive ? "" : " dead", endpoint.asked ? " asked" : "");
    text += line;
  }
  constexpr const char* kEndings[] = {"-",         "dropped", "answered", "unanswered",
                                      "malformed", "lost",    "forgotten"};
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    text += "request " + std::to_string(serial) + ": " +
            kEndings[static_cast<size_t>(ghosts_[serial].ending)] + "; ";
  }
  for (uint8_t bit = 0; bit < kProperties; ++bit) {
    if ((violated_ >> bit & 1) != 0) text += std::string("  BROKEN: ") + PropertyName(bit);
  }
  return text;
}

}  // namespace sluice::coherent::test
