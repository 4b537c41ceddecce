// SPDX-License-Identifier: BSD-3-Clause
//
// The engine of a worker. It assembles frames into messages of flows, which the chain's NIC reads,
// and sends the NIC's answers as frames. The worker also runs the NIC.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/messages/message_server.h"
#include "engine/neighbor/neighbor.h"
#include "flow.h"
#include "nic.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "packet/own_addresses.h"

namespace sluice::chain_app {

using engine::messages::MessageServer;

/// A flow whose messages come in frames. `server`, which must outlive the flow, expires the
/// messages.
class FrameFlow final : public Flow {
 public:
  static_assert(MessageServer::kNumberBits == kNumberBits);

  FrameFlow(MessageServer& server, size_t index) : server_(server), index_(index) {}

  uint32_t longest() const override { return server_.longest(index_); }
  bool MayBegin() override { return server_.HasMessage(index_); }
  uint32_t Begin(std::span<uint8_t> room, uint64_t /*now_ns*/, uint32_t* number) override {
    return server_.Receive(index_, room, number);
  }
  void Answer(uint32_t number, uint32_t /*where*/, std::span<const uint8_t> data,
              const std::array<uint32_t, 2>& key, uint64_t /*now_ns*/) override {
    server_.Answer(number, data, key);
  }
  void Expire(uint64_t /*now_ns*/) override {}

 private:
  MessageServer& server_;
  size_t index_;
};

/// The engine. All constructor arguments must outlive it.
class Front {
 public:
  static constexpr auto& kDropReasons = MessageServer::kDropReasons;
  static constexpr bool kOwnFramesOnly = true;  ///< Enables packet::OwnFramesOnly.

  Front(MessageServer& server, Nic& nic) : server_(&server), nic_(&nic) {}

  void set_outbox(packet::Outbox outbox) { server_->set_outbox(outbox); }
  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    return server_->Process(frame, now);
  }
  void AtRest(uint64_t now) {
    server_->Expire(now);
    for (uint32_t i = 0; i < kSteps && nic_->Step(); ++i) {
    }
  }

 private:
  static constexpr uint32_t kSteps = 8;  ///< Maximum steps of the NIC between two polls.

  MessageServer* server_;
  Nic* nic_;
};

/// The engine of a worker lcore: Front, preceded by the responder for the NIC's addresses. AtRest
/// is called after every poll.
class Lcore {
 public:
  static constexpr auto& kDropReasons = engine::WithNeighbor<Front>::kDropReasons;
  static constexpr bool kOwnFramesOnly = engine::WithNeighbor<Front>::kOwnFramesOnly;
  static constexpr uint32_t kPollsPerRest = 1;

  Lcore(const packet::OwnAddresses& own, MessageServer& server, Nic& nic)
      : engine_(own, std::in_place, server, nic) {}

  const packet::OwnAddresses& own() const { return engine_.own(); }
  void set_outbox(packet::Outbox outbox) { engine_.set_outbox(outbox); }
  void AtRest(uint64_t now) { engine_.AtRest(now); }
  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    return engine_.Process(frame, now);
  }

 private:
  engine::WithNeighbor<Front> engine_;
};

}  // namespace sluice::chain_app
