// SPDX-License-Identifier: BSD-3-Clause
#include "deflate_stage.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compress_device.h"
#include "dpdk/release.h"
#include "gzip_member.h"
#include "option_text.h"

namespace sluice::chain_app {
namespace {

/// gzip's default level.
constexpr uint64_t kUsualLevel = 6;

GzipTrailer TrailerOf(std::span<const uint8_t> bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  return {dpdk::Crc32(bytes.data(), length), length};
}

class Deflate final : public Executor {
 public:
  explicit Deflate(std::unique_ptr<CompressDevice> device) : device_(std::move(device)) {}

  void Run(std::span<Work> batch) override {
    for (Work& work : batch) {
      if (work.command == kDeflateCompress) {
        Compress(work);
      } else if (work.command == kDeflateDecompress) {
        Decompress(work);
      } else {
        Refuse(work, DeflateRefusal::kBadCommand);
      }
    }
  }

 private:
  using Status = CompressDevice::Status;

  static void Refuse(Work& work, DeflateRefusal why) {
    work.outcome = Outcome::kRefused;
    work.refusal = static_cast<uint8_t>(why);
  }
  static void End(Work& work, size_t length) {
    work.outcome = Outcome::kDone;
    work.length = static_cast<uint32_t>(length);
  }
  /// Truncates the buffer to the maximum size that the device supports.
  static std::span<uint8_t> Room(std::span<uint8_t> bytes) {
    return bytes.first(std::min(bytes.size(), CompressDevice::kLongest));
  }

  void Compress(Work& work) {
    if (work.output.size() < kGzipHeaderBytes + kGzipTrailerBytes ||
        work.input.size() > CompressDevice::kLongest)
      return Refuse(work, DeflateRefusal::kTooLong);
    // The output buffer includes the space for the trailer, because zlib reports that a buffer is
    // too small if zlib fills it completely.
    const CompressDevice::Result result =
        device_->Compress(work.input, Room(work.output.subspan(kGzipHeaderBytes)));
    const size_t after = kGzipHeaderBytes + result.produced;
    if (result.status == Status::kNoRoom || after + kGzipTrailerBytes > work.output.size())
      return Refuse(work, DeflateRefusal::kTooLong);
    if (result.status != Status::kDone || result.consumed != work.input.size()) {
      work.outcome = Outcome::kFailed;
      return;
    }
    std::ranges::copy(kGzipHeader, work.output.begin());
    WriteGzipTrailer(TrailerOf(work.input), work.output.subspan(after).first<kGzipTrailerBytes>());
    End(work, after + kGzipTrailerBytes);
  }

  void Decompress(Work& work) {
    const auto begin = AfterGzipHeader(work.input);
    if (!begin || work.input.size() - *begin <= kGzipTrailerBytes)
      return Refuse(work, DeflateRefusal::kMalformed);
    // The input includes the trailer. If the data lacks a last block, decompression continues into
    // the trailer, which is detected.
    const auto rest = work.input.subspan(*begin);
    if (rest.size() > CompressDevice::kLongest) return Refuse(work, DeflateRefusal::kTooLong);
    const CompressDevice::Result result = device_->Decompress(rest, Room(work.output));
    if (result.status == Status::kNoRoom) return Refuse(work, DeflateRefusal::kTooLong);
    if (result.status != Status::kDone || result.consumed != rest.size() - kGzipTrailerBytes)
      return Refuse(work, DeflateRefusal::kMalformed);
    if (TrailerOf(work.output.first(result.produced)) !=
        ReadGzipTrailer(rest.last<kGzipTrailerBytes>()))
      return Refuse(work, DeflateRefusal::kChecksum);
    End(work, result.produced);
  }

  std::unique_ptr<CompressDevice> device_;
};

std::unique_ptr<Executor> MakeDeflate(const StageOptions& options, std::string* error) {
  static constexpr std::array<std::string_view, 1> kNames = {"level"};
  const auto read = OptionText::Read(options.text, kNames, error);
  if (!read) return nullptr;
  const auto level = read->Number("level", kUsualLevel, 1, 9, error);
  if (!level) return nullptr;
  auto device = CompressDevice::Make(static_cast<int>(*level), error);
  if (device == nullptr) return nullptr;
  return std::make_unique<Deflate>(std::move(device));
}

}  // namespace

const StageKind kDeflateStage = {
    .name = "deflate",
    .what = "gzip; command 1 compresses, 2 decompresses; option: level, 1 to 9",
    .make = MakeDeflate,
    .refusals = {"too_long", "bad_command", "malformed", "checksum"}};

}  // namespace sluice::chain_app
