// SPDX-License-Identifier: BSD-3-Clause
#include "classify.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "onednn_network.h"
#include "option_text.h"

namespace sluice::chain_app {
namespace {

/// Number of images computed together; the rest of a batch is computed one by one. A larger group
/// is not faster per image, and more images would be in the rest.
constexpr uint32_t kTogether = 8;
constexpr uint32_t kMostPercent = 100;

class Classify final : public Executor {
 public:
  Classify()
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        single_(engine_, 1),
        several_(engine_, kTogether) {}

  void Run(std::span<Work> batch) override {
    // OpenMP's setting is per thread, and the stage is a single thread.
    omp_set_num_threads(1);
    std::array<Work*, kMaxBatch> images{};
    size_t count = 0;
    for (Work& work : batch)
      if (Takes(work)) images[count++] = &work;
    const std::span<Work*> all(images.data(), count);
    size_t done = 0;
    for (; count - done >= kTogether; done += kTogether)
      Compute(several_, all.subspan(done, kTogether));
    for (; done < count; ++done) Compute(single_, all.subspan(done, 1));
  }

 private:
  static bool Takes(Work& work) {
    work.outcome = Outcome::kRefused;
    if (work.input.size() != kImageBytes) {
      work.refusal = static_cast<uint8_t>(ClassifyRefusal::kBadImage);
    } else if (work.output.size() < kAnswerBytes) {
      work.refusal = static_cast<uint8_t>(ClassifyRefusal::kTooLong);
    } else if (work.command > kMostPercent) {
      work.refusal = static_cast<uint8_t>(ClassifyRefusal::kBadCommand);
    } else {
      return true;
    }
    return false;
  }

  void Compute(OneDnnNetwork& network, std::span<Work* const> images) {
    for (uint32_t i = 0; i < images.size(); ++i)
      std::ranges::transform(images[i]->input, network.Pixels(i).begin(),
                             [](uint8_t pixel) { return static_cast<float>(pixel / kPixelStep); });
    try {
      network.Run(stream_);
    } catch (const dnnl::error&) {
      for (Work* work : images) work->outcome = Outcome::kFailed;
      return;
    }
    for (uint32_t i = 0; i < images.size(); ++i) {
      Work& work = *images[i];
      const Answer answer = AnswerOf(network.ScoresOf(i), work.command);
      WriteAnswer(answer, work.output.first<kAnswerBytes>());
      work.length = kAnswerBytes;
      work.key[0] = KeyOf(answer);
      work.outcome = Outcome::kDone;
    }
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  OneDnnNetwork single_;
  OneDnnNetwork several_;
};

std::unique_ptr<Executor> MakeClassify(const StageOptions& options, std::string* error) {
  if (!OptionText::Read(options.text, {}, error)) return nullptr;
  // oneDNN creates primitives for the number of threads that is set now.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  std::unique_ptr<Executor> made;
  try {
    made = std::make_unique<Classify>();
  } catch (const dnnl::error& fault) {
    *error = std::string("oneDNN cannot create the network: ") + fault.what();
  }
  omp_set_num_threads(threads);
  return made;
}

}  // namespace

const StageKind kClassifyStage = {
    .name = "classify",
    .what =
        "classifies digits in images of 28 x 28 pixels; the command is the margin, in percent, by "
        "which the best digit must lead for the result to be certain; key0 is odd if the result is "
        "certain",
    .make = MakeClassify,
    .refusals = {"bad_image", "too_long", "bad_command"}};

}  // namespace sluice::chain_app
