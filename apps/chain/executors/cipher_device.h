// SPDX-License-Identifier: BSD-3-Clause
//
// A cryptodev in software that does AES-GCM, a batch at a time, on bytes where they lie: nothing is
// copied, and nothing allocated for a message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "virtual_device.h"

struct rte_mempool;

namespace sluice::chain_app {

/// One thread.
class CipherDevice {
 public:
  static constexpr uint32_t kKeys = 4;
  static constexpr size_t kLongestText = 65535;  ///< Bytes.

  enum class Status : uint8_t { kDone, kForged, kFailed };

  /// A message. Its bytes stay where they are until Clear.
  struct Text {
    std::span<const uint8_t> nonce;  ///< 12 bytes.
    std::span<const uint8_t> from;
    uint8_t* to = nullptr;   ///< As many bytes. Never overlaps `from`.
    uint8_t* tag = nullptr;  ///< 16 bytes; Decrypt only reads them.
  };

  /// `driver`: crypto_openssl, crypto_aesni_gcm or crypto_aesni_mb. Null, with one line in `error`:
  /// it is none of these, or not here.
  static std::unique_ptr<CipherDevice> Make(const std::string& driver, std::string* error);
  ~CipherDevice();

  /// Makes the device's key schedules of `key`, 16, 24 or 32 bytes. Called once for each slot.
  /// Returns false, with one line in `error`, if the device refuses the key.
  bool SetKey(uint32_t slot, std::span<const uint8_t> key, std::string* error);
  bool HasKey(uint32_t slot) const { return slot < kKeys && decrypting_[slot] != nullptr; }

  /// Adds a message to the batch; at most kMaxBatch. The slot has a key.
  void Encrypt(uint32_t slot, const Text& text) { Add(encrypting_[slot], text); }
  void Decrypt(uint32_t slot, const Text& text) { Add(decrypting_[slot], text); }
  /// Works on the batch, and returns when all of it has ended.
  void Run();
  /// Of the message that was added as number `index`.
  Status Of(size_t index) const;
  /// Forgets the batch.
  void Clear() { count_ = 0; }

 private:
  struct Operation;

  explicit CipherDevice(std::unique_ptr<VirtualDevice> device);
  bool Start(std::string* error);
  void* Session(bool encrypt, std::span<const uint8_t> key);
  void Add(void* session, const Text& text);

  std::unique_ptr<VirtualDevice> device_;
  uint8_t id_ = 0;
  bool started_ = false;
  bool stuck_ = false;  ///< It kept an operation for itself: its memory may not be used again.
  rte_mempool* sessions_ = nullptr;
  std::array<void*, kKeys> encrypting_{};
  std::array<void*, kKeys> decrypting_{};
  std::unique_ptr<Operation[]> operations_;
  uint32_t count_ = 0;  ///< Of them, those of the batch.
};

}  // namespace sluice::chain_app
