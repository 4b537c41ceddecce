// SPDX-License-Identifier: BSD-3-Clause
//
// Connects the two ends of a cable and detects the loss of an end. The first end listens on a UNIX
// socket at the cable's path. The second end connects, passes memory for both directions and
// receives a reply that confirms the connection. After that, the socket only shows that the other
// end is alive. When one end is gone, the other listens, so that the lost end can return.
//
// Only Start() waits. Both ends treat each other's messages and files as untrusted.
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

/// The memory that the ends share. Each join uses a new zeroed file.
struct CableMemory {
  static constexpr size_t kBytes = bar::RingMemory::kHugePageBytes;  ///< Size of the file.

  CableLane from_connecting;
  CableLane from_listening;
};
static_assert(sizeof(CableMemory) <= CableMemory::kBytes);

/// The message that the connecting end sends, with the file attached, and the answer to it.
struct CableMessage {
  uint32_t magic = 0x6c62'6163;  ///< "cabl".
  uint16_t version = 1;          ///< Must be incremented with every change of this struct or of
                                 ///< CableMemory.
  uint16_t refused = 0;          ///< 1: `text` contains a one-line reason.
  uint8_t mac[6] = {};           ///< Address of the sender's model.
  uint8_t reserved[2] = {};
  char text[192] = {};
};
static_assert(std::has_unique_object_representations_v<CableMessage>);

/// One end's connection to the other end. Used by one thread.
class CableLink {
 public:
  /// `path` is the path of the socket. `who` (the model and the cable) is the prefix of each log
  /// message.
  CableLink(std::string path, std::string who, const MacAddress& mac)
      : path_(std::move(path)), who_(std::move(who)), mac_(mac) {}
  CableLink(const CableLink&) = delete;
  CableLink& operator=(const CableLink&) = delete;

  /// Connects, or listens if no process does. Waits up to `patience` for a listening end's answer;
  /// after that, Turn continues to wait. If two other ends are already joined, another user's
  /// process is listening, there is not enough memory, or a socket cannot be created at the path,
  /// returns false and sets `error` to a one-line message.
  bool Start(std::chrono::milliseconds patience, std::string* error);

  /// Does the pending work without waiting. `now_ns` must not decrease.
  void Turn(uint64_t now_ns);

  /// Returns whether both ends are connected.
  bool joined() const { return state_ == State::kJoined; }
  /// Returns whether the connection has ended and its memory is still mapped. Release() ends this
  /// state.
  bool cut() const { return state_ == State::kCut; }
  /// Ends the connection. `why` describes what the other end did wrong.
  void Cut(std::string_view why);
  /// Unmaps the memory of an ended connection, so that another end can join.
  void Release();

  // The following functions may be called only while joined or cut.
  CableLane& transmit() { return connected_ ? memory().from_connecting : memory().from_listening; }
  CableLane& receive() { return connected_ ? memory().from_listening : memory().from_connecting; }
  const MacAddress& peer_mac() const { return peer_mac_; }

 private:
  enum class State { kAlone, kAsking, kJoined, kCut };
  /// Time limit for the connecting end's first message; also the interval between attempts after a
  /// refusal.
  static constexpr uint64_t kPatience_ns = 2'000'000'000;

  /// The memory that both ends have mapped.
  struct Shared {
    LossAlarm alarm;  ///< Triggered when the other end has removed memory.
    bar::RingMemory memory;
    GuardedRange guard;
  };
  /// A process that has connected but has not sent its message yet.
  struct Newcomer {
    Channel channel;
    pid_t pid;
    uint64_t deadline_ns;  ///< Time limit for the newcomer's message.
  };

  CableMemory& memory() {
    return *std::launder(reinterpret_cast<CableMemory*>(shared_->memory.data()));
  }
  /// Stores the memory. Returns null, or the reason why this failed.
  const char* Share(bar::RingMemory memory);

  /// Connects to a listening process and sends the request. Returns false if no process is
  /// listening. Also returns false, and sets `error`, if the process belongs to another user or
  /// there is not enough memory.
  bool Ask(std::string* error);
  /// Waits up to `patience` for the answer and reads it. If the answer is a refusal, returns false
  /// and sets `error` to a one-line message. Returns true if no answer has arrived or the other end
  /// is gone.
  bool HearAnswer(std::chrono::milliseconds patience, std::string* error);
  void Seek(uint64_t now_ns);
  bool BeginListening(std::string* error);
  void Accept(uint64_t now_ns);
  void Greet(uint64_t now_ns);
  void Refuse(Newcomer& newcomer, const std::string& why);
  void Join(pid_t peer, const uint8_t mac[6]);
  void LogMessage(uint32_t level, std::string_view what) const;

  const std::string path_;
  const std::string who_;
  const MacAddress mac_;
  State state_ = State::kAlone;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Newcomer> newcomer_;
  Channel channel_;         ///< Connection to the other end, while asking or joined.
  bool connected_ = false;  ///< This end connected, and the other end was listening.
  pid_t peer_ = 0;
  MacAddress peer_mac_ = {};
  std::unique_ptr<Shared> shared_;
  std::string logged_;  ///< The refusal that was logged last, so that it is not logged again.
  uint64_t next_seek_ns_ = 0;
};

}  // namespace sluice::emulator
