// SPDX-License-Identifier: BSD-3-Clause
//
// Kills either end after every single store that it makes to the shared memory. The invariants:
// - No request is executed twice, answered twice, or ends twice.
// - A killed host's request ends as lost, and no other request does.
// - A killed NIC forgets at most the request that it had lent. A NIC that restarts on the same
//   memory continues, and the host notices nothing.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../exhaustive/stores.h"
#include "coherent/host_end.h"
#include "coherent/nic_end.h"

namespace sluice::coherent::test {
namespace {

constexpr uint32_t kTurns = 40;
constexpr uint32_t kSeeds = 2;
constexpr Geometry kGeometry = {.overflow_lines = 0};
constexpr size_t kBytes = 8192;  // An endpoint, and the journal on the next page.
constexpr uint32_t kMaxRequests = 512;

enum class Move : uint8_t { kHostWaits, kHostReturns, kNicLooks, kDelivers, kPreempts, kResumes };
constexpr const char* kMoveNames[] = {"host waits",   "host returns", "NIC looks",
                                      "NIC delivers", "NIC preempts", "NIC resumes"};
bool IsHosts(Move move) { return move <= Move::kHostReturns; }

/// The journal of requests in shared memory. The process that observes an event writes it.
struct Journal {
  uint64_t serial;
  uint8_t executed[kMaxRequests];
  uint8_t answered[kMaxRequests];
  uint8_t ended[kMaxRequests];
};

class Scene {
 public:
  explicit Scene(std::span<uint8_t> memory)
      : base_(memory.data()),
        memory_((std::memset(memory.data(), 0, memory.size()),
                 EndpointMemory::Format(memory.first(4096), kGeometry))),
        nic_(memory_, {}, 0),
        host_(memory_, WaitMethod::kPause) {}

  void Apply(Move move) {
    switch (move) {
      case Move::kHostWaits:
        if (host_.Wait(0) == Got::kContent) ++journal().executed[host_.content().code];
        return;
      case Move::kHostReturns:
        host_.Return({.kind = Kind::kReply, .code = host_.content().code});
        return;
      case Move::kNicLooks:
        if (nic_.Look(Pair::kReceive, 0) == Seen::kReturned) Returned();
        return;
      case Move::kDelivers:
        if (nic_.Waits(Pair::kReceive)) Deliver();
        return;
      case Move::kPreempts:
        nic_.Preempt(0);
        return;
      case Move::kResumes:
        nic_.Resume();
        return;
    }
  }
  void Play(const std::vector<Move>& script, size_t moves) {
    for (size_t i = 0; i < moves; ++i) Apply(script[i]);
  }

  /// Kills the endpoint of a dead host process. Returns whether the call closed the endpoint.
  bool KillHost() {
    nic_.Kill();
    if (const auto lost = nic_.ConsumeLost(Pair::kReceive)) ++journal().ended[*lost];
    return nic_.closed();
  }
  void RestartNic() { nic_ = NicEnd(memory_, {}, 0); }
  /// Runs all parties for some rounds. Returns whether requests still complete.
  bool GoesOn() {
    const uint64_t before = Answered();
    for (int i = 0; i < 40; ++i) {
      for (const Move move : {Move::kNicLooks, Move::kDelivers, Move::kHostWaits,
                              Move::kHostReturns, Move::kResumes}) {
        Apply(move);
      }
    }
    // Returns a lent request before the next one is requested.
    while (nic_.state(Pair::kReceive) == State::kLent) {
      Apply(Move::kHostWaits);
      Apply(Move::kHostReturns);
      Apply(Move::kNicLooks);
    }
    return Answered() >= before + 10;
  }
  /// Returns the broken rule, or an empty string. `forgotten` is the number of requests that may
  /// lack an ending.
  std::string Check(uint32_t forgotten) {
    uint32_t unended = 0;
    for (uint64_t serial = 1; serial <= journal().serial; ++serial) {
      const std::string request = "request " + std::to_string(serial);
      if (journal().executed[serial] > 1) return request + " was executed twice";
      if (journal().answered[serial] > 1) return request + " was answered twice";
      if (journal().ended[serial] > 1) return request + " ended twice";
      if (journal().answered[serial] > journal().executed[serial]) {
        return request + " was answered, but not executed";
      }
      unended += journal().ended[serial] == 0;
    }
    return unended <= forgotten ? "" : std::to_string(unended) + " requests have no ending";
  }

 private:
  Journal& journal() { return *reinterpret_cast<Journal*>(base_ + 4096); }
  uint64_t Answered() {
    uint64_t answered = 0;
    for (const uint8_t times : journal().answered) answered += times;
    return answered;
  }
  void Deliver() {
    const uint64_t serial = ++journal().serial;
    nic_.Deliver(Pair::kReceive, {.kind = Kind::kRequest, .code = serial}, 0, serial);
  }
  void Returned() {
    const coherent::Returned& back = nic_.returned(Pair::kReceive);
    if (!back.tag) return;
    journal().answered[*back.tag] += back.kind == Kind::kReply && back.status == *back.tag;
    ++journal().ended[*back.tag];
  }

  uint8_t* base_;
  EndpointMemory memory_;
  NicEnd nic_;
  HostEnd host_;
};

std::span<uint8_t> Shared() {
  void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return {static_cast<uint8_t*>(at), at == MAP_FAILED ? 0 : kBytes};
}

std::vector<Move> RandomScript(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Move> script;
  for (uint32_t i = 0; i < kTurns; ++i) {
    // Preemption is rarer than requests.
    const uint32_t choice = random() % 14;
    script.push_back(choice < 4    ? Move::kHostWaits
                     : choice < 6  ? Move::kHostReturns
                     : choice < 10 ? Move::kNicLooks
                     : choice < 12 ? Move::kDelivers
                     : choice < 13 ? Move::kPreempts
                                   : Move::kResumes);
  }
  return script;
}

TEST(KillAtAnyStore, NothingHappensTwice) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer's own instructions and stores are stepped, too";
#endif
  const std::span<uint8_t> shared = Shared(), copy = Shared();
  ASSERT_FALSE(shared.empty() || copy.empty());
  uint32_t kills[2] = {};
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<Move> script = RandomScript(seed);
    for (size_t move = 0; move < script.size(); ++move) {
      Scene scene(shared);
      scene.Play(script, move);
      std::string error;
      const auto snapshots = exhaustive::AfterEachStore(
          shared, [&] { scene.Apply(script[move]); }, &error);
      if (error == "ptrace is not permitted") GTEST_SKIP() << error;
      ASSERT_TRUE(snapshots) << error;
      for (size_t store = 0; store < snapshots->size(); ++store) {
        const std::string where =
            "seed " + std::to_string(seed) + ", turn " + std::to_string(move) + " (" +
            kMoveNames[static_cast<size_t>(script[move])] + "), store " + std::to_string(store);
        Scene after(copy);
        after.Play(script, move);
        std::memcpy(copy.data(), (*snapshots)[store].data(), copy.size());
        const bool host = IsHosts(script[move]);
        ++kills[host];
        if (host) {
          EXPECT_TRUE(after.KillHost()) << where;
        } else {
          after.RestartNic();
          EXPECT_TRUE(after.GoesOn()) << where;
        }
        EXPECT_EQ(after.Check(host ? 0 : 1), "") << where;
      }
    }
  }
  std::printf("killed after %u stores of the NIC, %u of the host\n", kills[0], kills[1]);
  EXPECT_GT(kills[0], kTurns / 12);
  EXPECT_GT(kills[1], kTurns / 12);
  munmap(shared.data(), shared.size());
  munmap(copy.data(), copy.size());
}

}  // namespace
}  // namespace sluice::coherent::test
