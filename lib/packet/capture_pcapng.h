// SPDX-License-Identifier: BSD-3-Clause
//
// Frames of a pcapng file (draft-ietf-opsawg-pcapng): any number of sections of either byte order,
// and of interfaces with link layers, snap lengths and clocks of their own, all of which libpcap
// demands to be the same. Use CaptureReader.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "packet/capture.h"

namespace sluice::packet {

/// Reads from the start of a section to the end of the file. One thread.
class PcapngReader {
 public:
  /// A section begins with it, in either byte order.
  static constexpr uint8_t kFirstByte = 0x0a;

  /// `file` outlives it.
  explicit PcapngReader(std::FILE* file) : file_(file) {}

  /// The next frame as the file has it, with what of an FCS is at its end in `fcs_bytes`. On kError
  /// says in `error` what is wrong.
  CaptureReader::Status Next(CaptureRecord* record, uint32_t* fcs_bytes, std::string* error);

 private:
  struct Interface {
    uint32_t link = 0;
    uint32_t snap_bytes = 0;  ///< 0: all.
    uint32_t fcs_bytes = 0;
    uint64_t ticks = 1'000'000;  ///< A second.
    uint64_t offset_s = 0;       ///< Of its clock; modulo 2^64.
  };

  CaptureReader::Status ReadBlock(std::string* error);
  bool AddInterface(std::string* error);
  bool ReadPacket(CaptureRecord* record, uint32_t* fcs_bytes, std::string* error) const;
  uint16_t Short(size_t at) const;
  uint32_t Word(size_t at) const;
  /// Calls see(code, offset, bytes) for each option from `at` on.
  template <typename See>
  void Options(size_t at, const See& see) const;

  std::FILE* file_;
  bool swapped_ = false;  ///< The section has the other byte order.
  uint32_t type_ = 0;     ///< Of the block at hand.
  std::vector<uint8_t> body_;
  std::vector<Interface> interfaces_;  ///< Of the section.
};

}  // namespace sluice::packet
