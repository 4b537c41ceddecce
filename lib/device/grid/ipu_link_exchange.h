// SPDX-License-Identifier: BSD-3-Clause
//
// The exchange block's work for a region link: it sends the frames of the region that it got from
// the host, answers the host's offers, and checks the frames. It answers offers after reading the
// frames and before checking them, so that the host can work during the checks.
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/grid/ipu_sent.h"
#include "device/grid/phases.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

struct IpuLinkMemory {
  IpuLinkEnd end;  ///< Copy of IpuLink::end during a turn.
  uint32_t sent;   ///< Number of frames that the last turn sent, including those of invalid
                   ///< entries.
  swap::Entry entries[kIpuSendWindow];
  Quad line[IpuLinkEnd::kQuads];     ///< The host's line.
  Quad confirm[IpuLinkEnd::kQuads];  ///< The same line, read again.
};

class IpuLinker {
 public:
  /// `shape`, `memory` and `sent` must be in the block's shared memory; `staging` must have room
  /// for kIpuStagingBytes bytes.
  IpuLinker(IpuCard& card, const WireShape& shape, const Team& team, IpuLinkMemory& memory,
            IpuSentMemory& sent, uint8_t* staging, uint32_t queue)
      : card_(card),
        link_(card.links[queue]),
        end_(memory.end),
        team_(team),
        memory_(memory),
        frames_(sent),
        sent_(card, shape, team_, sent, staging) {}

  void Turn() {
    team_.ForEach(kWords, [&](uint32_t i) { Words(end_)[i] = Load(&Words(link_.end)[i]); });
    const uint32_t sending = end_.sending;
    const bool sends = sending != IpuLinkEnd::kNone;
    team_.Sync();
    Phases phases(card_, team_, Phase::kSendSlots);
    if (sends) {
      Send(sending, phases);
      phases.Next(Phase::kSendComplete);
    }
    const bool changed = Poll(sends ? sending : IpuLinkEnd::kNone);
    if (changed) Confirm();
    team_.One([&] {
      if (changed ? AreEqual(memory_.line, memory_.confirm) : MayAnswer()) Hear();
      Add(&card_.counters[Crossing::kDescriptors], sizeof(bar::Line));
    });
    team_.ForEach(kWords - kConstantWords, [&](uint32_t i) {
      Store(&Words(link_.end)[kConstantWords + i], Words(end_)[kConstantWords + i]);
    });
    if (!sends) return;
    phases.Next(Phase::kSendCheck);
    sent_.Check();
    phases.End();
  }

  /// Implements swap::Resource. Called by one thread.
  swap::Answer Evaluate(const swap::Message& offer, swap::Reply& reply) {
    const auto taken = swap::Given::Of(offer.payload[swap::kGivenWord]);
    if (taken.region >= end_.geometry.regions || (end_.mine & swap::RegionBit(taken.region)) != 0) {
      card_.Count(regs::ipu::kStatLinkFaults);
      return swap::Answer::kFalse;
    }
    if (offer.phase == swap::Phase::kCancel) return swap::Answer::kFalse;
    uint32_t frames = 0;
    const bool wants_frames = offer.key == swap::kWantsFrames;
    if (!FindRegion(wants_frames, &frames)) {
      end_.waits = wants_frames ? IpuLinkEnd::kForFrames : IpuLinkEnd::kForRegion;
      return swap::Answer::kLater;
    }
    const uint32_t id = Load(&link_.regions[end_.given % swap::kMaxRegions]);
    reply.payload[swap::kGivenWord] = swap::Given{id, frames}.Word();
    reply.payload[swap::kTakenWord] = offer.payload[swap::kGivenWord];
    return swap::Answer::kTrue;
  }

 private:
  static constexpr uint32_t kWords = sizeof(IpuLinkEnd) / sizeof(uint64_t);
  static constexpr uint32_t kConstantWords = offsetof(IpuLinkEnd, heard) / sizeof(uint64_t);
  static uint64_t* Words(IpuLinkEnd& end) { return reinterpret_cast<uint64_t*>(&end); }

  /// Copies the next frames of region `id` into the staging memory.
  void Send(uint32_t id, Phases& phases) {
    const uint32_t at = end_.send_at, all = end_.send_count;
    const uint32_t count = Least(all - at, kIpuSendWindow);
    uint8_t* const region = end_.Region(id);
    ReadEntries(region, at, count);
    sent_.Measure(count);
    const uint32_t end = at + sent_.frames();
    // The cursor is stored before the frames are passed on, so that a later device does not send
    // them again: the frames are checked after Poll's barrier, and the region is supplied again
    // after Poll's fence.
    team_.Lead([&] {
      Store(reinterpret_cast<uint32_t*>(region + offsetof(swap::RegionHeader, cursor)), end);
    });
    phases.Next(Phase::kSendBytes);
    const auto data_of = [&](uint32_t frame) {
      return region + swap::EntryOffset(memory_.entries[frame]);
    };
    const uint64_t unaligned = team_.Sum(sent_.frames(), [&](uint32_t frame) -> uint64_t {
      return swap::EntryOffset(memory_.entries[frame]) % sizeof(Quad) != 0 ? 1 : 0;
    });
    if (unaligned == 0) {
      sent_.ReadWhole(data_of);
    } else {
      sent_.Read([&](uint32_t frame, uint32_t offset) {
        const uint32_t left = frames_.lengths[frame] - offset;
        return LoadAcross(data_of(frame) + offset, Least(left, sizeof(Quad)));
      });
    }
    team_.One([&] {
      memory_.sent = sent_.frames();
      end_.send_at = end;
      if (end == all) end_.sending = IpuLinkEnd::kNone;
      Add(&card_.counters[Crossing::kPayloadFromHost], uint64_t{sent_.flits()} * kFlitBytes);
      Add(&card_.counters[Crossing::kDescriptors], uint64_t{count} * sizeof(swap::Entry));
    });
  }

  /// Reads and checks `count` entries, starting with entry `at`. Each entry is read only once.
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
      const bool sound = !hole && swap::EntryIsSound(entry, end_.geometry);
      frames_.lengths[i] = static_cast<uint16_t>(sound ? swap::EntryLength(entry) : 0);
      frames_.orders[i] = hole ? kNoOrder : uint32_t{regs::ipu::kStatLinkBadEntry};
    });
  }

  const uint8_t* HostLine() const { return end_.memory + offsetof(swap::LinkHeader, host_line); }

  /// Polls the host's line. Returns whether the line differs from the one that was last processed.
  /// Meanwhile another warp supplies region `sent` again, unless `sent` is kNone or the region has
  /// not been sent completely.
  bool Poll(uint32_t sent) {
    team_.ForEach(kWarpThreads + 1, [&](uint32_t i) {
      if (i < IpuLinkEnd::kQuads) memory_.line[i] = LoadQuadAcquire(HostLine() + i * sizeof(Quad));
      if (i != kWarpThreads || sent == IpuLinkEnd::kNone) return;
      if (end_.sending != IpuLinkEnd::kNone) return FenceSystem();
      end_.Empty(sent);
      link_.Supply(sent);
    });
    return !AreEqual(memory_.line, end_.heard);
  }
  /// Reads the line again. A line is processed only if both reads are equal, because its words may
  /// be read in any order.
  void Confirm() {
    team_.ForEach(IpuLinkEnd::kQuads, [&](uint32_t i) {
      memory_.confirm[i] = LoadQuadAcquire(HostLine() + i * sizeof(Quad));
    });
  }
  /// Returns whether the line may be answered now although it has not changed.
  bool MayAnswer() {
    if (end_.look_again != 0 || end_.waits == IpuLinkEnd::kForRegion) return true;
    return end_.waits == IpuLinkEnd::kForFrames &&
           Load(&link_.head) != Load(&link_.StartOf(end_.given));
  }
  static bool AreEqual(const Quad* a, const Quad* b) {
    bool equal = true;
    for (uint32_t i = 0; i < IpuLinkEnd::kQuads; ++i) {
      equal &= a[i].low == b[i].low && a[i].high == b[i].high;
    }
    return equal;
  }

  /// Processes the host's line. Called by one thread.
  void Hear() {
    bar::Line line;
    for (uint32_t i = 0; i < IpuLinkEnd::kQuads; ++i) {
      line.word[2 * i] = memory_.line[i].low;
      line.word[2 * i + 1] = memory_.line[i].high;
      end_.heard[i] = memory_.line[i];
    }
    swap::Responder& responder = end_.responder();
    const bool faulted = responder.faulted(),
               without_memory = responder.state() == swap::State::kSync;
    const uint8_t binding = responder.identity().binding;
    const swap::Event event = responder.Hear(swap::Decode(line), *this);
    end_.Post();
    // If this end had lost its state, or if its peer has changed, it may now be able to process the
    // line.
    end_.look_again = without_memory || binding != responder.identity().binding ? 1 : 0;
    if (responder.faulted() && !faulted) card_.Count(regs::ipu::kStatLinkFaults);
    if (event != swap::Event::kNothing) end_.waits = IpuLinkEnd::kNothing;
    const bool committed = event == swap::Event::kCommitted;
    if (locked_) {
      if (committed) link_.Close();
      link_.Unlock();
    }
    if (committed) Exchange(responder.line().payload);
  }

  /// Determines whether the first region of the queue can be given, and how many frames it
  /// contains. Closes it if it contains frames. If it is open and empty, keeps the link locked.
  bool FindRegion(bool wants_frames, uint32_t* frames) {
    if (end_.sending != IpuLinkEnd::kNone || end_.given == Load(&link_.supplied)) return false;
    if (end_.given == Load(&link_.open)) {
      if (!link_.TryLock()) return false;
      const bool open = end_.given == Load(&link_.open), empty = open && Load(&link_.frames) == 0;
      if (empty && !wants_frames) return locked_ = true;
      if (open && !empty) link_.Close();
      link_.Unlock();
      if (empty) return false;
    }
    FenceCard();
    const uint32_t end = Load(&link_.StartOf(end_.given + 1));
    *frames = end - Load(&link_.StartOf(end_.given));
    return static_cast<int32_t>(Load(&link_.head) - end) >= 0;
  }

  /// Applies a committed exchange. The exchange's line must have been posted.
  void Exchange(const swap::Payload& exchange) {
    const auto given = swap::Given::Of(exchange[swap::kGivenWord]);
    const auto taken = swap::Given::Of(exchange[swap::kTakenWord]);
    ++end_.given;
    end_.mine = (end_.mine & ~swap::RegionBit(given.region)) | swap::RegionBit(taken.region);
    card_.Count(regs::ipu::kStatLinkSwaps);
    Add(&card_.counters[Crossing::kNotifications], sizeof(bar::Line));
    const uint32_t count = Least(taken.frames, end_.geometry.max_frames);
    if (count == 0) {
      end_.Empty(taken.region);
      return link_.Supply(taken.region);
    }
    end_.send_at = 0;
    end_.send_count = count;
    end_.sending = taken.region;
  }

  IpuCard& card_;
  IpuLink& link_;
  IpuLinkEnd& end_;
  const Team team_;
  IpuLinkMemory& memory_;
  IpuSentMemory& frames_;
  IpuSent sent_;
  bool locked_ = false;
};

}  // namespace sluice::device::grid
