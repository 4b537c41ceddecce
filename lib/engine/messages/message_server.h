// SPDX-License-Identifier: BSD-3-Clause
//
// Receives messages in frames and sends answers that are computed elsewhere: reassembles the parts
// (part.h), passes messages to workers by flow, and sends each answer in parts, in order, to the
// sender of the message. The memory is limited by the number of messages. Satisfies
// packet::FrameEngine.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "base/counter_rows.h"
#include "engine/messages/part.h"
#include "engine/workload/histogram.h"
#include "packet/datagram.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "packet/own_addresses.h"

namespace sluice::engine::messages {

/// Counts of complete messages. Each message that has ended is either answered or unanswered.
struct MessageCounts {
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t answered = 0;
  uint64_t answered_bytes = 0;
  uint64_t unanswered = 0;  ///< Messages that were not answered in time.
  // Additional counts:
  /// Messages whose parts did not all arrive in time, or that the sender restarted.
  uint64_t incomplete = 0;
  uint64_t late = 0;  ///< Answers to messages that had already ended by an answer or a timeout.
  /// Answers of which the interface did not accept all parts. They are also counted in `answered`.
  uint64_t unsent = 0;
};

/// A server for one thread; other threads may call counts(), open() and latency().
class MessageServer final : public packet::Engine {
 public:
  /// Reasons to drop a frame. Frames that are not UDP or not for a flow are passed on instead.
  enum Reason : uint8_t {
    kMalformed,
    kBadChecksum,
    kFragment,
    kOptions,
    kNoMessage,    ///< The payload has no part header.
    kBadPart,      ///< Invalid length or offset, or the headers are too long.
    kTooLong,      ///< The message exceeds its flow's limit.
    kPartMissing,  ///< Earlier parts are missing, or the part is a duplicate.
    kBusy,         ///< The limit on messages or on incomplete messages is reached.
    kReasons
  };
  static constexpr auto kDropReasons =
      base::Names<Reason, kReasons>({{kMalformed, "malformed"},
                                     {kBadChecksum, "bad_checksum"},
                                     {kFragment, "fragment"},
                                     {kOptions, "ip_options"},
                                     {kNoMessage, "no_message"},
                                     {kBadPart, "bad_part"},
                                     {kTooLong, "too_long"},
                                     {kPartMissing, "part_missing"},
                                     {kBusy, "busy"}});

  /// A flow: datagrams to a port. A datagram belongs to the first flow that matches.
  struct Flow {
    uint16_t port = 0;     ///< 0: any.
    uint32_t longest = 0;  ///< Maximum message length in bytes.
  };
  struct Options {
    std::vector<Flow> flows;
    uint32_t messages = 0;        ///< Maximum number of messages at a time; up to kMostMessages.
    uint64_t timeout_cycles = 0;  ///< Maximum TSC cycles between consecutive parts of a message,
                                  ///< and from its last part to its answer.
    uint64_t cycles_hz = 0;       ///< Frequency of `now`.
  };
  static constexpr uint32_t kMostMessages = 1u << 12;
  /// Size in bits of the number of a message.
  static constexpr uint32_t kNumberBits = 28;

  explicit MessageServer(const Options& options);
  /// Sets the destination addresses to accept; if empty, all are accepted. Must be called before
  /// the first frame.
  void SetOwn(const packet::OwnAddresses& own) { own_ = own; }

  packet::Verdict Process(packet::Frame& frame, uint64_t now);
  void set_outbox(packet::Outbox outbox) override { outbox_ = outbox; }
  /// Checks some messages for timeouts. Must be called between bursts.
  void Expire(uint64_t now);

  uint32_t longest(size_t flow) const { return flows_[flow].longest; }
  /// Returns whether the flow has a complete message to process.
  bool HasMessage(size_t flow);
  /// Copies the next message of the flow to `room`, which has `longest` bytes, and returns its
  /// length. HasMessage must be true. Sets `number`, which Answer needs.
  uint32_t Receive(size_t flow, std::span<uint8_t> room, uint32_t* number);
  /// Sends the answer to message `number` of any flow through the outbox. If the message has ended,
  /// only counts the answer as late.
  void Answer(uint32_t number, std::span<const uint8_t> data, const std::array<uint32_t, 2>& key);

  MessageCounts counts() const;
  /// Returns the number of complete messages that have not ended. May be called by any thread.
  uint64_t open() const {
    // Load the counts of ended messages first, because no message ends before it is received.
    const MessageCounts before = counts();
    return counts().received - before.answered - before.unanswered;
  }
  /// Returns the distribution of the time in ns from a message's last frame to its answer.
  const workload::Histogram& latency() const { return latency_; }

 private:
  static constexpr uint32_t kSlotBits = 12;
  static constexpr uint32_t kGenerations = 1u << (kNumberBits - kSlotBits);
  static constexpr uint32_t kLooks = 8;  ///< Messages that Expire checks per call.
  /// Maximum bytes of a datagram's headers: Ethernet, two VLAN tags, IPv6, UDP, and a few spare
  /// bytes.
  static constexpr uint32_t kMostHeaders = 80;
  static_assert(kMostMessages == 1u << kSlotBits);

  /// Identifies a message of several parts: its sender, and the number that the sender gave it.
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
    uint64_t since = 0;   ///< TSC cycles when the message's latest part arrived.
    uint32_t number = 0;  ///< Chosen by the sender.
    uint32_t length = 0;
    std::vector<uint8_t> data;  ///< Bytes received so far. Memory is allocated as bytes arrive.
    Sender sender;              ///< Valid in kFilling.
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

  packet::Verdict AcceptPart(const packet::Frame& frame, const packet::Datagram& datagram,
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
  packet::OwnAddresses own_{{}};
  packet::Outbox outbox_;
  std::vector<Slot> slots_;
  /// Free slots. The slot that was freed first is used next, so that numbers are reused as late as
  /// possible.
  std::deque<uint32_t> free_;
  /// Slots in kFilling, by sender; at most half of all slots.
  absl::flat_hash_map<Sender, uint32_t> filling_;
  std::vector<std::deque<Whole>> whole_;  ///< Indexed by flow.
  uint32_t looked_ = 0;                   ///< Next slot for Expire.
  uint64_t now_ = 0;                      ///< The last `now` that a caller passed.
  std::array<std::atomic<uint64_t>, kCounts> counts_{};
  workload::Histogram latency_;
};

}  // namespace sluice::engine::messages
