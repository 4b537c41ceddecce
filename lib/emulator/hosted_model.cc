// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/hosted_model.h"

#include <random>
#include <utility>

#include "emulator/grid/grid_model.h"
#include "emulator/running_model.h"

namespace sluice::emulator {
namespace {

/// Returns a locally administered address that depends only on the name.
MacAddress MacOf(std::string_view name) {
  uint32_t hash = 0x811c'9dc5;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x0100'0193;
  return {0x02,
          0x53,
          0x6c,
          static_cast<uint8_t>(hash >> 16),
          static_cast<uint8_t>(hash >> 8),
          static_cast<uint8_t>(hash)};
}

}  // namespace

std::unique_ptr<HostedModel> MakeModel(std::string_view name, const ModelInfo& model,
                                       Arguments arguments, std::string* error) {
  const MacAddress mac = MacOf(name);
  arguments.generator.destination = mac;
  arguments.generator.run = static_cast<uint16_t>(std::random_device()());
  if (arguments.on.kind != OnOptions::Kind::kCpu) {
    return GridModel::Create(name, model, arguments, mac, error);
  }
  return RunningModel::Create(name, model, std::move(arguments), mac, error);
}

}  // namespace sluice::emulator
