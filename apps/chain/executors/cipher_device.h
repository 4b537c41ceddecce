// SPDX-License-Identifier: BSD-3-Clause
//
// A software cryptodev that runs AES-GCM on batches of messages. It neither copies data nor
// allocates memory per message.
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

/// Used by one thread.
class CipherDevice {
 public:
  static constexpr uint32_t kKeys = 4;
  static constexpr size_t kLongestText = 65535;  ///< Bytes.

  enum class Status : uint8_t { kDone, kForged, kFailed };

  /// A message. Its bytes must not move until Clear.
  struct Text {
    std::span<const uint8_t> nonce;  ///< 12 bytes.
    std::span<const uint8_t> from;
    uint8_t* to = nullptr;   ///< Same length as `from`; never overlaps it.
    uint8_t* tag = nullptr;  ///< 16 bytes; Decrypt only reads them.
  };

  /// `driver`: crypto_openssl, crypto_aesni_gcm or crypto_aesni_mb. Returns null and sets `error`
  /// if `driver` has another name or is missing.
  static std::unique_ptr<CipherDevice> Make(const std::string& driver, std::string* error);
  ~CipherDevice();

  /// Creates the device's key schedules for `key`, 16, 24 or 32 bytes. Call it once per slot.
  /// Returns false and sets `error` if the device rejects the key.
  bool SetKey(uint32_t slot, std::span<const uint8_t> key, std::string* error);
  bool HasKey(uint32_t slot) const { return slot < kKeys && decrypting_[slot] != nullptr; }

  /// Add a message to the batch, which must contain fewer than kMaxBatch messages. A key must have
  /// been created in the slot.
  void Encrypt(uint32_t slot, const Text& text) { Add(encrypting_[slot], text); }
  void Decrypt(uint32_t slot, const Text& text) { Add(decrypting_[slot], text); }
  /// Processes the batch and returns when all messages are done. A device that needs too many polls
  /// is considered stuck: Run returns, and from then on the status of every message is kFailed.
  void Run();
  /// Returns the status of message `index` of the batch, in the order in which messages were added.
  Status Of(size_t index) const;
  /// Clears the batch.
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
  /// True if the device has not returned an operation; operations_ must then not be reused.
  bool stuck_ = false;
  rte_mempool* sessions_ = nullptr;
  std::array<void*, kKeys> encrypting_{};
  std::array<void*, kKeys> decrypting_{};
  std::unique_ptr<Operation[]> operations_;
  uint32_t count_ = 0;  ///< Number of operations in the batch.
};

}  // namespace sluice::chain_app
