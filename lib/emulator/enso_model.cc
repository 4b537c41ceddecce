// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/enso_model.h"

#include "device/enso/enso_nic.h"
#include "device/transport/unit.h"
#include "emulator/grid/enso_program.h"
#include "emulator/model.h"
#include "regs/enso.h"

namespace sluice::emulator {
namespace {

enum Setting : size_t { kPipeFlits, kNbEntries, kNotify, kSettings };

constexpr std::string_view kNotifyWords[] = {"host", "packet"};
constexpr ModelSetting kEnsoSettings[kSettings] = {
    {"pipe_flits",
     "number of 64-byte flits per pipe (0, the default: the host's value)",
     {},
     false},
    {"nb_entries",
     "number of slots per notification ring (0, the default: the host's value)",
     {},
     false},
    {"notify", "packet: the host must use notify=packet; host (default): the host chooses",
     kNotifyWords, true}};

std::unique_ptr<device::Device> MakeEnso(const SettingValues& values, const bar::DmaSpace& memory,
                                         std::string* error) {
  device::enso::EnsoConfig config;
  if (const char* const wrong = ReadEnsoSettings(values, &config)) {
    *error = wrong;
    return nullptr;
  }
  return device::transport::WithUnit(std::make_unique<device::enso::EnsoNic>(memory, config),
                                     memory, {.unit = regs::enso::kTransport});
}

}  // namespace

const char* ReadEnsoSettings(const SettingValues& values, device::enso::EnsoConfig* config) {
  if (values[kPipeFlits] != 0) config->pipe_flits = values[kPipeFlits];
  if (values[kNbEntries] != 0) config->nb_entries = values[kNbEntries];
  config->notify_per_packet = values[kNotify] != 0;
  return config->Error();
}

const ModelInfo kEnsoModel = {.name = "enso",
                              .title = "an Enso NIC",
                              .driver = "net_enso",
                              .bar_bytes = regs::enso::kBarBytes,
                              .settings = kEnsoSettings,
                              .make = MakeEnso,
                              .grid = &kEnsoProgram};

SettingValues EnsoSettings(uint32_t pipe_flits, uint32_t nb_entries, bool notify_per_packet) {
  SettingValues values{};
  values[kPipeFlits] = pipe_flits;
  values[kNbEntries] = nb_entries;
  values[kNotify] = notify_per_packet ? 1 : 0;
  return values;
}

}  // namespace sluice::emulator
