// SPDX-License-Identifier: BSD-3-Clause
//
// A software compressdev that deflates and inflates (RFC 1951). It neither copies data nor
// allocates memory per message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "virtual_device.h"

namespace sluice::chain_app {

/// Used by one thread. Only one thread at a time may construct or destroy an object.
class CompressDevice {
 public:
  static constexpr size_t kLongest = 65535;  ///< Maximum bytes of input and of output.

  enum class Status : uint8_t { kDone, kNoRoom, kFailed };
  struct Result {
    Status status = Status::kFailed;
    uint32_t consumed = 0;
    uint32_t produced = 0;
  };

  /// `level`: zlib's level, 1 to 9. Returns null and sets `error` if DPDK lacks the driver, or if
  /// the device does not start or rejects the level.
  static std::unique_ptr<CompressDevice> Make(int level, std::string* error);
  ~CompressDevice();

  /// Compresses all of `from`. The content of `to` is undefined unless the status is kDone.
  Result Compress(std::span<const uint8_t> from, std::span<uint8_t> to) {
    return Run(compressing_, from, to);
  }
  /// Decompresses up to the end of the last block or the end of `from`, whichever comes first.
  /// `consumed` does not distinguish the two cases.
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
