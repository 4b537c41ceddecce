// SPDX-License-Identifier: BSD-3-Clause
//
// Reads and writes Ethernet capture files, which the wire replays and tests compare. Reads pcapng,
// and through libpcap also pcap in either resolution and byte order. Writes pcap. If the file
// declares that frames contain an FCS, the reader removes the FCS. Control path only. An error text
// is one line that contains the file name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::packet {

/// Longest frame that can be read or written: Ethernet with two tags and an IP packet of 65535
/// bytes.
inline constexpr uint32_t kMaxCaptureBytes = 65535 + 14 + 8;

/// One frame of a capture.
struct CaptureRecord {
  const uint8_t* data;      ///< Points to memory of the reader; valid until its next call.
  uint32_t captured_bytes;  ///< Bytes at `data`.
  uint32_t length;          ///< Length of the frame on the wire, ≥ captured_bytes.
  uint64_t timestamp_ns;    ///< Nanoseconds since 1970.
};

/// Returns "link layer NAME is not Ethernet".
std::string NotEthernet(uint32_t link);

/// Reads a capture file sequentially. Used by one thread.
class CaptureReader {
 public:
  enum class Status : uint8_t { kRecord, kEnd, kError };

  /// Opens `path`. Returns nullopt, with one line in `error`, if the file is unreadable or not a
  /// capture (for example, empty), or if its first frame is not Ethernet. A capture without records
  /// is valid; the first call of Next then returns kEnd.
  static std::optional<CaptureReader> Open(const std::string& path, std::string* error);

  /// Stores the next record in `record` and returns kRecord. Returns kEnd after the last record.
  /// Returns kError, with one line in `error`, if the file ends inside a record, a record exceeds
  /// kMaxCaptureBytes or its frame's length, or the link layer is not Ethernet. If a frame's length
  /// on the wire is 0 (unknown), the record's length is used. After kEnd or kError, further calls
  /// return the same status.
  Status Next(CaptureRecord* record, std::string* error);

  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

 private:
  struct State;
  explicit CaptureReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a capture file of Ethernet frames in the host's byte order. Used by one thread.
class CaptureWriter {
 public:
  enum class Resolution : uint8_t { kMicroseconds, kNanoseconds };

  /// Creates or truncates `path`. Records store at most `snap_bytes` (1 … kMaxCaptureBytes) of each
  /// frame. On failure returns nullopt with one line in `error`.
  static std::optional<CaptureWriter> Open(const std::string& path, Resolution resolution,
                                           uint32_t snap_bytes, std::string* error);

  /// Appends a record to the writer's buffer. The timestamp is truncated to the file's resolution,
  /// and wraps in 2106, because the format has 32-bit seconds. Returns false if the writer is
  /// closed, or if the record is invalid: it has more captured bytes than the frame, or the frame
  /// exceeds kMaxCaptureBytes.
  bool Write(const CaptureRecord& record);

  /// Flushes and closes the file. Returns false, with one line in `error`, unless every byte
  /// reached the file. The destructor flushes without reporting errors. Closing twice is allowed.
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
