// SPDX-License-Identifier: BSD-3-Clause
//
// Kills either end after every single store that it makes to the shared memory, and starts it
// again. The invariants, which are documented for users:
//  - Every region has one owner at every instant.
//  - No frame is delivered twice, sent twice, torn or out of order.
//  - At most two sets of frames are lost: those of the region in which a killed host was working,
//    and those that a killed NIC had marked as sent and not yet put on the wire.
//  - At most one swap is in doubt, and the restart resolves it.
//  - No region is lost: the link carries as much as before.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <random>

#include "../exhaustive/stores.h"
#include "plain_rings.h"
#include "swap_links.h"
#include "world.h"

namespace sluice::swap::test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
/// These numbers are smaller because the sanitizer's instrumentation is also single-stepped, so a
/// store takes ten times as long.
constexpr uint32_t kScripts = 1;
constexpr uint32_t kRounds = 3;
#else
constexpr uint32_t kScripts = 3;
constexpr uint32_t kRounds = 7;
#endif

/// Selects which ends restart after a kill.
enum class Restart { kKilled, kKilledLater, kBoth };

struct Findings {
  uint32_t kills = 0;
  uint32_t bad_owners = 0;  ///< Kills that left a region with two owners or none.
  uint32_t bad_frames = 0;  ///< Number of recoveries that violated another invariant.
  std::string owners;       ///< Descriptions of the first violations.
  std::string frames;
};

/// Page-aligned memory, shared with children.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes)
      : memory_(static_cast<uint8_t*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        bytes_(bytes) {}
  ~SharedMemory() { munmap(memory_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::span<uint8_t> span() const { return {memory_, bytes_}; }

 private:
  uint8_t* memory_;
  size_t bytes_;
};

/// Returns the frames that may be lost because of this kill.
template <typename Links>
std::set<uint32_t> MayBeLost(World<Links>& world, bool host_killed, bool nic_killed) {
  std::set<uint32_t> tags;
  const uint64_t hosts = Links::HostWorksIn(world.Link());
  for (uint32_t id = 0; id < World<Links>::kGeometry.regions; ++id) {
    const Region region = Links::RegionOf(world.Link(), id);
    const RegionHeader& header = region.header();
    const bool is_hosts = (hosts >> id & 1) != 0;
    const bool marked = nic_killed && !is_hosts && header.kind == RegionKind::kToSend;
    const uint32_t end = host_killed && is_hosts ? header.count : marked ? header.cursor : 0;
    for (uint32_t i = 0; i < std::min(end, World<Links>::kGeometry.max_frames); ++i) {
      const Entry entry = region.entries()[i];
      uint32_t tag = 0;
      if (EntryLength(entry) != 0) std::memcpy(&tag, region.base + EntryOffset(entry), 4);
      tags.insert(tag);
    }
  }
  return tags;
}

/// Returns the violated invariant, or an empty string.
std::string CheckJournal(const Journal& journal, const std::set<uint32_t>& may_be_lost) {
  if (journal.torn != 0) return "a frame is torn";
  if (journal.disordered != 0) return "frames are out of order";
  for (uint32_t tag = 1; tag <= journal.offered; ++tag) {
    const std::string frame = "frame " + std::to_string(tag);
    if (journal.delivered[tag] > 1) return frame + " was delivered twice";
    if (journal.sent[tag] > 1) return frame + " was sent twice";
    if (journal.sent[tag] > journal.delivered[tag]) return frame + " was sent, but not delivered";
    const bool served =
        journal.delivered[tag] == 1 && (journal.sent[tag] == 1 || journal.dropped[tag] == 1);
    if (journal.accepted[tag] == 1 && !served && !may_be_lost.contains(tag)) {
      return frame + (journal.delivered[tag] == 1 ? " was not sent" : " was not delivered");
    }
  }
  return "";
}

/// Plays the first `turns` turns of a script. Returns the frames that a host may lose if it
/// restarts in one of these turns or in the next one.
template <typename Links>
std::set<uint32_t> Play(World<Links>& world, const std::vector<Step>& script, uint32_t turns) {
  std::set<uint32_t> may_be_lost;
  for (uint32_t i = 0; i <= turns && i < script.size(); ++i) {
    if (script[i] == Step::kRestart) may_be_lost.merge(MayBeLost(world, true, false));
    if (i < turns) world.Run(script[i]);
  }
  return may_be_lost;
}

/// Continues from a snapshot. Returns the violated invariant, or an empty string. `may_be_lost`
/// contains the frames that earlier turns may have lost.
template <typename Links>
std::string Recover(World<Links>& world, bool host_killed, Restart restart,
                    std::set<uint32_t> may_be_lost) {
  const bool both = restart == Restart::kBoth;
  may_be_lost.merge(MayBeLost(world, host_killed || both, !host_killed || both));
  if (!host_killed || both) world.Run(Step::kPowerOn);
  if (restart == Restart::kKilledLater) {
    const std::vector<Step> survivor =
        host_killed ? std::vector{Step::kReceive, Step::kServe, Step::kSend, Step::kServe}
                    : std::vector{Step::kPoll, Step::kWork, Step::kPoll};
    for (const Step turn : survivor) world.Run(turn);
  }
  const bool reset_only = !host_killed && !both;
  const uint64_t doubts = reset_only ? Links::InDoubt(world.host()) : 0;
  world.Run(reset_only ? Step::kReset : Step::kRestart);
  if (Links::InDoubt(world.host()) > doubts + 1) return "more than one swap is in doubt";
  world.Quiesce();
  // Every region must still accept its maximum number of frames while the host does not give any
  // region away.
  constexpr Geometry kGeometry = World<Links>::kGeometry;
  uint32_t room = 0;
  while (world.Receive()) ++room;
  if (room != (kGeometry.regions - 1) * kGeometry.max_frames) {
    return "free space for " + std::to_string(room) + " frames";
  }
  world.Quiesce();
  return CheckJournal(world.journal(), may_be_lost);
}

/// Kills the acting process at each store of each turn of `script`.
template <typename Links>
Findings KillAtAnyStore(const std::vector<Step>& script, std::string* error) {
  Findings findings;
  const SharedMemory shared(World<Links>::Bytes());
  const SharedMemory copy(World<Links>::Bytes());
  const auto report = [&](std::string& first, uint32_t turn, size_t store, std::string what) {
    if (!first.empty()) return;
    first = "turn " + std::to_string(turn) + " (" + Name(script[turn]) + "), store " +
            std::to_string(store) + ": " + what;
  };
  for (uint32_t turn = 0; turn < script.size(); ++turn) {
    World<Links> world(shared.span());
    Play(world, script, turn);
    const auto snapshots = exhaustive::AfterEachStore(
        shared.span(), [&] { world.Run(script[turn]); }, error);
    if (!snapshots) return findings;
    for (size_t store = 0; store < snapshots->size(); ++store) {
      ++findings.kills;
      for (const Restart restart : {Restart::kKilled, Restart::kKilledLater, Restart::kBoth}) {
        World<Links> after(copy.span());
        std::set<uint32_t> may_be_lost = Play(after, script, turn);
        std::memcpy(copy.span().data(), (*snapshots)[store].data(), copy.span().size());
        const std::vector<uint32_t> owners = Links::Owners(after.Link());
        if (std::any_of(owners.begin(), owners.end(), [](uint32_t n) { return n != 1; })) {
          findings.bad_owners += restart == Restart::kKilled;
          report(findings.owners, turn, store, "a region has two owners, or none");
        }
        const std::string broken =
            Recover(after, IsHosts(script[turn]), restart, std::move(may_be_lost));
        if (broken.empty()) continue;
        ++findings.bad_frames;
        report(findings.frames, turn, store, broken);
      }
    }
  }
  return findings;
}

/// Returns rounds of traffic, in an order that is determined by the seed. Between the rounds,
/// either end restarts or cancels.
std::vector<Step> RandomScript(uint32_t seed, uint32_t rounds) {
  std::mt19937 random(seed);
  std::vector<Step> script = {Step::kServe, Step::kPoll, Step::kServe, Step::kPoll};
  for (uint32_t round = 0; round < rounds; ++round) {
    std::array<Step, 8> turns = {Step::kReceive, Step::kWork,  Step::kServe, Step::kPoll,
                                 Step::kWork,    Step::kServe, Step::kSend,  Step::kSend};
    for (int swaps = 0; swaps < 3; ++swaps) {
      const size_t at = random() % (turns.size() - 1);
      std::swap(turns[at], turns[at + 1]);
    }
    script.insert(script.end(), turns.begin(), turns.end());
    const uint32_t event = (seed + round) % 6;
    if (event == 1) script.push_back(Step::kRestart);
    if (event == 3) script.insert(script.end(), {Step::kPowerOn, Step::kReset});
    if (event == 5) script.push_back(Step::kCancel);
  }
  return script;
}

class KillAtAnyStoreOf : public ::testing::TestWithParam<uint32_t> {};

TEST_P(KillAtAnyStoreOf, ASwapLeavesOneOwnerAndLosesNoMoreThanTheRuleSays) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer's own stores are stepped, too";
  std::string error;
  const Findings found = KillAtAnyStore<SwapLinks>(RandomScript(GetParam(), kRounds), &error);
  if (error == "ptrace is not permitted") GTEST_SKIP() << error;
  ASSERT_EQ(error, "");
  EXPECT_EQ(found.bad_owners, 0u) << found.owners;
  EXPECT_EQ(found.bad_frames, 0u) << found.frames;
  EXPECT_GT(found.kills, 200u) << "the script must have made the ends store something";
  std::printf("killed at %u stores, recovered in 3 ways each: %u violations\n", found.kills,
              found.bad_owners + found.bad_frames);
}
INSTANTIATE_TEST_SUITE_P(Scripts, KillAtAnyStoreOf, ::testing::Range(1u, 1 + kScripts));

TEST(KillAtAnyStore, TwoPlainRingsInsteadOfASwapFail) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer's own stores are stepped, too";
  std::string error;
  const Findings found = KillAtAnyStore<PlainRings>(RandomScript(1, kRounds), &error);
  if (error == "ptrace is not permitted") GTEST_SKIP() << error;
  ASSERT_EQ(error, "");
  EXPECT_GT(found.bad_owners, 0u);
  EXPECT_GT(found.bad_frames, 0u);
  std::printf(
      "killed at %u stores: %u with a region of two owners or none (%s); %u recoveries "
      "that lost, doubled or tore something (%s)\n",
      found.kills, found.bad_owners, found.owners.c_str(), found.bad_frames, found.frames.c_str());
}

/// Checks that the rings and the checker work without kills, so that the failures above must be
/// caused by kills.
TEST(KillAtAnyStore, BothKindsOfLinkPassWhileNobodyIsKilled) {
  const auto run = [](auto links) {
    using Links = decltype(links);
    for (uint32_t seed = 1; seed < 40; ++seed) {
      const SharedMemory memory(World<Links>::Bytes());
      World<Links> world(memory.span());
      for (const Step turn : RandomScript(seed, 12)) {
        const bool restart = turn == Step::kRestart || turn == Step::kPowerOn;
        if (!restart && turn != Step::kReset) world.Run(turn);
      }
      world.Quiesce();
      EXPECT_EQ(CheckJournal(world.journal(), {}), "") << seed;
      EXPECT_GT(world.journal().last_sent, 0u) << seed;
    }
  };
  run(SwapLinks());
  run(PlainRings());
}

}  // namespace
}  // namespace sluice::swap::test
