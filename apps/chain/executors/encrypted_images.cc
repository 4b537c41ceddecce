// SPDX-License-Identifier: BSD-3-Clause
#include "encrypted_images.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../executor.h"
#include "aes_gcm.h"
#include "classify.h"
#include "digit_image.h"
#include "digit_network.h"
#include "option_text.h"

namespace sluice::chain_app {
namespace {

constexpr uint32_t kSealedBytes = kImageBytes + kGcmOverhead;
/// Default number of different images; drawing them is fast.
constexpr uint64_t kUsualImages = 512;
constexpr uint64_t kMostImages = 1 << 20;

struct SealedImage {
  std::array<uint8_t, kSealedBytes> message{};
  Scores scores{};
};

/// Message `number` is image `number` modulo the image count. Every `forged`-th message has a wrong
/// tag.
class EncryptedImages final : public Traffic {
 public:
  EncryptedImages(std::vector<SealedImage> images, uint64_t forged)
      : images_(std::move(images)), forged_(forged) {}

  uint32_t Write(uint64_t number, std::span<uint8_t> room) override {
    std::ranges::copy(Of(number).message, room.begin());
    if (!Answered(number)) room[kSealedBytes - 1] ^= 1;
    return kSealedBytes;
  }
  bool Right(uint64_t number, std::span<const uint8_t> bytes,
             const std::array<uint32_t, 2>& key) override {
    const auto answer = ReadAnswer(bytes);
    return answer && Answered(number) && answer->scores == Of(number).scores &&
           answer->digit == Read(answer->scores).digit && key[0] == KeyOf(*answer);
  }
  bool Answered(uint64_t number) const override {
    return forged_ == 0 || number % forged_ != forged_ - 1;
  }

 private:
  const SealedImage& Of(uint64_t number) const { return images_[number % images_.size()]; }

  std::vector<SealedImage> images_;
  uint64_t forged_;
};

/// Draws and encrypts the images. Returns nullopt if a message could not be encrypted.
std::optional<std::vector<SealedImage>> SealImages(Executor& cipher, uint64_t seed,
                                                   uint64_t count) {
  std::vector<SealedImage> images(count);
  std::array<uint8_t, kImageBytes> image{};
  for (uint64_t number = 0; number < count; ++number) {
    DrawDigit(seed, number, image);
    images[number].scores = ScoreDigit(image);
    Work work{.input = image, .output = images[number].message, .command = kGcmEncrypt};
    for (size_t byte = 0; byte < 8; ++byte)
      work.state[byte] = static_cast<uint8_t>(number >> 8 * byte);
    cipher.Run({&work, 1});
    if (work.outcome != Outcome::kDone) return std::nullopt;
  }
  return images;
}

std::unique_ptr<Traffic> MakeEncryptedImages(const TrafficOptions& options, std::string* error) {
  static constexpr std::array<std::string_view, 5> kNames = {"images", "forged", "key", "file",
                                                             "driver"};
  const auto read = OptionText::Read(options.text, kNames, error);
  if (!read) return nullptr;
  const auto count = read->Number("images", kUsualImages, 1, kMostImages, error);
  const auto forged = count ? read->Number("forged", 0, 0, ~0ull, error) : std::nullopt;
  if (!forged) return nullptr;
  if (options.max_message < kSealedBytes) {
    *error = "an encrypted image needs " + std::to_string(kSealedBytes) +
             " bytes: set a larger max_message in the graph";
    return nullptr;
  }
  const std::string_view key = read->Value("key"), file = read->Value("file"),
                         driver = read->Value("driver");
  std::string text = file.empty() ? "key0=" + std::string(key.empty() ? kExampleKey : key)
                                  : "file=" + std::string(file);
  if (!driver.empty()) text += ",driver=" + std::string(driver);
  const auto cipher = kAesGcmStage.make({text, kSealedBytes}, error);
  if (cipher == nullptr) return nullptr;
  auto images = SealImages(*cipher, options.seed, *count);
  if (!images) {
    *error = "the images could not be encrypted";
    return nullptr;
  }
  return std::make_unique<EncryptedImages>(*std::move(images), *forged);
}

}  // namespace

const TrafficKind kImagesTraffic = {
    .name = "images",
    .what =
        "encrypted images of digits for aes_gcm and classify; options: images (number of different "
        "images), forged=N (one in N messages has a wrong tag), key (in hexadecimal) or file (the "
        "first line is the key), driver (like aes_gcm's)",
    .make = MakeEncryptedImages};

}  // namespace sluice::chain_app
