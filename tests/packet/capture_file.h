// SPDX-License-Identifier: BSD-3-Clause
//
// Capture files that tests compose byte by byte in two formats: pcap (draft-ietf-opsawg-pcap), in
// either byte order and resolution, and pcapng (draft-ietf-opsawg-pcapng).
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

/// A file in memory that has a path. Both exist as long as the object.
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

/// Composes a pcap file.
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

/// Composes a pcapng file (draft-ietf-opsawg-pcapng), section by section.
class PcapngFile {
 public:
  /// An option of a block.
  struct Option {
    uint16_t code;
    std::vector<uint8_t> value;
  };

  void AddSection(bool big_endian) {
    big_endian_ = big_endian;
    Begin(0x0a0d0d0a);
    for (const uint32_t word : {0x1a2b3c4du, big_endian ? 0x00010000u : 1u, ~0u, ~0u}) Append(word);
    End();
  }
  void AddInterface(uint16_t link, uint32_t snap_bytes, const std::vector<Option>& options = {}) {
    Begin(1);
    AppendPair(link, 0);
    Append(snap_bytes);
    AppendOptions(options);
    End();
  }
  void AddPacket(uint32_t interface, uint64_t ticks, uint32_t length, std::span<const uint8_t> data,
                 const std::vector<Option>& options = {}) {
    Begin(6);
    for (const uint32_t word :
         {interface, static_cast<uint32_t>(ticks >> 32), static_cast<uint32_t>(ticks),
          static_cast<uint32_t>(data.size()), length}) {
      Append(word);
    }
    AppendBytes(data);
    AppendOptions(options);
    End();
  }
  /// Adds a packet of the first interface; the packet has no timestamp.
  void AddSimplePacket(uint32_t length, std::span<const uint8_t> data) {
    Begin(3);
    Append(length);
    AppendBytes(data);
    End();
  }
  /// Adds a block that readers skip.
  void AddOtherBlock() {
    Begin(0x0bad);
    Append(4711);
    End();
  }

  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  void Begin(uint32_t type) {
    begin_ = bytes_.size();
    Append(type);
    Append(0);
  }
  void End() {
    const auto length = static_cast<uint32_t>(bytes_.size() - begin_ + 4);
    Append(length);
    for (int i = 0; i < 4; ++i) bytes_[begin_ + 4 + i] = bytes_[bytes_.size() - 4 + i];
  }
  void Append(uint32_t word) {
    for (int i = 0; i < 4; ++i) {
      bytes_.push_back(static_cast<uint8_t>(word >> 8 * (big_endian_ ? 3 - i : i)));
    }
  }
  void AppendPair(uint16_t first, uint16_t second) {
    Append(big_endian_ ? uint32_t{first} << 16 | second : uint32_t{second} << 16 | first);
  }
  void AppendBytes(std::span<const uint8_t> data) {
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    while (bytes_.size() % 4 != 0) bytes_.push_back(0);
  }
  void AppendOptions(const std::vector<Option>& options) {
    for (const auto& [code, value] : options) {
      AppendPair(code, static_cast<uint16_t>(value.size()));
      AppendBytes(value);
    }
    if (!options.empty()) Append(0);
  }

  bool big_endian_ = false;
  size_t begin_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace sluice::test
