// SPDX-License-Identifier: BSD-3-Clause
//
// A monitor's counters for frames, sources and streams. Drops are counted elsewhere, and the
// scanner counts lines.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/counter_rows.h"

namespace sluice::engine::logmon {

/// One worker's counters. Only the worker writes them; other threads read through Load.
struct SourceCounters {
  enum Event : uint8_t {
    kSyslogMessages,   ///< Datagrams to a syslog port, and messages in streams.
    kWithoutPriority,  ///< Messages without a valid priority, whose bytes are all text.
    kLineDatagrams,    ///< Datagrams to a port for lines.
    kTcpSegments,      ///< Segments to an observed port, with or without text.
    kTextBytes,        ///< Bytes passed to the scanner.
    kOther,            ///< Frames without log text.
    kMalformed,        ///< Frames with a header that is too long or contradicts another header.
    kFragments,        ///< UDP or TCP fragments; their source is unknown.
    kBadChecksum,      ///< Wrong checksum of log text; over IPv6 also UDP without one.
    kNewSources,
    kEvictedSources,     ///< Replaced by a new source; unfinished lines are lost.
    kIdleSources,        ///< Removed after the idle time.
    kStreams,            ///< TCP: seen from their SYN on.
    kJoinedStreams,      ///< TCP: first seen in the middle, or resumed after a loss.
    kFinishedStreams,    ///< TCP: ended by FIN or RST.
    kWaitingSegments,    ///< TCP: arrived before earlier bytes.
    kRepeatedBytes,      ///< TCP: received again after delivery.
    kOutsideSegments,    ///< TCP: ignored because of an implausible sequence number.
    kBehindEndSegments,  ///< TCP: with text after the end of the stream; this text is ignored.
    kIgnoredResets,   ///< TCP: RST that was ignored: there was no open stream, it was outside the
                      ///< window, or later text refuted it.
    kGaps,            ///< TCP: positions where missing bytes were skipped.
    kGapBytes,        ///< TCP: skipped bytes, if their number is known.
    kNoRoomSegments,  ///< TCP: there was no room to wait, so the bytes before them were skipped.
    kEvents
  };
  static constexpr auto kNames =
      base::Names<Event, kEvents>({{kSyslogMessages, "syslog_messages"},
                                   {kWithoutPriority, "without_priority"},
                                   {kLineDatagrams, "line_datagrams"},
                                   {kTcpSegments, "tcp_segments"},
                                   {kTextBytes, "text_bytes"},
                                   {kOther, "other_frames"},
                                   {kMalformed, "malformed_frames"},
                                   {kFragments, "fragments"},
                                   {kBadChecksum, "bad_checksum"},
                                   {kNewSources, "new_sources"},
                                   {kEvictedSources, "evicted_sources"},
                                   {kIdleSources, "idle_sources"},
                                   {kStreams, "streams"},
                                   {kJoinedStreams, "joined_streams"},
                                   {kFinishedStreams, "finished_streams"},
                                   {kWaitingSegments, "waiting_segments"},
                                   {kRepeatedBytes, "repeated_bytes"},
                                   {kOutsideSegments, "outside_segments"},
                                   {kBehindEndSegments, "behind_end_segments"},
                                   {kIgnoredResets, "ignored_resets"},
                                   {kGaps, "gaps"},
                                   {kGapBytes, "gap_bytes"},
                                   {kNoRoomSegments, "no_room_segments"}});

  std::array<uint64_t, kEvents> events{};

  /// Adds to a counter. May be called only by the owning worker.
  void Count(Event event, uint64_t amount = 1) {
    std::atomic_ref(events[event]).store(events[event] + amount, std::memory_order_relaxed);
  }
  /// Loads a counter. May be called by any thread.
  uint64_t Load(Event event) const {
    return std::atomic_ref(const_cast<uint64_t&>(events[event])).load(std::memory_order_relaxed);
  }
};

}  // namespace sluice::engine::logmon
