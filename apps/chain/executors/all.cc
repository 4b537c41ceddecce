// SPDX-License-Identifier: BSD-3-Clause
#include "all.h"

#include <array>

#include "aes_gcm.h"
#include "classify.h"
#include "copy.h"
#include "deflate_stage.h"
#include "encrypted_images.h"
#include "line_filter.h"
#include "pattern.h"

namespace sluice::chain_app {
namespace {

constexpr std::array kStages = {&kCopyStage, &kAesGcmStage, &kDeflateStage, &kClassifyStage,
                                &kRegexStage};
constexpr std::array kTraffic = {&kPatternTraffic, &kImagesTraffic};

}  // namespace

std::span<const StageKind* const> BuiltInStages() { return kStages; }
std::span<const TrafficKind* const> BuiltInTraffic() { return kTraffic; }

}  // namespace sluice::chain_app
