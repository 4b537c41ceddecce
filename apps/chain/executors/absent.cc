// SPDX-License-Identifier: BSD-3-Clause
//
// Replacements for stages whose library was not available at build time. A graph that uses such a
// stage is rejected with an error.
#include <memory>
#include <string>

#include "aes_gcm.h"
#include "classify.h"
#include "deflate_stage.h"
#include "line_filter.h"

namespace sluice::chain_app {

#ifndef SLUICE_HAS_CRYPTODEV
const StageKind kAesGcmStage = {
    .name = "aes_gcm",
    .what = "AES-GCM; not in this build: requires DPDK with cryptodev",
    .make = [](const StageOptions&, std::string* error) -> std::unique_ptr<Executor> {
      *error = "aes_gcm is not in this build: install DPDK with cryptodev and build again";
      return nullptr;
    }};
#endif

#ifndef SLUICE_HAS_COMPRESSDEV
const StageKind kDeflateStage = {
    .name = "deflate",
    .what = "gzip; not in this build: requires DPDK with compressdev",
    .make = [](const StageOptions&, std::string* error) -> std::unique_ptr<Executor> {
      *error = "deflate is not in this build: install DPDK with compressdev and build again";
      return nullptr;
    }};
#endif

#ifndef SLUICE_HAS_ONEDNN
const StageKind kClassifyStage = {
    .name = "classify",
    .what = "classifies digits in images; not in this build: requires oneDNN 2",
    .make = [](const StageOptions&, std::string* error) -> std::unique_ptr<Executor> {
      *error = "classify is not in this build: install libdnnl-dev and build again";
      return nullptr;
    }};
#endif

#ifndef SLUICE_HAS_HYPERSCAN
const StageKind kRegexStage = {
    .name = "regex",
    .what = "keeps lines that match; not in this build: requires Hyperscan",
    .make = [](const StageOptions&, std::string* error) -> std::unique_ptr<Executor> {
      *error = "regex is not in this build: install libhyperscan-dev and build again";
      return nullptr;
    }};
#endif

}  // namespace sluice::chain_app
