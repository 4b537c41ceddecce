// SPDX-License-Identifier: BSD-3-Clause
//
// Serves the endpoints of an exchange block. In each turn it polls the words of all its hosts with
// overlapping reads, so that a turn without news costs one bus round trip. It first answers a load,
// and then reads the line that the host returned with the load.
#pragma once

#include <cstdint>

#include "device/grid/endpoint_batch.h"
#include "device/grid/endpoint_end.h"
#include "device/grid/endpoint_fill.h"
#include "device/grid/endpoint_take.h"
#include "device/grid/fifo_end.h"
#include "device/grid/ipu_card.h"
#include "device/grid/ipu_registers.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

class EndpointServer {
 public:
  /// Creates block `block` of `blocks`. The block serves the queues block, block + blocks, …
  EndpointServer(IpuCard& card, const Team& team, const WireShape& shape, EndpointMemory& memory,
                 IpuSentMemory& sent, uint32_t block, uint32_t blocks)
      : card_(card),
        team_(team),
        shape_(shape),
        memory_(memory),
        sent_(sent),
        block_(block),
        blocks_(blocks) {}

  /// Returns the protocol of a queue pair as of the last turn.
  IpuExchange KindOf(uint32_t queue) const { return memory_.looks[queue].kind; }

  /// A barrier must follow before the next turn, because other threads pass the gates in that turn.
  void Turn() {
    if (block_ >= kIpuQueues) return;
    Poll();
    for (uint32_t queue = block_; queue < kIpuQueues; queue += blocks_) {
      if (KindOf(queue) != IpuExchange::kEndpoint) {
        team_.Lead([&] { memory_.epochs[queue] = 0; });
      } else if (memory_.looks[queue].epoch != memory_.epochs[queue]) {
        LoadState(queue);
      } else if (HasNews(queue)) {
        Serve(queue);
      } else {
        team_.Lead([&] { card_.gates[queue].Leave(); });
      }
    }
    team_.Lead([&] { CloseFaulty(); });
  }

 private:
  IpuEndpoint& At(uint32_t queue) const { return card_.endpoints[queue]; }

  /// Polls all of this block's endpoints at once: each warp has one task.
  void Poll() {
    enum Task : uint32_t { kPass, kWords, kReceived, kTasks };
    const uint32_t own = (kIpuQueues - block_ + blocks_ - 1) / blocks_;
    team_.ForEach(own * kTasks * kWarpThreads, [&](uint32_t i) {
      const uint32_t lane = i % kWarpThreads, task = i / kWarpThreads % kTasks;
      const uint32_t queue = block_ + i / kWarpThreads / kTasks * blocks_;
      EndpointLook& look = memory_.looks[queue];
      if (i == 0) memory_.now_ns = NowNs();
      if (task == kPass && lane == 0) {
        look.kind = Pass(card_.gates[queue]);
        look.epoch = Load(&At(queue).epoch);
      }
      if (memory_.epochs[queue] == 0) return;
      if (task == kWords && lane < coherent::kPairs) {
        const auto pair = static_cast<coherent::Pair>(lane);
        look.words[lane] = LoadQuadAcquire(memory_.states[queue].Words(pair));
      }
      if (task == kReceived && lane == 0) {
        look.head = FifoEnd(card_, queue).head();
        FenceCard();  // Orders the load of `head` before later reads of the frames that it covers.
        look.tail = FifoEnd(card_, queue).tail();
        Add(&card_.counters[Crossing::kDescriptors], uint64_t{sizeof(look.words)});
      }
    });
  }

  /// Passes an endpoint's gate. Returns the protocol of the queue pair.
  static IpuExchange Pass(IpuExchangeGate& gate) {
    const auto kind = static_cast<IpuExchange>(Load(&gate.kind));
    if (kind != IpuExchange::kEndpoint) return kind;
    const auto protocol = static_cast<IpuExchange>(gate.Enter());
    if (protocol == kind || protocol == IpuExchange::kNone) return protocol;
    gate.Leave();
    return IpuExchange::kNone;
  }

  void LoadState(uint32_t queue) {
    const auto* const from = reinterpret_cast<const uint32_t*>(&At(queue).state);
    auto* const to = reinterpret_cast<uint32_t*>(&memory_.states[queue]);
    team_.ForEach(kEndpointWords, [&](uint32_t i) {
      FenceCard();
      to[i] = Load(&from[i]);
    });
    team_.One([&] {
      memory_.epochs[queue] = memory_.looks[queue].epoch;
      card_.gates[queue].Leave();
    });
  }
  void StoreState(uint32_t queue) {
    auto* const to = reinterpret_cast<uint32_t*>(&At(queue).state);
    const auto* const from = reinterpret_cast<const uint32_t*>(&memory_.states[queue]);
    team_.ForEach(kEndpointWords, [&](uint32_t i) {
      Store(&to[i], from[i]);
      FenceCard();
    });
  }

  bool HasNews(uint32_t queue) const {
    using coherent::Pair;
    const EndpointState& state = memory_.states[queue];
    const EndpointLook& look = memory_.looks[queue];
    if (state.pair(Pair::kReceive).state == coherent::State::kClosed) return false;
    if (look.words[0].low != state.pair(Pair::kReceive).number ||
        look.words[1].low != state.pair(Pair::kTransmit).number || state.Waits(Pair::kTransmit) ||
        state.Asked()) {
      return true;
    }
    if (CanFill(queue)) return true;
    return state.Waits(Pair::kReceive) &&
           memory_.now_ns - state.pair(Pair::kReceive).since_ns >= coherent::kTryAgainNs;
  }
  bool CanFill(uint32_t queue) const {
    const EndpointState& state = memory_.states[queue];
    return state.full == 0 &&
           state.pair(coherent::Pair::kReceive).state != coherent::State::kClosed &&
           memory_.looks[queue].head != memory_.looks[queue].tail;
  }

  void Serve(uint32_t queue) {
    team_.Sync();  // Decide changes state that other threads read in HasNews.
    EndpointState& state = memory_.states[queue];
    EndpointFiller filler(card_, At(queue), team_, memory_, state, queue);
    Phases phases(card_, team_, Phase::kSendSlots);
    team_.One([&] { Decide(queue); });
    phases.Next(Phase::kReceiveCopy);
    if (state.Waits(coherent::Pair::kReceive) && CanFill(queue)) {
      filler.Run(memory_.looks[queue]);
    }
    EndpointTaker taker(card_, At(queue), team_, memory_, sent_, state,
                        EndpointCopiesOf(card_, queue), shape_, ExchangeStaging(card_, block_));
    const bool takes = memory_.takes[0].taken != 0 || memory_.takes[1].taken != 0;
    phases.Next(Phase::kSendBytes);
    if (takes) taker.Take();
    // Fill again, so that the host's next load finds frames even if it is issued while the returned
    // frames are checked.
    phases.Next(Phase::kReceiveCopy);
    if (CanFill(queue)) filler.Run(memory_.looks[queue]);
    phases.Next(Phase::kSendCheck);
    if (takes) taker.Send();
    phases.End();
    StoreState(queue);
    team_.One([&] {
      card_.gates[queue].Leave();
      if (memory_.fault != 0) memory_.faults |= 1u << queue;
    });
  }

  /// Closes the endpoints whose hosts violated the protocol in this turn, Called by one thread
  /// after the block has left all gates, because the register block may be waiting at a gate while
  /// it holds the lock that this function needs.
  void CloseFaulty() {
    for (; memory_.faults != 0; memory_.faults &= memory_.faults - 1) {
      const auto queue = static_cast<uint32_t>(__builtin_ctz(memory_.faults));
      IpuRegisters(card_).CloseFaulty(queue, memory_.epochs[queue]);
    }
  }

  /// Handles the host's words. Called by one thread.
  void Decide(uint32_t queue) {
    using coherent::Pair;
    EndpointState& state = memory_.states[queue];
    EndpointEnd end(card_, state);
    const Quad sends = memory_.looks[queue].words[1];
    Quad words = memory_.looks[queue].words[0];
    memory_.takes[0] = memory_.takes[1] = {};
    memory_.fault = 0;
    // Frames are sent in the order in which the host returned them, across both pairs. A transmit
    // line is accepted only if it was returned before the receive word was read.
    const bool returns = sends.low != state.pair(Pair::kTransmit).number;
    if (returns) words = LoadQuadAcquire(state.Words(Pair::kReceive));
    const auto look = [&](Pair pair, Quad seen) {
      return end.Look(pair, seen.low, words.high != 0, memory_.now_ns,
                      &memory_.takes[static_cast<uint32_t>(pair)]);
    };
    if (!look(Pair::kReceive, words)) {
      memory_.fault = 1;
      return;
    }
    end.Answer();
    if (returns && !look(Pair::kTransmit, sends)) {
      memory_.fault = 1;
      return;
    }
    end.Grant();
  }

  IpuCard& card_;
  const Team& team_;
  const WireShape& shape_;
  EndpointMemory& memory_;
  IpuSentMemory& sent_;
  const uint32_t block_, blocks_;
};

}  // namespace sluice::device::grid
