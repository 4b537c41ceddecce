// SPDX-License-Identifier: BSD-3-Clause
//
// Applies the criteria's experiments to the interfaces whose ends agree on the owner of memory:
// bilateral and coherent.
#include <array>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "coherent/host_end.h"
#include "coherent/nic_end.h"
#include "criteria.h"
#include "swap/group.h"
#include "swap/host_link.h"
#include "swap/nic_link.h"

namespace sluice::criteria {
namespace {

std::string Number(const char* what, uint64_t number) {
  return std::string(what) + " " + std::to_string(number);
}

/// Page-aligned memory, filled with zeros.
class Memory {
 public:
  explicit Memory(size_t bytes)
      : bytes_(new (std::align_val_t{4096}) uint8_t[bytes]()), span_(bytes_.get(), bytes) {}
  std::span<uint8_t> span() const { return span_; }

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{4096}); }
  };
  std::unique_ptr<uint8_t[], Free> bytes_;
  std::span<uint8_t> span_;
};

constexpr swap::Geometry kSmall = {
    .regions = swap::kMinRegions, .region_bytes = 1 << 14, .max_frames = 16};

/// A link of regions with both of its ends.
struct Link {
  explicit Link(uint64_t window)
      : memory(swap::LinkMemory::BytesFor(kSmall)),
        host(swap::HostLink::Open(swap::LinkMemory::Format(memory.span(), kSmall), window)),
        nic(swap::NicLink::Open(memory.span(), host->epoch())) {}

  Memory memory;
  std::unique_ptr<swap::HostLink> host;
  std::unique_ptr<swap::NicLink> nic;
};

/// Makes six swaps with a NIC that answers late.
template <typename TimeOf>
std::string BilateralRun(uint64_t window, TimeOf time_of, uint64_t* suspects = nullptr) {
  Link link(window);
  uint64_t step = 0;
  for (int swaps = 0; swaps < 6; ++swaps) {
    for (int i = 0; i < 20 && !link.host->holding(); ++i) {
      link.host->Poll(time_of(step++));
      if (i % 3 == 2) link.nic->Serve();
    }
    if (link.host->holding()) link.host->Give(0, false);
  }
  const swap::HostLinkCounters& counters = link.host->counters();
  if (suspects != nullptr) *suspects = counters.suspects;
  return Number("swaps", counters.swaps) + ", " + Number("rejected", counters.rejected);
}

/// An endpoint of a process, with both of its ends.
struct Endpoint {
  explicit Endpoint(const coherent::NicOptions& options)
      : bytes(kGeometry.Bytes()),
        nic(coherent::EndpointMemory::Format(bytes.span(), kGeometry), options, 0),
        host(coherent::EndpointMemory::Find(bytes.span()), coherent::WaitMethod::kPause) {}

  // Delivers a request to a waiting host, which keeps holding it.
  void Hold(uint64_t now) {
    host.Wait(0);
    nic.Look(coherent::Pair::kReceive, now);
    nic.Deliver(coherent::Pair::kReceive, {.kind = coherent::Kind::kRequest, .code = 5}, 1, 1);
    host.Wait(0);
  }

  static constexpr coherent::Geometry kGeometry{.overflow_lines = 2, .buffer_bytes = 4096};
  Memory bytes;
  coherent::NicEnd nic;
  coherent::HostEnd host;
};
constexpr coherent::NicOptions kOptions{.process = 1};

coherent::Content Reply(uint64_t status) {
  return {.kind = coherent::Kind::kReply, .code = status};
}

/// A host waits, gets a request, is asked to leave, returns the reply and leaves.
template <typename TimeOf>
std::string CoherentRun(const coherent::NicOptions& options, TimeOf time_of) {
  constexpr auto kReceive = coherent::Pair::kReceive;
  Endpoint e(options);
  uint64_t step = 0;
  e.Hold(time_of(step++));
  e.nic.Preempt(time_of(step++));
  for (int i = 0; i < 2; ++i) e.nic.Look(kReceive, time_of(step++));
  e.host.Return(Reply(0));
  e.host.Wait(0);
  for (int i = 0; i < 4; ++i) {
    e.nic.Look(kReceive, time_of(step++));
    e.host.Wait(0);
  }
  const coherent::NicCounters& counters = e.nic.counters(kReceive);
  return Number("replied", counters.replied) + ", " + Number("lost", counters.lost) + ", " +
         Number("overdue", counters.overdue);
}

/// A keeper and two members, which read each other's lines directly.
struct Group {
  // Lets each end read its peer's line; the members' outcomes are appended to `seen`.
  void Exchange() {
    for (int i = 0; i < 6; ++i) {
      for (size_t m = 0; m < members.size(); ++m) {
        keeper.Hear(m, members[m].line());
        if (const auto result = members[m].Hear(keeper.line(m))) {
          seen += result->outcome == swap::Outcome::kCommitted ? " C" : " X";
          seen += result->too_late ? " (cancelled too late)" : "";
        }
      }
    }
  }
  void Offer(uint64_t round, size_t member) {
    members[member].MakeOffer(swap::JoinRound(round, {member + 1}));
  }

  swap::Keeper keeper{swap::kKeeper, 2, 1, 1};
  std::array<swap::Initiator, 2> members{swap::Initiator(swap::kTwoMessage, 1, 1),
                                         swap::Initiator(swap::kTwoMessage, 1, 1)};
  std::string seen;
};

/// Makes three rounds. Windows expire at all parties after each exchange, or never.
std::string GroupRun(bool expire) {
  Group group;
  group.Exchange();
  for (uint64_t round = 1; round <= 3; ++round) {
    for (size_t member = 0; member < 2; ++member) {
      group.Offer(round, member);
      group.Exchange();
      if (!expire) continue;
      group.keeper.Expire();
      for (swap::Initiator& end : group.members) end.Expire();
    }
    group.keeper.Join({});
    group.Exchange();
  }
  return "outcomes at the members" + group.seen;
}

}  // namespace

Subject GroupOfParties() {
  const std::string never = GroupRun(false), always = GroupRun(true);
  // A member withdraws its offer before the commit, and after it.
  Group before, after;
  for (Group* group : {&before, &after}) {
    group->Exchange();
    group->keeper.Join({});
    group->Offer(1, 0);
  }
  before.members[0].Cancel();
  before.Offer(1, 1);
  before.Exchange();
  after.keeper.Hear(0, after.members[0].line());
  after.Offer(1, 1);
  const auto decided = after.keeper.Hear(1, after.members[1].line());
  after.members[0].Cancel();
  after.Exchange();
  const bool agree = before.seen == " X X" && decided && decided->committed &&
                     after.seen == " C (cancelled too late) C";
  return {"swap, N parties",
          {{Criterion::kClocks, Verdict::kFree, "no function has a time as a parameter; " + never},
           {Criterion::kTimeouts, never == always ? Verdict::kFree : Verdict::kFito,
            "windows expire never or at every step: " +
                (never == always ? never : never + "; " + always)},
           {Criterion::kConflicts, agree ? Verdict::kFree : Verdict::kFito,
            "cancel before the commit:" + before.seen + "; after it:" + after.seen},
           {Criterion::kUndo, agree ? Verdict::kPartly : Verdict::kFito,
            "an offer is withdrawn without a log until the commit point"}}};
}

Subject Bilateral() {
  constexpr uint64_t kWindow = 10'000'000;  // 10 ms in steps of 1 ms
  bool equal = false, suspects_equally = true;
  std::string suspicions;
  const std::string clocks = UnderClocks(
      [&](Clock clock) {
        uint64_t suspects = 0;
        const std::string seen = BilateralRun(
            kWindow, [=](uint64_t step) { return At(clock, step); }, &suspects);
        suspicions += (suspicions.empty() ? "" : ", ") + std::to_string(suspects);
        suspects_equally &= suspects == 0;
        return seen;
      },
      equal);

  uint64_t at_zero = 0, at_end = 0;
  const auto normal = [](uint64_t step) { return At(Clock::kNormal, step); };
  const std::string zero = BilateralRun(0, normal, &at_zero);
  const std::string endless = BilateralRun(~uint64_t{0}, normal, &at_end);

  // The host withdraws its offer, before and after the NIC's commit.
  Link before(kWindow), after(kWindow);
  for (Link* link : {&before, &after}) {
    for (int i = 0; i < 6; ++i) link->nic->Serve(), link->host->Poll(1);
    link->host->Give(0, true);  // Waits for frames.
    link->host->Poll(1);
  }
  const uint64_t region = before.host->region().base - before.memory.span().data();
  before.host->Cancel();
  after.nic->Reserve(60), after.nic->Publish(60);
  for (int i = 0; i < 4; ++i) after.nic->Serve();
  after.host->Cancel();
  for (Link* link : {&before, &after}) {
    for (int i = 0; i < 6; ++i) link->nic->Serve(), link->host->Poll(1);
  }
  const bool kept =
      before.host->holding() &&
      before.host->region().base - before.memory.span().data() == static_cast<ptrdiff_t>(region);
  const uint64_t late = after.host->counters().too_late;
  return {"bilateral",
          {{Criterion::kClocks,
            !equal             ? Verdict::kFito
            : suspects_equally ? Verdict::kFree
                               : Verdict::kPartly,
            clocks + "; suspicions of a live NIC, by clock: " + suspicions},
           {Criterion::kTimeouts,
            zero != endless     ? Verdict::kFito
            : at_zero != at_end ? Verdict::kPartly
                                : Verdict::kFree,
            "window 0 or endless: " + zero + "; " + Number("suspicions", at_zero) + " or " +
                std::to_string(at_end)},
           {Criterion::kConflicts,
            kept && late == 1 && after.host->counters().swaps == before.host->counters().swaps + 1
                ? Verdict::kFree
                : Verdict::kFito,
            "cancel against commit: " + std::string(kept ? "rejected at both ends" : "unclear") +
                " before the commit, " + (late == 1 ? "committed at both ends" : "unclear") +
                " after it"},
           {Criterion::kUndo, kept ? Verdict::kPartly : Verdict::kFito,
            std::string("an offer is withdrawn without a log: ") +
                (kept ? "the same region returns" : "the region is lost") +
                "; a committed swap is not undone"}}};
}

Subject Coherent() {
  bool equal = false;
  const std::string clocks = UnderClocks(
      [](Clock clock) {
        return CoherentRun(kOptions, [=](uint64_t step) { return At(clock, step); });
      },
      equal);
  const auto normal = [](uint64_t step) { return At(Clock::kNormal, step); };
  const std::string zero = CoherentRun({.process = 1, .leave_ns = 0}, normal);
  const std::string endless = CoherentRun({.process = 1, .leave_ns = ~uint64_t{0}}, normal);
  const std::string loads_zero = CoherentRun({.process = 1, .try_again_ns = 0}, normal);
  const std::string loads_endless =
      CoherentRun({.process = 1, .try_again_ns = ~uint64_t{0}}, normal);

  // The NIC wants the core while the host holds a request.
  Endpoint conflict({.process = 1, .leave_ns = ~uint64_t{0}});
  conflict.Hold(1);
  conflict.nic.Preempt(1);
  conflict.host.Return(Reply(7));
  conflict.host.Wait(0);
  for (int i = 0; i < 4; ++i) conflict.nic.Look(coherent::Pair::kReceive, 1), conflict.host.Wait(0);
  const coherent::NicCounters& counters = conflict.nic.counters(coherent::Pair::kReceive);

  // The host replaces its reply before its next load, and cannot replace it afterwards.
  Endpoint undo(kOptions);
  undo.Hold(1);
  undo.host.Return(Reply(7));
  const bool replaced = undo.host.Return(Reply(8));
  undo.host.Wait(0);
  const bool late = undo.host.Return(Reply(9));
  undo.nic.Look(coherent::Pair::kReceive, 1);
  const uint64_t status = undo.nic.returned(coherent::Pair::kReceive).status;
  return {"coherent",
          {{Criterion::kClocks, equal ? Verdict::kFree : Verdict::kFito, clocks},
           {Criterion::kTimeouts,
            zero == endless && loads_zero == loads_endless ? Verdict::kFree : Verdict::kFito,
            "limit to leave 0: " + zero + "; endless: " + endless +
                ". Limit of a load 0: " + loads_zero + "; endless: " + loads_endless},
           {Criterion::kConflicts,
            counters.replied == 1 && counters.left == 1 ? Verdict::kFree : Verdict::kFito,
            "the NIC asks for the core while the host holds a request: " +
                Number("replied", counters.replied) + ", " + Number("left", counters.left) + ", " +
                Number("lost", counters.lost)},
           {Criterion::kUndo, replaced && !late && status == 8 ? Verdict::kPartly : Verdict::kFito,
            std::string("a reply is replaced before the next load: ") + (replaced ? "yes" : "no") +
                "; after it: " + (late ? "yes" : "no")}}};
}

}  // namespace sluice::criteria
