// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../apps/chain/executors/gzip_member.h"
#include "check.h"
#include "engine/chain/deployment.h"
#include "engine/chain/reader.h"
#include "targets.h"

namespace sluice::fuzz {

void ChainGraph(const uint8_t* data, size_t size) {
  using namespace engine::chain;  // NOLINT
  config::Errors errors;
  const auto graph =
      ReadGraph(std::string_view(reinterpret_cast<const char*>(data), size), &errors);
  FUZZ_CHECK(graph.has_value() == errors.empty());
  for (const std::string& error : errors)
    FUZZ_CHECK(!error.empty() && error.find('\n') == error.npos);
  if (!graph) return;
  device::pcie_switch::Switch programmable({.ports = 4});
  uint64_t places = 0;
  Deployment deployment(programmable, [&](const Device&, const Chain&, const Node&) {
    const uint64_t base = ++places << 26;
    return Place{base, base + (1u << 25), base + (1u << 25) + 64};
  });
  const std::string refused = deployment.Apply(*graph, nullptr);
  FUZZ_CHECK(refused.find('\n') == refused.npos);
  const std::string picture = Dot(*graph);
  FUZZ_CHECK(picture.starts_with("digraph") && picture.ends_with("}\n"));
  if (!refused.empty()) return;
  std::vector<Changed> changes;
  FUZZ_CHECK(deployment.Apply(*graph, &changes).empty());
  for (const Changed& one : changes) FUZZ_CHECK(one.change == Change::kKept);
  for (const Chain& chain : graph->chains)
    for (const FlowMatch flow : chain.flows) FUZZ_CHECK(!deployment.Explain(flow).empty());
}

void ChainGzip(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> member(data, data + size);
  const auto end = chain_app::AfterGzipHeader(member);
  if (!end) return;
  FUZZ_CHECK(*end >= chain_app::kGzipHeaderBytes && *end <= size);
  for (size_t length = 0; length <= *end; ++length) {
    const std::vector<uint8_t> part(data, data + length);
    FUZZ_CHECK(chain_app::AfterGzipHeader(part) == (length == *end ? end : std::nullopt));
  }
}

}  // namespace sluice::fuzz
