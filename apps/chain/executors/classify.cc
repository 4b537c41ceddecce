// SPDX-License-Identifier: BSD-3-Clause
#include "classify.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "option_text.h"

namespace sluice::chain_app {
namespace {

using dnnl::memory;
using Layout = memory::format_tag;

/// The network of digit_network.h, implemented with oneDNN primitives for a fixed number of images.
/// Used by one thread, and computes only on that thread. Throws dnnl::error.
class OneDnnNetwork {
 public:
  OneDnnNetwork(const dnnl::engine& engine, uint32_t images);

  uint32_t images() const { return images_; }
  /// Returns the input buffer for an image, which must contain the pixels divided by kPixelStep.
  std::span<float> Pixels(uint32_t image);
  /// Computes the scores of all images.
  void Run(dnnl::stream& stream);
  Scores ScoresOf(uint32_t image) const;

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  uint32_t images_;
  dnnl::memory pixels_;
  dnnl::memory scores_;
  std::vector<Step> steps_;
};

memory::desc Floats(const memory::dims& dims, Layout layout) {
  return {dims, memory::data_type::f32, layout};
}

float* FloatsOf(const memory& memory) { return static_cast<float*>(memory.get_data_handle()); }

/// Returns `numbers` in the memory layout `wanted`, which a primitive expects.
template <typename Numbers>
memory Constant(const Numbers& numbers, const memory::dims& dims, Layout layout,
                const memory::desc& wanted, const dnnl::engine& engine, dnnl::stream& stream) {
  memory plain(Floats(dims, layout), engine);
  float* to = FloatsOf(plain);
  for (const auto& row : numbers) to = std::copy(std::begin(row), std::end(row), to);
  if (plain.get_desc() == wanted) return plain;
  memory ordered(wanted, engine);
  dnnl::reorder(plain, ordered).execute(stream, plain, ordered);
  stream.wait();
  return ordered;
}

OneDnnNetwork::OneDnnNetwork(const dnnl::engine& engine, uint32_t images) : images_(images) {
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  const int64_t count = images;
  dnnl::stream stream(engine);

  // Fuses the rectification into the convolution primitive.
  dnnl::post_ops rectify;
  rectify.append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(rectify);
  const memory::dims filter_dims = {kFilters, 1, kFilterSide, kFilterSide};
  // The Winograd algorithm would introduce fractions, so the direct algorithm is required.
  const dnnl::convolution_forward::primitive_desc convolution(
      {kInference,
       dnnl::algorithm::convolution_direct,
       Floats({count, 1, kImageSide, kImageSide}, Layout::nchw),
       Floats(filter_dims, Layout::any),
       Floats({count, kFilters, kImageSide, kImageSide}, Layout::any),
       {1, 1},
       {1, 1},
       {1, 1}},
      attributes, engine);
  const dnnl::pooling_forward::primitive_desc pooling(
      {kInference,
       dnnl::algorithm::pooling_max,
       convolution.dst_desc(),
       Floats({count, kFilters, kPooledSide, kPooledSide}, Layout::any),
       {kPool, kPool},
       {kPool, kPool},
       {0, 0},
       {0, 0}},
      engine);
  const memory::dims weight_dims = {kDigits, kFilters, kPooledSide, kPooledSide};
  const dnnl::inner_product_forward::primitive_desc sums(
      {kInference, pooling.dst_desc(), Floats(weight_dims, Layout::any),
       Floats({kDigits}, Layout::x), Floats({count, kDigits}, Layout::nc)},
      engine);

  pixels_ = memory(convolution.src_desc(), engine);
  std::fill_n(FloatsOf(pixels_), size_t{images} * kImageBytes, 0.f);
  scores_ = memory(sums.dst_desc(), engine);
  const memory edges(convolution.dst_desc(), engine);
  const memory features(pooling.dst_desc(), engine);
  const std::array<std::array<int32_t, kDigits>, 1> bias = {kDigitBias};
  steps_ = {
      {dnnl::convolution_forward(convolution),
       {{DNNL_ARG_SRC, pixels_},
        {DNNL_ARG_WEIGHTS, Constant(kEdgeFilters, filter_dims, Layout::oihw,
                                    convolution.weights_desc(), engine, stream)},
        {DNNL_ARG_DST, edges}}},
      {dnnl::pooling_forward(pooling), {{DNNL_ARG_SRC, edges}, {DNNL_ARG_DST, features}}},
      {dnnl::inner_product_forward(sums),
       {{DNNL_ARG_SRC, features},
        {DNNL_ARG_WEIGHTS,
         Constant(kDigitWeights, weight_dims, Layout::oihw, sums.weights_desc(), engine, stream)},
        {DNNL_ARG_BIAS, Constant(bias, {kDigits}, Layout::x, sums.bias_desc(), engine, stream)},
        {DNNL_ARG_DST, scores_}}}};
}

std::span<float> OneDnnNetwork::Pixels(uint32_t image) {
  return {FloatsOf(pixels_) + size_t{image} * kImageBytes, kImageBytes};
}

void OneDnnNetwork::Run(dnnl::stream& stream) {
  for (const Step& step : steps_) step.primitive.execute(stream, step.arguments);
  stream.wait();
}

Scores OneDnnNetwork::ScoresOf(uint32_t image) const {
  Scores scores{};
  std::transform(FloatsOf(scores_) + size_t{image} * kDigits,
                 FloatsOf(scores_) + (size_t{image} + 1) * kDigits, scores.begin(),
                 [](float score) { return static_cast<int32_t>(score); });
  return scores;
}

/// Number of images computed together; the remaining images of a batch are computed one by one. A
/// larger group would not be faster per image, and would leave more images to compute one by one.
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
    // The OpenMP setting is per thread, and the stage is a single thread.
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
  // oneDNN creates primitives for the number of threads that is set at their creation.
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
