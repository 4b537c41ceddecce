// SPDX-License-Identifier: BSD-3-Clause
//
// A worker's engine. It assembles the frames of flows into messages for the chain's NIC, and sends
// the NIC's answers as frames. The worker also runs the NIC.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/messages/message_server.h"
#include "engine/neighbor/neighbor.h"
#include "flow.h"
#include "nic.h"
#include "packet/engine.h"

namespace sluice::chain_app {

using engine::messages::MessageServer;

/// A flow whose messages arrive in frames. `server`, which must outlive the flow, expires the
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
class Front final : public packet::EngineLayer<MessageServer&> {
 public:
  static constexpr bool kOwnFramesOnly = true;
  static constexpr uint32_t kPollsPerRest = 1;

  Front(MessageServer& server, Nic& nic)
      : EngineLayer([&]() -> MessageServer& { return server; }), nic_(&nic) {}

  void AtRest(uint64_t now) override {
    engine_.Expire(now);
    for (uint32_t i = 0; i < kSteps && nic_->Step(); ++i) {
    }
  }

 private:
  static constexpr uint32_t kSteps = 8;  ///< Maximum steps of the NIC between two polls.

  Nic* nic_;
};

}  // namespace sluice::chain_app
