// SPDX-License-Identifier: BSD-3-Clause
//
// Ethernet captures on disk: what the wire replays and what tests compare. Reads pcap of both
// resolutions and byte orders through libpcap, and pcapng; writes pcap. An FCS of which the file
// says that it is there is cut off. Control path only. Errors are one line that names the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::packet {

/// Largest frame that is read or written: an IP packet of 65535 bytes behind
/// Ethernet and two tags.
inline constexpr uint32_t kMaxCaptureBytes = 65535 + 14 + 8;

/// One frame of a capture.
struct CaptureRecord {
  const uint8_t* data;      ///< The reader's memory, valid until its next call.
  uint32_t captured_bytes;  ///< Bytes at `data`.
  uint32_t length;          ///< Bytes of the frame on the wire, ≥ captured_bytes.
  uint64_t timestamp_ns;    ///< Since 1970.
};

/// "link layer NAME is not Ethernet".
std::string NotEthernet(uint32_t link);

/// Reads a capture file from its start to its end. One thread.
class CaptureReader {
 public:
  enum class Status : uint8_t { kRecord, kEnd, kError };

  /// Opens `path`. Nothing, with one line in `error`, if it cannot be read, is no
  /// capture (an empty file, too) or one whose first frame is of another link layer than Ethernet.
  /// A capture without records opens, and ends at once.
  static std::optional<CaptureReader> Open(const std::string& path, std::string* error);

  /// The next record, or the end, or one line in `error`: a file that stops
  /// inside a record, a record above kMaxCaptureBytes, one longer than its frame, or one of another
  /// link layer. A frame whose length on the wire is 0, because it was not known, is as long as the
  /// record.
  /// After kEnd and kError it repeats itself.
  Status Next(CaptureRecord* record, std::string* error);

  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

 private:
  struct State;
  explicit CaptureReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a capture file of Ethernet frames, in the host's byte order. One thread.
class CaptureWriter {
 public:
  enum class Resolution : uint8_t { kMicroseconds, kNanoseconds };

  /// Creates or truncates `path`; records keep at most `snap_bytes` (1…kMaxCaptureBytes)
  /// of each frame. Nothing, with one line in `error`, if it cannot.
  static std::optional<CaptureWriter> Open(const std::string& path, Resolution resolution,
                                           uint32_t snap_bytes, std::string* error);

  /// Appends a record; buffered. The timestamp is cut to the file's resolution;
  /// beyond the 32-bit seconds of the format (year 2106) it wraps. False if the
  /// writer is closed, or the record is none: more captured bytes than the frame
  /// has, or a frame above kMaxCaptureBytes.
  bool Write(const CaptureRecord& record);

  /// Flushes and closes. False, with one line in `error`, if any byte did not
  /// reach the file. A writer that is destroyed unclosed flushes without report;
  /// closing twice is allowed.
  bool Close(std::string* error);

  CaptureWriter(CaptureWriter&&) noexcept;
  CaptureWriter& operator=(CaptureWriter&&) noexcept;
  ~CaptureWriter();

 private:
  struct State;
  explicit CaptureWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice::packet
