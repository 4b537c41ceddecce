// SPDX-License-Identifier: BSD-3-Clause
//
// The exchange block's work for a link of regions: it sends the frames of the region that the host
// gave, answers the host's offers, and checks the frames. Offers are answered between the reads and
// the checks, so that the host works while the block checks.
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/ipu_sent.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

struct IpuLinkMemory : IpuSentMemory {
  uint32_t sent;  ///< Frames that the last turn sent, including those of invalid entries.
  swap::Entry entries[kIpuSendWindow];
  Quad line[IpuLink::kQuads];     ///< The host's line.
  Quad confirm[IpuLink::kQuads];  ///< The same line, read again.
};

class IpuLinker {
 public:
  /// `shape` and `memory` are in the block's shared memory; `staging` has room for
  /// kIpuStagingBytes.
  IpuLinker(IpuCard& card, const WireShape& shape, const Team& team, IpuLinkMemory& memory,
            uint8_t* staging, uint32_t queue)
      : card_(card),
        link_(card.links[queue]),
        team_(team),
        memory_(memory),
        sent_(card, shape, team_, memory, staging) {}

  void Turn() {
    const auto id = static_cast<uint32_t>(team_.Agree([&] { return link_.sending; }));
    const bool sends = id != IpuLink::kNone;
    Phases phases(card_, team_, Phase::kSendSlots);
    if (sends) {
      Send(id, phases);
      phases.Next(Phase::kSendComplete);
    }
    Answer();
    team_.Lead([&] { Add(&card_.counters[Crossing::kDescriptors], sizeof(bar::Line)); });
    if (!sends) return;
    phases.Next(Phase::kSendCheck);
    sent_.Check();
    phases.End();
  }

  /// Implements swap::Resource. Called by one thread.
  swap::Answer Evaluate(const swap::Message& offer, swap::Reply& reply) {
    const auto taken = swap::Given::Of(offer.payload[swap::kGivenWord]);
    if (taken.region >= link_.geometry.regions ||
        (link_.mine & swap::RegionBit(taken.region)) != 0) {
      card_.Count(regs::ipu::kStatLinkFaults);
      return swap::Answer::kFalse;
    }
    if (offer.phase == swap::Phase::kCancel) return swap::Answer::kFalse;
    uint32_t frames = 0;
    const bool found = FindRegion(offer.key == swap::kWantsFrames, &frames);
    link_.waits = found ? 0 : 1;
    if (!found) return swap::Answer::kLater;
    const uint32_t id = Load(&link_.regions[link_.given % swap::kMaxRegions]);
    reply.payload[swap::kGivenWord] = swap::Given{id, frames}.Word();
    reply.payload[swap::kTakenWord] = offer.payload[swap::kGivenWord];
    return swap::Answer::kTrue;
  }

 private:
  /// Copies the next frames of region `id` into the staging memory.
  void Send(uint32_t id, Phases& phases) {
    const uint64_t both =
        team_.Agree([&] { return link_.send_at | uint64_t{link_.send_count} << 32; });
    const auto at = static_cast<uint32_t>(both), all = static_cast<uint32_t>(both >> 32);
    const uint32_t count = Least(all - at, kIpuSendWindow);
    uint8_t* const region = link_.Region(id);
    ReadEntries(region, at, count);
    sent_.Measure(count);
    const uint32_t end = at + sent_.frames();
    // Stored before the frames are passed on, so that a later device does not send them again.
    team_.Lead([&] {
      Store(reinterpret_cast<uint32_t*>(region + offsetof(swap::RegionHeader, cursor)), end);
      FenceSystem();
    });
    phases.Next(Phase::kSendBytes);
    sent_.Read([&](uint32_t frame, uint32_t offset) {
      const uint32_t left = memory_.lengths[frame] - offset;
      return LoadAcross(region + swap::EntryOffset(memory_.entries[frame]) + offset,
                        Least(left, sizeof(Quad)));
    });
    team_.One([&] {
      memory_.sent = sent_.frames();
      link_.send_at = end;
      if (end == all) {
        link_.sending = IpuLink::kNone;
        link_.Supply(id);
      }
      Add(&card_.counters[Crossing::kPayloadFromHost], uint64_t{sent_.flits()} * kFlitBytes);
      Add(&card_.counters[Crossing::kDescriptors], uint64_t{count} * sizeof(swap::Entry));
    });
  }

  /// Reads and checks `count` entries from entry `at` on. Each entry is read once.
  void ReadEntries(const uint8_t* region, uint32_t at, uint32_t count) {
    constexpr uint32_t kEach = sizeof(Quad) / sizeof(swap::Entry);
    const uint32_t first = at / kEach, quads = (at + count + kEach - 1) / kEach - first;
    team_.ForEach(quads, [&](uint32_t i) {
      const Quad quad =
          LoadQuad(region + swap::kRegionLineBytes + (first + i) * uint64_t{sizeof(Quad)});
      for (uint32_t part = 0; part < kEach; ++part) {
        const uint32_t entry = (first + i) * kEach + part - at;
        const uint64_t word = part < 2 ? quad.low : quad.high;
        if (entry < count) memory_.entries[entry] = static_cast<swap::Entry>(word >> part % 2 * 32);
      }
    });
    team_.ForEach(count, [&](uint32_t i) {
      const swap::Entry entry = memory_.entries[i];
      const bool hole = swap::EntryLength(entry) == 0;
      const bool sound = !hole && swap::EntryIsSound(entry, link_.geometry);
      memory_.lengths[i] = static_cast<uint16_t>(sound ? swap::EntryLength(entry) : 0);
      memory_.orders[i] = hole ? kNoOrder : uint32_t{regs::ipu::kStatLinkBadEntry};
    });
  }

  /// Polls the host's line and answers it. A line is processed if two reads of it are equal,
  /// because the order of the reads of its words is undefined.
  void Answer() {
    const uint8_t* const line = link_.memory + offsetof(swap::LinkHeader, host_line);
    team_.ForEach(IpuLink::kQuads,
                  [&](uint32_t i) { memory_.line[i] = LoadQuad(line + i * sizeof(Quad)); });
    enum : uint64_t { kIdle, kKnown, kNew };
    const uint64_t state = team_.Agree([&]() -> uint64_t {
      if (!AreEqual(memory_.line, link_.heard)) return kNew;
      return link_.waits != 0 || link_.look_again != 0 ? kKnown : kIdle;
    });
    if (state == kIdle) return;
    if (state == kNew) {
      team_.ForEach(IpuLink::kQuads,
                    [&](uint32_t i) { memory_.confirm[i] = LoadQuad(line + i * sizeof(Quad)); });
    }
    team_.One([&] {
      if (state == kKnown || AreEqual(memory_.line, memory_.confirm)) Hear();
    });
  }
  static bool AreEqual(const Quad* a, const Quad* b) {
    bool equal = true;
    for (uint32_t i = 0; i < IpuLink::kQuads; ++i) {
      equal &= a[i].low == b[i].low && a[i].high == b[i].high;
    }
    return equal;
  }

  /// Processes the host's line. Called by one thread.
  void Hear() {
    bar::Line line;
    for (uint32_t i = 0; i < IpuLink::kQuads; ++i) {
      line.word[2 * i] = memory_.line[i].low;
      line.word[2 * i + 1] = memory_.line[i].high;
      link_.heard[i] = memory_.line[i];
    }
    swap::Responder& end = link_.end();
    const bool faulted = end.faulted(), without_memory = end.state() == swap::State::kSync;
    const uint8_t binding = end.identity().binding;
    const swap::Event event = end.Hear(swap::Decode(line), *this);
    link_.Post();
    // If this end had no memory, or its peer has changed, it may now be able to process the line.
    link_.look_again = without_memory || binding != end.identity().binding ? 1 : 0;
    if (end.faulted() && !faulted) card_.Count(regs::ipu::kStatLinkFaults);
    if (event != swap::Event::kNothing) link_.waits = 0;
    const bool committed = event == swap::Event::kCommitted;
    if (locked_) {
      if (committed) link_.Close();
      link_.Unlock();
    }
    if (committed) Exchange(end.line().payload);
  }

  /// Finds out whether the first region of the queue can be given, and how many frames it contains.
  /// Closes it if it contains frames. If it is open and empty, keeps the link locked.
  bool FindRegion(bool wants_frames, uint32_t* frames) {
    if (link_.sending != IpuLink::kNone || !link_.TryLock()) return false;
    if (link_.given == Load(&link_.open)) {
      if (link_.given == link_.supplied || (wants_frames && Load(&link_.frames) == 0)) {
        link_.Unlock();
        return false;
      }
      if (Load(&link_.frames) == 0) {
        locked_ = true;
        return true;
      }
      link_.Close();
    }
    const uint32_t end = Load(&link_.StartOf(link_.given + 1));
    *frames = end - Load(&link_.StartOf(link_.given));
    link_.Unlock();
    return static_cast<int32_t>(Load(&link_.head) - end) >= 0;
  }

  /// Applies a committed exchange, whose line is posted.
  void Exchange(const swap::Payload& exchange) {
    const auto given = swap::Given::Of(exchange[swap::kGivenWord]);
    const auto taken = swap::Given::Of(exchange[swap::kTakenWord]);
    ++link_.given;
    link_.mine = (link_.mine & ~swap::RegionBit(given.region)) | swap::RegionBit(taken.region);
    card_.Count(regs::ipu::kStatLinkSwaps);
    Add(&card_.counters[Crossing::kNotifications], sizeof(bar::Line));
    const uint32_t count = Least(taken.frames, link_.geometry.max_frames);
    if (count == 0) return link_.Supply(taken.region);
    link_.send_at = 0;
    link_.send_count = count;
    link_.sending = taken.region;
  }

  IpuCard& card_;
  IpuLink& link_;
  const Team team_;
  IpuLinkMemory& memory_;
  IpuSent sent_;
  bool locked_ = false;
};

}  // namespace sluice::device::grid
