// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that come in frames, and whose answers come later, from elsewhere: parts (part.h) are
// put together, whoever works on messages takes them by flow, and each answer leaves in the order
// of its parts, to whom the message came from. Bounded: memory is that of the messages that may be
// here. A nic::FrameEngine.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/messages/part.h"
#include "engine/neighbor/own_addresses.h"
#include "engine/workload/histogram.h"
#include "packet/datagram.h"
#include "packet/frame.h"
#include "packet/outbox.h"

namespace sluice::engine::messages {

/// Of messages that were whole: each is answered or unanswered, once it is not here any more.
struct MessageCounts {
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t answered = 0;
  uint64_t answered_bytes = 0;
  uint64_t unanswered = 0;  ///< There was no answer in time.
  // Beside them:
  uint64_t incomplete = 0;  ///< Messages of which parts did not come in time, or came anew.
  uint64_t late = 0;        ///< Answers to what had ended: another copy's, or too late.
  uint64_t unsent = 0;      ///< Of `answered`: the interface did not take all parts.
};

/// One thread; others read counts() and latency().
class MessageServer {
 public:
  /// What is not UDP, or not for a flow, is somebody else's.
  enum Reason : uint8_t {
    kMalformed,
    kBadChecksum,
    kFragment,
    kOptions,
    kNoMessage,    ///< It has no header of a part.
    kBadPart,      ///< Its length or its offset is a lie.
    kTooLong,      ///< The message is longer than its flow's messages may be.
    kPartMissing,  ///< Parts before it have not come, or it has come before.
    kBusy,         ///< As many messages are here as may be.
    kReasons
  };
  static constexpr std::array<std::string_view, kReasons> kDropReasons{
      "malformed", "bad_checksum", "fragment",     "ip_options", "no_message",
      "bad_part",  "too_long",     "part_missing", "busy"};

  /// Datagrams to a port; the first flow with a match gets them.
  struct Flow {
    uint16_t port = 0;     ///< 0: any.
    uint32_t longest = 0;  ///< Bytes of a message.
  };
  struct Options {
    std::vector<Flow> flows;
    uint32_t messages = 0;        ///< That are here at most; up to kMostMessages.
    uint64_t timeout_cycles = 0;  ///< For the parts of a message; for its answer.
    uint64_t cycles_hz = 0;       ///< Of `now`.
  };
  static constexpr uint32_t kMostMessages = 1u << 12;
  /// Bits of the number that a message has while it is here.
  static constexpr uint32_t kNumberBits = 28;

  explicit MessageServer(const Options& options);
  /// Before the first frame: whose messages are taken. If it has no addresses, everybody's.
  void SetOwn(const OwnAddresses& own) { own_ = own; }

  packet::Verdict Process(packet::Frame& frame, uint64_t now);
  void set_outbox(packet::Outbox outbox) { outbox_ = outbox; }
  /// Looks at some messages whether they have waited too long. Between any two bursts.
  void Expire(uint64_t now);

  uint32_t longest(size_t flow) const { return flows_[flow].longest; }
  /// Whether a message of this flow is whole and was not taken.
  bool HasMessage(size_t flow);
  /// Takes it: its bytes, in `room`, which has `longest`, and its number.
  uint32_t Take(size_t flow, std::span<uint8_t> room, uint32_t* number);
  /// The answer to message `number` of any flow: it leaves by the outbox.
  void Answer(uint32_t number, std::span<const uint8_t> data, const std::array<uint32_t, 2>& key);

  MessageCounts counts() const;
  /// Messages that are whole and have no ending yet. Any thread.
  uint64_t open() const {
    const MessageCounts before = counts();  // Endings first: no message ends before it comes.
    return counts().received - before.answered - before.unanswered;
  }
  /// ns, from a message's last frame to its answer.
  const workload::Histogram& latency() const { return latency_; }

 private:
  static constexpr uint32_t kSlotBits = 12;
  static constexpr uint32_t kGenerations = 1u << (kNumberBits - kSlotBits);
  static constexpr uint32_t kLooks = 8;  ///< Messages that Expire looks at.
  /// Headers of a datagram: Ethernet, two tags, IPv6, UDP, and a few bytes.
  static constexpr uint32_t kMostHeaders = 80;
  static_assert(kMostMessages == 1u << kSlotBits);

  /// Who sends a message in parts, and which.
  struct Sender {
    std::array<uint8_t, 16> address{};
    uint16_t from_port = 0, to_port = 0;
    uint32_t number = 0;
    friend bool operator==(const Sender&, const Sender&) = default;
    template <typename Hash>
    friend Hash AbslHashValue(Hash hash, const Sender& sender) {
      return Hash::combine(std::move(hash), sender.address, sender.from_port, sender.to_port,
                           sender.number);
    }
  };
  struct Slot {
    enum class State : uint8_t { kFree, kFilling, kWhole, kTaken } state = State::kFree;
    uint32_t generation = 0;
    uint64_t since = 0;   ///< TSC cycles: its last part.
    uint32_t number = 0;  ///< The sender's.
    uint32_t length = 0;
    std::vector<uint8_t> data;  ///< What has come: who only claims to send costs no memory.
    Sender sender;              ///< Of kFilling.
    packet::Datagram datagram;
    std::array<uint8_t, kMostHeaders> headers{};
  };
  struct Whole {
    uint32_t slot;
    uint32_t generation;
  };
  enum Count : uint8_t {
    kReceived,
    kReceivedBytes,
    kAnswered,
    kAnsweredBytes,
    kUnanswered,
    kIncomplete,
    kLate,
    kUnsent,
    kCounts
  };

  packet::Verdict TakePart(const packet::Frame& frame, const packet::Datagram& datagram,
                           size_t flow, const Part& part, uint64_t now);
  packet::Verdict Continue(size_t flow, const Sender& sender, const Part& part, uint64_t now);
  bool IsToUs(const uint8_t* frame, const packet::Datagram& datagram) const;
  Slot* Claim();
  void Free(Slot& slot);
  void Finish(size_t flow, Slot& slot);
  void SendAnswer(const Slot& slot, std::span<const uint8_t> data,
                  const std::array<uint32_t, 2>& key);
  bool IsStale(const Whole& whole) const {
    const Slot& slot = slots_[whole.slot];
    return slot.state != Slot::State::kWhole || slot.generation != whole.generation;
  }
  uint32_t IndexOf(const Slot& slot) const { return static_cast<uint32_t>(&slot - slots_.data()); }
  void Add(Count count, uint64_t by = 1) {
    counts_[count].store(counts_[count].load(std::memory_order_relaxed) + by,
                         std::memory_order_relaxed);
  }

  std::vector<Flow> flows_;
  uint64_t timeout_cycles_;
  double ns_per_cycle_;
  OwnAddresses own_{{}};
  packet::Outbox outbox_;
  std::vector<Slot> slots_;
  /// Slots; the one that has been free for longest is next, so that a number comes back late.
  std::deque<uint32_t> free_;
  absl::flat_hash_map<Sender, uint32_t> filling_;  ///< Slots; half of them at most.
  std::vector<std::deque<Whole>> whole_;           ///< By flow.
  uint32_t looked_ = 0;                            ///< The slot that Expire looks at next.
  uint64_t now_ = 0;                               ///< As last told.
  std::array<std::atomic<uint64_t>, kCounts> counts_{};
  workload::Histogram latency_;
};

}  // namespace sluice::engine::messages
