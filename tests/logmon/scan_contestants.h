// SPDX-License-Identifier: BSD-3-Clause
//
// The contestants in sluice-logmon-bench. Each contestant scans the same text once per round.
#pragma once

#include <hs/hs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/monitor.h"
#include "engine/logmon/scan/line_scanner.h"
#include "logmon/frames.h"
#include "packet/burst.h"
#include "packet/frame_length.h"

namespace sluice::test {

inline void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "sluice-logmon-bench: %s\n", what);
  std::exit(1);
}

template <typename Work>
void ForEachChunk(std::string_view text, size_t bytes, Work&& work) {
  for (size_t at = 0; at < text.size(); at += bytes) work(text.substr(at, bytes));
}

/// Bare hs_scan_stream with one stream in memory, in chunks.
class BareStream {
 public:
  explicit BareStream(const std::vector<std::string>& expressions) {
    std::vector<const char*> patterns;
    std::vector<unsigned> ids;
    std::vector<unsigned> flags(expressions.size(), engine::logmon::RuleSet::kHyperscanFlags);
    for (const std::string& expression : expressions) {
      ids.push_back(static_cast<unsigned>(ids.size()));
      patterns.push_back(expression.c_str());
    }
    hs_compile_error_t* wrong = nullptr;
    Check(hs_compile_multi(patterns.data(), flags.data(), ids.data(),
                           static_cast<unsigned>(patterns.size()), HS_MODE_STREAM, nullptr,
                           &database_, &wrong) == HS_SUCCESS,
          "the stream database failed");
    Check(hs_alloc_scratch(database_, &scratch_) == HS_SUCCESS, "no scratch");
  }
  ~BareStream() {
    hs_free_scratch(scratch_);
    hs_free_database(database_);
  }
  BareStream(const BareStream&) = delete;

  /// Returns the number of reports.
  uint64_t Scan(std::string_view text, size_t chunk_bytes) {
    uint64_t reported = 0;
    const auto count = [](unsigned, unsigned long long, unsigned long long, unsigned,
                          void* counter) {
      ++*static_cast<uint64_t*>(counter);
      return 0;
    };
    hs_stream_t* stream = nullptr;
    Check(hs_open_stream(database_, 0, &stream) == HS_SUCCESS, "no stream");
    ForEachChunk(text, chunk_bytes, [&](std::string_view chunk) {
      hs_scan_stream(stream, chunk.data(), static_cast<unsigned>(chunk.size()), 0, scratch_, count,
                     &reported);
    });
    hs_close_stream(stream, scratch_, count, &reported);
    return reported;
  }

 private:
  hs_database_t* database_ = nullptr;
  hs_scratch_t* scratch_ = nullptr;
};

/// Runs the scanner with one source in memory and the same chunks. The collected text is matched
/// after every 64 chunks, as after a burst of an interface.
inline void ScanLines(engine::logmon::LineScanner& scanner, std::string_view text,
                      size_t chunk_bytes) {
  constexpr uint32_t kChunksAtOnce = 64;
  engine::logmon::LineState state;
  const auto sink = [](const engine::logmon::MatchedLine&) {};
  uint32_t chunks = 0;
  ForEachChunk(text, chunk_bytes, [&](std::string_view chunk) {
    scanner.Feed(state, chunk, sink);
    if (++chunks % kChunksAtOnce == 0) scanner.Flush(sink);
  });
  scanner.Finish(state, sink);
  scanner.Flush(sink);
}

/// Runs a monitor on text in UDP datagrams, as `--log_as=lines` sends it. The lines are distributed
/// among 16 senders, and a sender's text is split where a datagram is full. The frames are
/// contiguous in memory, as in a pipe, and are not rewritten between rounds.
class FramesInMemory {
 public:
  FramesInMemory(const engine::logmon::RuleSet& rules, std::string_view text, size_t chunk_bytes)
      : monitor_(rules, Options(), {}, 1) {
    std::array<std::string, kSenders> texts;
    for (uint32_t line = 0; !text.empty(); ++line) {
      const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      texts[line % kSenders] += text.substr(0, end);
      text.remove_prefix(end);
    }
    std::vector<Bytes> frames;
    for (size_t at = 0, before = 1; frames.size() != before; at += chunk_bytes) {
      before = frames.size();
      for (uint32_t sender = 0; sender < kSenders; ++sender) {
        if (at >= texts[sender].size()) continue;
        frames.push_back(MakeFrame({.text = std::string_view(texts[sender]).substr(at, chunk_bytes),
                                    .sender = sender,
                                    .destination_port = kPort}));
      }
    }
    size_t flits = 0;
    for (const Bytes& frame : frames) flits += FlitsOf(frame);
    pipe_.resize(flits);
    Flit* to = pipe_.data();
    for (const Bytes& frame : frames) {
      std::memcpy(to, frame.data(), frame.size());
      frames_.push_back({to->bytes, static_cast<uint32_t>(frame.size()), 0, 0});
      to += FlitsOf(frame);
    }
  }

  size_t size() const { return frames_.size(); }
  /// Processes all frames in bursts of at most `at_once`. Not inlined, so that callgrind can count
  /// its instructions.
  [[gnu::noinline, gnu::noclone]] void Process(uint32_t at_once) {
    const auto count = static_cast<uint32_t>(frames_.size());
    for (uint32_t first = 0; first < count; first += at_once) {
      packet::FoundBurst burst(
          std::min(at_once, count - first), packet::BurstTotals{},
          [&](uint32_t number) { return frames_[first + number]; },
          [&](uint32_t, const packet::Frame&, packet::Verdict verdict) {
            Check(verdict == packet::kConsume, "a frame was refused");
          });
      monitor_.ProcessBurst(burst, 0);
    }
    monitor_.Finish(0);
  }

 private:
  static constexpr uint32_t kSenders = 16;
  static constexpr uint16_t kPort = 5140;
  struct alignas(64) Flit {
    uint8_t bytes[64];
  };
  struct NoSink {
    void OnMatch(const engine::logmon::Source&, const engine::logmon::SyslogHeader*,
                 const engine::logmon::MatchedLine&, uint64_t) {}
  };

  static engine::logmon::MonitorOptions Options() {
    engine::logmon::MonitorOptions options;
    options.line_ports = {kPort};
    return options;
  }
  static size_t FlitsOf(const Bytes& frame) {
    return packet::FlitSpan(static_cast<uint32_t>(frame.size())) / sizeof(Flit);
  }

  engine::logmon::Monitor<NoSink> monitor_;
  std::vector<Flit> pipe_;
  std::vector<packet::Frame> frames_;
};

}  // namespace sluice::test
