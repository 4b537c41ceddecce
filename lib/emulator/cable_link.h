// SPDX-License-Identifier: BSD-3-Clause
//
// How the two ends of a cable find each other, and notice that the other is gone. The first end
// listens at a UNIX socket that the cable's name leads to; the second connects, hands over memory
// for both directions and is told that it is joined. From then on the socket says one thing: that
// the other end lives. When it is gone the survivor listens, so that it may come back.
//
// Nothing waits but Start. Both sides take each other's messages and files as hostile.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bar/ring_memory.h"
#include "emulator/cable_lane.h"
#include "emulator/channel.h"
#include "emulator/gen_options.h"
#include "emulator/guarded_range.h"
#include "emulator/listener.h"

namespace sluice::emulator {

/// What the ends share: a new file of zeroes for each time that they are joined.
struct CableMemory {
  static constexpr size_t kBytes = bar::RingMemory::kHugePageBytes;  ///< Of the file.

  CableLane from_connecting;
  CableLane from_listening;
};
static_assert(sizeof(CableMemory) <= CableMemory::kBytes);

/// One message each way: the connecting end's, with the file, and the answer to it.
struct CableMessage {
  uint32_t magic = 0x6c62'6163;  ///< "cabl".
  uint16_t version = 1;          ///< Raised with every change of this struct or of CableMemory.
  uint16_t refused = 0;          ///< 1: `text` says why, in one line.
  uint8_t mac[6] = {};           ///< Of the model at this end.
  uint8_t reserved[2] = {};
  char text[192] = {};
};
static_assert(std::has_unique_object_representations_v<CableMessage>);

/// Used by one thread.
class CableLink {
 public:
  /// `path`: of the socket. `who` begins each line of the log: the model and the cable.
  CableLink(std::string path, std::string who, const MacAddress& mac)
      : path_(std::move(path)), who_(std::move(who)), mac_(mac) {}
  CableLink(const CableLink&) = delete;
  CableLink& operator=(const CableLink&) = delete;

  /// Connects, or listens if nobody does. Waits so long for the answer of an end that listens; if
  /// none comes, Turn goes on waiting. False, with one line in `error`, if two others are joined
  /// already or no socket can be at the path.
  bool Start(std::chrono::milliseconds patience, std::string* error);

  /// Does what there is to do by now; never waits. `now_ns` never goes back.
  void Turn(uint64_t now_ns);

  /// Both ends are there.
  bool joined() const { return state_ == State::kJoined; }
  /// They were, and the memory is still mapped: until Release.
  bool cut() const { return state_ == State::kCut; }
  /// Ends the connection. `why`: what the other end did.
  void Cut(std::string_view why);
  /// Unmaps the memory of a cut cable; the next end may join.
  void Release();

  // While joined or cut:
  CableLane& transmit() { return connected_ ? memory().from_connecting : memory().from_listening; }
  CableLane& receive() { return connected_ ? memory().from_listening : memory().from_connecting; }
  const MacAddress& peer_mac() const { return peer_mac_; }

 private:
  enum class State { kAlone, kAsking, kJoined, kCut };
  /// For what the connecting end says first, and between two attempts of one that was refused.
  static constexpr uint64_t kPatience_ns = 2'000'000'000;

  /// What both ends have mapped.
  struct Shared {
    LossAlarm alarm;  ///< Rings when the other end took some of it away.
    bar::RingMemory memory;
    GuardedRange guard;
  };
  /// Somebody who connected.
  struct Newcomer {
    Channel channel;
    pid_t pid;
    uint64_t deadline_ns;  ///< For its message.
  };

  CableMemory& memory() {
    return *std::launder(reinterpret_cast<CableMemory*>(shared_->memory.data()));
  }
  /// Takes the memory; null, or why that is impossible.
  const char* Share(bar::RingMemory memory);

  /// Connects to who listens. False if nobody does; `error` is set if it may not be the other end.
  bool Ask(std::string* error);
  /// Reads the answer, if it is there. False, with one line in `error`, if it is a refusal.
  bool HearAnswer(std::chrono::milliseconds patience, std::string* error);
  void Seek(uint64_t now_ns);
  bool BeginListening(std::string* error);
  void Accept(uint64_t now_ns);
  void Greet(uint64_t now_ns);
  void Refuse(Newcomer& newcomer, const std::string& why);
  void Join(pid_t peer, const uint8_t mac[6]);
  void Say(uint32_t level, std::string_view what) const;

  const std::string path_;
  const std::string who_;
  const MacAddress mac_;
  State state_ = State::kAlone;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Newcomer> newcomer_;
  Channel channel_;         ///< To the other end, when asking and joined.
  bool connected_ = false;  ///< This end connected, and the other listened.
  pid_t peer_ = 0;
  MacAddress peer_mac_ = {};
  std::unique_ptr<Shared> shared_;
  std::string said_;  ///< The last refusal, which is not repeated.
  uint64_t next_seek_ns_ = 0;
};

}  // namespace sluice::emulator
