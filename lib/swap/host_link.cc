// SPDX-License-Identifier: BSD-3-Clause
#include "swap/host_link.h"

#include <algorithm>
#include <bit>

#include "bar/load_once.h"

namespace sluice::swap {
namespace {

Message ReadMessage(const bar::Line& shared) {
  bar::Line line;
  bar::ReadLine(shared, line);
  return Decode(line);
}

}  // namespace

HostLink::HostLink(LinkMemory memory, Initiator end, uint64_t window_cycles)
    : memory_(memory),
      window_(memory.header().host_line, memory.header().nic_line),
      port_(window_, 0, end),
      window_cycles_(window_cycles) {}

std::unique_ptr<HostLink> HostLink::Open(LinkMemory memory, uint64_t window_cycles) {
  const Message own = ReadMessage(memory.header().host_line);
  const Message nic = ReadMessage(memory.header().nic_line);
  const auto epoch = static_cast<uint16_t>(own.epoch + 1);
  std::unique_ptr<HostLink> link(new HostLink(memory,
                                              Resumable(own)
                                                  ? Initiator::Resume(kTwoMessage, epoch, own)
                                                  : Initiator(kTwoMessage, epoch, 1),
                                              window_cycles));
  link->Resume(own, nic);
  return link;
}

// Continues the offer of an earlier process if the host's line contains one. Otherwise the host
// holds the recorded region.
void HostLink::Resume(const Message& own, const Message& nic) {
  const uint64_t owners = memory_.RecordedOwners();
  if (!IsOneRegion(owners, geometry())) {
    faulted_ = true;
    ++counters_.faults;
    return;
  }
  region_ = memory_.region(static_cast<uint32_t>(std::countr_zero(owners)));
  if (!InDoubt()) return Discard();
  resumed_ = true;
  offer_ = {own.key, own.payload, true};
  const bool resolved = nic.txid == own.txid && nic.phase >= Phase::kCommitted;
  counters_.in_doubt += !resolved;
}

// Discards and counts the frames that an earlier process left in the region.
void HostLink::Discard() {
  RegionHeader& header = region_.header();
  counters_.discarded_pkts += std::min(bar::LoadOnce(header.count), geometry().max_frames);
  header.count = 0;
  header.kind = RegionKind::kFree;
  Hold(0);
}

void HostLink::Hold(uint32_t received) {
  received_ = std::min(received, geometry().max_frames);
  holding_ = true;
}

void HostLink::Give(uint32_t frames, bool wait_for_frames) {
  RegionHeader& header = region_.header();
  header.cursor = 0;
  header.count = frames;
  header.kind = frames == 0 ? RegionKind::kFree : RegionKind::kToSend;
  offer_.key = wait_for_frames ? kWantsFrames : kAnyRegion;
  offer_.payload = {Given{region_.id, frames}.Word()};
  holding_ = false;
  MakeOffer();
}

void HostLink::MakeOffer() {
  offer_due_ = !port_.end().CanOffer();
  if (offer_due_) return;
  port_.MakeOffer(offer_);
  since_cycles_ = 0;
}

bool HostLink::Cancel() {
  if (holding_ || faulted()) return false;
  if (!offer_due_) return port_.Cancel();
  offer_due_ = false;
  ++counters_.rejected;
  Hold(0);
  return true;
}

// Inlined, so that Poll keeps the result in registers.
inline void HostLink::AcceptCommit(const Result& result) {
  const Given given = Given::Of(result.payload[kGivenWord]);
  const Given taken = Given::Of(result.payload[kTakenWord]);
  // An earlier process may have recorded this outcome and then used the region.
  const bool recorded = resumed_ && given.region == region_.id;
  const bool as_offered = resumed_ || result.payload[kTakenWord] == offer_.payload[kGivenWord];
  const bool sound = given.region < geometry().regions && taken.region < geometry().regions &&
                     given.region != taken.region && as_offered &&
                     (recorded || taken.region == region_.id);
  if (!sound) {
    faulted_ = true;
    ++counters_.faults;
    return;
  }
  if (recorded) return Discard();
  memory_.RecordOwners(RegionBit(given.region));
  region_ = memory_.region(given.region);
  Hold(given.frames);
}

inline void HostLink::Receive(const Result& result) {
  counters_.too_late += result.too_late;
  if (result.outcome == Outcome::kCommitted) [[likely]] {
    ++counters_.swaps;
    AcceptCommit(result);
  } else if (result.outcome == Outcome::kRejected) {
    ++counters_.rejected;
    resumed_ ? Discard() : Hold(0);
  } else {
    // kOrphaned cannot occur: the NIC's line is in shared memory, so the NIC cannot lose it.
    faulted_ = true;
    ++counters_.faults;
  }
  resumed_ = false;
}

bool HostLink::Poll(uint64_t now_cycles) {
  if (faulted_) return false;
  if (const std::optional<Result> result = port_.Poll()) {
    Receive(*result);
    return holding_;
  }
  if (offer_due_) {
    MakeOffer();
  } else if (InDoubt() && offer_.key == kAnyRegion && !suspect()) {
    if (since_cycles_ == 0) {
      since_cycles_ = now_cycles;
    } else if (now_cycles - since_cycles_ > window_cycles_) {
      port_.Expire();
      ++counters_.suspects;
    }
  }
  return false;
}

void HostLink::Reset() {
  ++counters_.resets;
  counters_.in_doubt += InDoubt();
  since_cycles_ = 0;
  port_.Reset(static_cast<uint16_t>(epoch() + 1));
}

}  // namespace sluice::swap
