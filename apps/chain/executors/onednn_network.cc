// SPDX-License-Identifier: BSD-3-Clause
#include "onednn_network.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace sluice::chain_app {
namespace {

using dnnl::memory;
using Layout = memory::format_tag;

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

}  // namespace

OneDnnNetwork::OneDnnNetwork(const dnnl::engine& engine, uint32_t images) : images_(images) {
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  const int64_t count = images;
  dnnl::stream stream(engine);

  // Rectifies inside the convolution primitive.
  dnnl::post_ops rectify;
  rectify.append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(rectify);
  const memory::dims filter_dims = {kFilters, 1, kFilterSide, kFilterSide};
  // Winograd's transform would introduce fractions, so the direct algorithm is required.
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

}  // namespace sluice::chain_app
