// SPDX-License-Identifier: BSD-3-Clause
//
// Reads pcapng files (draft-ietf-opsawg-pcapng) with any number of sections and interfaces.
// Sections may differ in byte order, and interfaces in link layer, snap length and clock, whereas
// libpcap requires them to be the same. Used by CaptureReader.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "packet/capture.h"

namespace sluice::packet {

/// Reads from the start of a section to the end of the file. Used by one thread.
class PcapngReader {
 public:
  /// First byte of a section in either byte order.
  static constexpr uint8_t kFirstByte = 0x0a;

  /// `file` must outlive the reader.
  explicit PcapngReader(std::FILE* file) : file_(file) {}

  /// Reads the next frame, including the FCS bytes that the record contains, whose number is
  /// `fcs_bytes`. On kError, `error` describes the fault.
  CaptureReader::Status Next(CaptureRecord* record, uint32_t* fcs_bytes, std::string* error);

 private:
  struct Interface {
    uint32_t link = 0;
    uint32_t snap_bytes = 0;  ///< 0 means no limit.
    uint32_t fcs_bytes = 0;
    uint64_t ticks = 1'000'000;  ///< Ticks per second.
    uint64_t offset_s = 0;       ///< Clock offset, modulo 2^64.
  };

  CaptureReader::Status ReadBlock(std::string* error);
  bool AddInterface(std::string* error);
  bool ReadPacket(CaptureRecord* record, uint32_t* fcs_bytes, std::string* error) const;
  uint16_t Short(size_t at) const;
  uint32_t Word(size_t at) const;
  /// Calls see(code, offset, bytes) for each option, starting at `at`.
  template <typename See>
  void Options(size_t at, const See& see) const;

  std::FILE* file_;
  bool swapped_ = false;  ///< The section's byte order is not the host's.
  uint32_t type_ = 0;     ///< Type of the current block.
  std::vector<uint8_t> body_;
  std::vector<Interface> interfaces_;  ///< Interfaces of the current section.
};

}  // namespace sluice::packet
