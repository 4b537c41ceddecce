// SPDX-License-Identifier: BSD-3-Clause
//
// What a monitor counts of frames, sources and streams, besides its drops. What it counts of
// lines is the scanner's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace sluice::engine::logmon {

/// One worker's. Its own to write; others read through Load.
struct SourceCounters {
  enum Event : uint8_t {
    kSyslogMessages,   ///< Datagrams to a syslog port, and messages of streams.
    kWithoutPriority,  ///< Of them: no valid priority; the whole message is text.
    kLineDatagrams,    ///< Datagrams to a port for lines.
    kTcpSegments,      ///< To an observed port, with text or without.
    kTextBytes,        ///< Given to the scanner.
    kOther,            ///< Frames that hold no log text.
    kMalformed,        ///< Frames with a header that does not fit, or contradicts another.
    kFragments,        ///< Of UDP or TCP: whose text it is cannot be said.
    kBadChecksum,      ///< Of text; UDP over IPv6 also without one.
    kNewSources,
    kEvictedSources,     ///< Gave place to a new one; an unfinished line with it.
    kIdleSources,        ///< Forgotten after the idle time.
    kStreams,            ///< TCP: seen from their SYN on.
    kJoinedStreams,      ///< TCP: joined in their middle, or lost and found again.
    kFinishedStreams,    ///< TCP: by FIN or RST.
    kWaitingSegments,    ///< TCP: came before their turn.
    kRepeatedBytes,      ///< TCP: came again after they were delivered.
    kOutsideSegments,    ///< TCP: out of the window: not believed.
    kBehindEndSegments,  ///< TCP: text behind the end of its stream: not believed.
    kIgnoredResets,      ///< TCP: at a sequence number that the receiver would not accept.
    kGaps,               ///< TCP: places where bytes were given up.
    kGapBytes,           ///< TCP: as far as their number is known.
    kNoRoomSegments,     ///< TCP: could not wait; the bytes before them were given up.
    kEvents
  };
  static constexpr std::array<std::string_view, kEvents> kNames{"syslog_messages",
                                                                "without_priority",
                                                                "line_datagrams",
                                                                "tcp_segments",
                                                                "text_bytes",
                                                                "other_frames",
                                                                "malformed_frames",
                                                                "fragments",
                                                                "bad_checksum",
                                                                "new_sources",
                                                                "evicted_sources",
                                                                "idle_sources",
                                                                "streams",
                                                                "joined_streams",
                                                                "finished_streams",
                                                                "waiting_segments",
                                                                "repeated_bytes",
                                                                "outside_segments",
                                                                "behind_end_segments",
                                                                "ignored_resets",
                                                                "gaps",
                                                                "gap_bytes",
                                                                "no_room_segments"};

  std::array<uint64_t, kEvents> events{};

  /// The owner alone.
  void Count(Event event, uint64_t amount = 1) {
    std::atomic_ref(events[event]).store(events[event] + amount, std::memory_order_relaxed);
  }
  /// Any thread.
  uint64_t Load(Event event) const {
    return std::atomic_ref(const_cast<uint64_t&>(events[event])).load(std::memory_order_relaxed);
  }
};

}  // namespace sluice::engine::logmon
