// SPDX-License-Identifier: BSD-3-Clause
#include "aes_gcm.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cipher_device.h"
#include "nonces.h"
#include "option_text.h"
#include "secret.h"

namespace sluice::chain_app {
namespace {

static_assert(kGcmKeys == CipherDevice::kKeys);

class AesGcm final : public Executor {
 public:
  explicit AesGcm(std::unique_ptr<CipherDevice> device) : device_(std::move(device)) {}

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

  /// Sets the outcome of valid work to kDone; a later device failure changes it.
  void Prepare(Work& work) {
    const uint32_t what = work.command & 0xff;
    const uint32_t slot = work.command >> kGcmKeyShift;
    if ((what != kGcmDecrypt && what != kGcmEncrypt) || !device_->HasKey(slot)) {
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

  /// Wipes data that failed authentication, so that no reader sees it.
  static void Finish(Work& work, CipherDevice::Status status) {
    if (status == CipherDevice::Status::kDone) return;
    std::ranges::fill(work.output.first(work.length), uint8_t{0});
    work.length = 0;
    work.outcome = Outcome::kFailed;
    if (status == CipherDevice::Status::kForged) Refuse(work, GcmRefusal::kForged);
  }

  std::unique_ptr<CipherDevice> device_;
  Nonces nonces_;
};

/// The keys from the options, indexed by slot. The object is destroyed after the device has loaded
/// them.
class GcmKeys {
 public:
  /// Reads keys from options, or from a file with one key per line. Returns false and sets `error`
  /// on failure.
  bool Read(const OptionText& options, std::string* error);
  /// Returns the key in `slot`, or an empty span if there is none.
  std::span<const uint8_t> Of(uint32_t slot) const {
    return keys_.bytes().subspan(slot * kMaxKeyBytes, bytes_[slot]);
  }

 private:
  static constexpr size_t kMaxKeyBytes = 32;
  /// Maximum size of the key file; kGcmKeys hexadecimal keys need less.
  static constexpr size_t kMaxFileBytes = 4096;

  /// Reads at most kMaxFileBytes of the file. Returns false with errno set if that fails.
  bool ReadFile(const std::string& path);
  /// Returns the next line without its line end, or an empty string after the last one.
  std::string_view NextLine();

  Secret keys_{kGcmKeys * kMaxKeyBytes};
  Secret file_{kMaxFileBytes};
  std::array<size_t, kGcmKeys> bytes_{};
  std::string_view unread_;  ///< The unread part of file_.
};

bool GcmKeys::ReadFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const std::span<uint8_t> room = file_.bytes();
  size_t size = 0;
  ssize_t got;
  while ((got = read(file, room.data() + size, room.size() - size)) > 0) {
    size += static_cast<size_t>(got);
  }
  const int fault = errno;
  close(file);
  errno = fault;
  unread_ = {reinterpret_cast<const char*>(room.data()), size};
  return got == 0;
}

std::string_view GcmKeys::NextLine() {
  std::string_view line = unread_.substr(0, unread_.find('\n'));
  unread_.remove_prefix(std::min(unread_.size(), line.size() + 1));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool GcmKeys::Read(const OptionText& options, std::string* error) {
  const std::string path(options.Value("file"));
  if (!path.empty() && !ReadFile(path)) {
    *error = "file: " + path + ": " + std::strerror(errno);
    return false;
  }
  for (uint32_t slot = 0; slot < kGcmKeys; ++slot) {
    const std::string name = "key" + std::to_string(slot);
    const std::string_view line = NextLine();
    const std::string_view given = options.Value(name);
    const std::string_view digits = given.empty() ? line : given;
    if (digits.empty()) continue;
    const size_t bytes = digits.size() / 2;
    const bool fits = bytes == 16 || bytes == 24 || bytes == kMaxKeyBytes;
    if (!fits || !FromHexadecimal(digits, keys_.bytes().subspan(slot * kMaxKeyBytes, bytes))) {
      *error = name + ": give 32, 48 or 64 hexadecimal digits";
      return false;
    }
    bytes_[slot] = bytes;
  }
  if (bytes_ != std::array<size_t, kGcmKeys>{}) return true;
  *error =
      "give at least one key: key0=KEY with 32, 48 or 64 hexadecimal digits, or file=FILE with one "
      "key per line";
  return false;
}

std::unique_ptr<Executor> MakeAesGcm(const StageOptions& options, std::string* error) {
  static constexpr std::array<std::string_view, 6> kNames = {"driver", "file", "key0",
                                                             "key1",   "key2", "key3"};
  const auto read = OptionText::Read(options.text, kNames, error);
  if (!read) return nullptr;
  GcmKeys keys;
  if (!keys.Read(*read, error)) return nullptr;
  const std::string driver(read->Value("driver").empty() ? "crypto_openssl"
                                                         : read->Value("driver"));
  auto device = CipherDevice::Make(driver, error);
  if (device == nullptr) return nullptr;
  for (uint32_t slot = 0; slot < kGcmKeys; ++slot)
    if (!keys.Of(slot).empty() && !device->SetKey(slot, keys.Of(slot), error)) return nullptr;
  return std::make_unique<AesGcm>(std::move(device));
}

}  // namespace

const StageKind kAesGcmStage = {
    .name = "aes_gcm",
    .what =
        "AES-GCM; command 1 decrypts, 2 encrypts; add 256 times N to select keyN; options: key0 to "
        "key3 (keys in hexadecimal), file (one key per line), driver (of DPDK's cryptodev)",
    .make = MakeAesGcm,
    .refusals = {"too_short", "too_long", "bad_command", "forged"}};

}  // namespace sluice::chain_app
