// SPDX-License-Identifier: BSD-3-Clause
#include "aes_gcm.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cipher_device.h"
#include "nonces.h"
#include "option_text.h"

namespace sluice::chain_app {
namespace {

/// Keys by their numbers. An empty entry means that no key has this number.
using GcmKeys = std::array<std::vector<uint8_t>, kGcmKeys>;
static_assert(kGcmKeys == CipherDevice::kKeys);

class AesGcm final : public Executor {
 public:
  AesGcm(std::unique_ptr<CipherDevice> device, GcmKeys keys)
      : device_(std::move(device)), keys_(std::move(keys)) {}

  void Run(std::span<Work> batch) override {
    for (Work& work : batch) Prepare(work);
    device_->Run();
    size_t next = 0;
    for (Work& work : batch)
      if (work.outcome == Outcome::kDone) Finish(work, device_->Of(next++));
    device_->Clear();
  }

 private:
  static void Refuse(Work& work, GcmRefusal why) {
    work.outcome = Outcome::kRefused;
    work.refusal = static_cast<uint8_t>(why);
  }

  /// What may be done is kDone as long as the device has not failed at it.
  void Prepare(Work& work) {
    const uint32_t what = work.command & 0xff;
    const uint32_t slot = work.command >> kGcmKeyShift;
    if ((what != kGcmDecrypt && what != kGcmEncrypt) || slot >= kGcmKeys || keys_[slot].empty()) {
      return Refuse(work, GcmRefusal::kBadCommand);
    }
    const bool encrypt = what == kGcmEncrypt;
    if (!encrypt && work.input.size() < kGcmOverhead) return Refuse(work, GcmRefusal::kTooShort);
    const size_t length =
        encrypt ? work.input.size() + kGcmOverhead : work.input.size() - kGcmOverhead;
    const size_t text = std::min(length, work.input.size());
    if (length > work.output.size() || text > CipherDevice::kLongestText)
      return Refuse(work, GcmRefusal::kTooLong);
    if (encrypt && !nonces_.Next(work.output.first<kGcmNonceBytes>())) {
      work.outcome = Outcome::kFailed;
      return;
    }
    work.length = static_cast<uint32_t>(length);
    work.outcome = Outcome::kDone;
    if (encrypt) {
      device_->Encrypt(slot, {.nonce = work.output.first(kGcmNonceBytes),
                              .from = work.input,
                              .to = &work.output[kGcmNonceBytes],
                              .tag = &work.output[length - kGcmTagBytes]});
    } else {
      device_->Decrypt(slot, {.nonce = work.input.first(kGcmNonceBytes),
                              .from = work.input.subspan(kGcmNonceBytes, length),
                              .to = work.output.data(),
                              .tag = const_cast<uint8_t*>(work.input.last(kGcmTagBytes).data())});
    }
  }

  /// What was not authenticated is wiped: nobody may see it.
  static void Finish(Work& work, CipherDevice::Status status) {
    if (status == CipherDevice::Status::kDone) return;
    std::ranges::fill(work.output.first(work.length), uint8_t{0});
    work.length = 0;
    work.outcome = Outcome::kFailed;
    if (status == CipherDevice::Status::kForged) Refuse(work, GcmRefusal::kForged);
  }

  std::unique_ptr<CipherDevice> device_;
  GcmKeys keys_;
  Nonces nonces_;
};

/// The keys' digits, by their numbers, as options say or as a file has them: a line each. Nothing,
/// with a line in `error`: the file cannot be read.
std::optional<std::array<std::string, kGcmKeys>> ReadDigits(const OptionText& options,
                                                            std::string* error) {
  std::array<std::string, kGcmKeys> digits;
  const std::string path(options.Value("file"));
  std::ifstream file(path);
  if (!path.empty() && !file) {
    *error = "file: " + path + ": " + std::strerror(errno);
    return std::nullopt;
  }
  for (uint32_t slot = 0; slot < kGcmKeys; ++slot) {
    std::getline(file, digits[slot]);
    if (digits[slot].ends_with('\r')) digits[slot].pop_back();
    const std::string_view given = options.Value("key" + std::to_string(slot));
    if (!given.empty()) digits[slot] = given;
  }
  return digits;
}

std::optional<GcmKeys> ReadKeys(const OptionText& options, std::string* error) {
  GcmKeys keys;
  bool any = false;
  const auto digits = ReadDigits(options, error);
  if (!digits) return std::nullopt;
  for (uint32_t slot = 0; slot < kGcmKeys; ++slot) {
    if ((*digits)[slot].empty()) continue;
    const auto bytes = FromHexadecimal((*digits)[slot]);
    if (!bytes || (bytes->size() != 16 && bytes->size() != 24 && bytes->size() != 32)) {
      *error = "key" + std::to_string(slot) + ": give 32, 48 or 64 hexadecimal digits";
      return std::nullopt;
    }
    keys[slot] = *bytes;
    any = true;
  }
  if (any) return keys;
  *error = "give a key: key0=, 32, 48 or 64 hexadecimal digits; or file=, a key a line";
  return std::nullopt;
}

std::unique_ptr<Executor> MakeAesGcm(const StageOptions& options, std::string* error) {
  static constexpr std::array<std::string_view, 6> kNames = {"driver", "file", "key0",
                                                             "key1",   "key2", "key3"};
  const auto read = OptionText::Read(options.text, kNames, error);
  if (!read) return nullptr;
  auto keys = ReadKeys(*read, error);
  if (!keys) return nullptr;
  const std::string driver(read->Value("driver").empty() ? "crypto_openssl"
                                                         : read->Value("driver"));
  auto device = CipherDevice::Make(driver, error);
  if (device == nullptr) return nullptr;
  for (uint32_t slot = 0; slot < kGcmKeys; ++slot)
    if (!(*keys)[slot].empty() && !device->SetKey(slot, (*keys)[slot], error)) return nullptr;
  return std::make_unique<AesGcm>(std::move(device), *std::move(keys));
}

}  // namespace

const StageKind kAesGcmStage = {
    .name = "aes_gcm",
    .what =
        "AES-GCM; command 1 decrypts, 2 encrypts, + 256 x the key's number; options key0 to "
        "key3 (hexadecimal), file (a key a line), driver",
    .make = MakeAesGcm,
    .refusals = {"too_short", "too_long", "bad_command", "forged"}};

}  // namespace sluice::chain_app
