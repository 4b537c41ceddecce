// SPDX-License-Identifier: BSD-3-Clause
//
// A compressdev in software that deflates and inflates (RFC 1951), on bytes where they lie: nothing
// is copied, and nothing allocated for a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "virtual_device.h"

namespace sluice::chain_app {

/// One thread. No two are made or destroyed at once.
class CompressDevice {
 public:
  static constexpr size_t kLongest = 65535;  ///< Bytes, of either side.

  enum class Status : uint8_t { kDone, kNoRoom, kFailed };
  struct Result {
    Status status = Status::kFailed;
    uint32_t consumed = 0;
    uint32_t produced = 0;
  };

  /// `level`: zlib's, 1 to 9. Null, with one line in `error`: DPDK has no such driver here.
  static std::unique_ptr<CompressDevice> Make(int level, std::string* error);
  ~CompressDevice();

  /// All of `from`. What was written to `to` is nothing unless it is done.
  Result Compress(std::span<const uint8_t> from, std::span<uint8_t> to) {
    return Run(compressing_, from, to);
  }
  /// Up to the end of the last block, or of `from`: `consumed` does not say which.
  Result Decompress(std::span<const uint8_t> from, std::span<uint8_t> to) {
    return Run(decompressing_, from, to);
  }

 private:
  struct Operation;

  explicit CompressDevice(std::unique_ptr<VirtualDevice> device);
  bool SetLevel(int level, std::string* error);
  Result Run(void* transform, std::span<const uint8_t> from, std::span<uint8_t> to);

  std::unique_ptr<VirtualDevice> device_;
  uint8_t id_;
  void* compressing_ = nullptr;
  void* decompressing_ = nullptr;
  std::unique_ptr<Operation> operation_;
};

}  // namespace sluice::chain_app
