// SPDX-License-Identifier: BSD-3-Clause
//
// Capture files composed byte by byte from the pcap file format
// (draft-ietf-opsawg-pcap), in either byte order and resolution.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace sluice::test {

/// A file in memory, with a path, that lives as long as the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const uint8_t> bytes = {})
      : fd_(memfd_create("capture_test", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      std::perror("memfd");
      std::abort();
    }
    path_ = "/proc/self/fd/" + std::to_string(fd_);
  }
  ~TemporaryFile() { close(fd_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

struct CaptureFormat {
  bool big_endian = false;
  bool nanoseconds = false;
};

/// Composes a capture file.
class CaptureFile {
 public:
  explicit CaptureFile(CaptureFormat format, uint32_t snap_bytes = 65535, uint32_t link = 1)
      : big_endian_(format.big_endian) {
    Append(format.nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4, 4);
    Append(2, 2);  // Version 2.4.
    Append(4, 2);
    Append(0, 4);
    Append(0, 4);
    Append(snap_bytes, 4);
    Append(link, 4);
  }

  void AddRecord(uint32_t seconds, uint32_t fraction, uint32_t captured, uint32_t length,
                 std::span<const uint8_t> data) {
    for (uint32_t field : {seconds, fraction, captured, length}) Append(field, 4);
    bytes_.insert(bytes_.end(), data.begin(), data.end());
  }

  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  void Append(uint32_t value, uint32_t size) {
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t shift = 8 * (big_endian_ ? size - 1 - i : i);
      bytes_.push_back(static_cast<uint8_t>(value >> shift));
    }
  }

  bool big_endian_;
  std::vector<uint8_t> bytes_;
};

}  // namespace sluice::test
