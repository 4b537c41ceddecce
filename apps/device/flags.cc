// SPDX-License-Identifier: BSD-3-Clause
#include "flags.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "emulator/options.h"
#include "emulator/socket_path.h"
#include "host/argument_faults.h"
#include "models.h"

namespace sluice::device_app {
namespace {

struct FlagHelp {
  const char* name;
  const char* help;
};

/// Flags other than --model and the settings of the models.
constexpr std::array kHelp = {
    FlagHelp{"socket", "Socket at which hosts attach (default: one in this user's runtime folder)"},
    FlagHelp{"vfio_user",
             "Socket at which a virtual machine attaches, instead of --socket; the NIC is a PCI "
             "function"},
    FlagHelp{"interrupts",
             "With --vfio_user: on (default), or off for a PCI function without MSI-X"},
    FlagHelp{"wire",
             "Wire of the NIC: loopback (default), gen:…, pcap:FILE, port:ETHDEV, cable:NAME, "
             "library:FILE"},
    FlagHelp{"faults", "Faults on the wire, such as drop:0.01+delay:50us"},
    FlagHelp{"verify", "How the wire checks frames that the host returns: full, sampled or off"},
    FlagHelp{"pause",
             "If the NIC's buffers are full, on makes the wire wait, and off makes it drop frames"},
    FlagHelp{"seed", "Seed of traffic and faults"},
    FlagHelp{"on",
             "Processor of the model: cpu (default), gpu or gpu:index=N (an NVIDIA GPU, across "
             "PCIe), or threads (the GPU's code on CPU threads, for tests)"},
    FlagHelp{"device_cpu", "CPU of the thread that steps the model"},
    FlagHelp{"duration_s", "Seconds to run (0, the default: until SIGINT or SIGTERM)"},
    FlagHelp{"stats_period_s", "Seconds between statistics lines (default: 1; 0: none)"},
    FlagHelp{"json", "Write the final report to this file; - for standard output"},
};

// EAL's long options that a device may need. EAL defines their meaning; this list only
// distinguishes them from mistyped flags on a command line without "--".
constexpr std::array<std::string_view, 14> kEalOptions = {
    "allow",      "block",     "file-prefix", "huge-dir", "in-memory", "iova-mode",    "lcores",
    "legacy-mem", "log-level", "main-lcore",  "no-huge",  "no-pci",    "no-telemetry", "vdev"};

/// Returns the index of a setting in its model's list; nullopt if the model has no setting of that
/// name.
std::optional<size_t> FindSetting(const emulator::ModelInfo& model, std::string_view key) {
  const auto found = std::ranges::find(model.settings, key, &emulator::ModelSetting::key);
  if (found == model.settings.end()) return std::nullopt;
  return static_cast<size_t>(found - model.settings.begin());
}

bool IsSetting(std::string_view name) {
  return std::ranges::any_of(kModels,
                             [&](const auto* m) { return FindSetting(*m, name).has_value(); });
}

bool IsFlag(std::string_view name) {
  return name == "model" || IsSetting(name) ||
         std::any_of(kHelp.begin(), kHelp.end(), [&](const FlagHelp& f) { return name == f.name; });
}

/// Returns the name in "--name=value" or "--name"; empty if the argument is not a long option.
std::string_view NameOf(std::string_view argument) {
  if (!argument.starts_with("--")) return "";
  argument.remove_prefix(2);
  return argument.substr(0, argument.find('='));
}

bool IsEalArgument(std::string_view argument) {
  if (argument.starts_with("-") && !argument.starts_with("--")) return true;
  return std::find(kEalOptions.begin(), kEalOptions.end(), NameOf(argument)) != kEalOptions.end();
}

/// Returns "ipu or enso".
std::string Models() {
  std::string text;
  for (const auto* model : kModels) text += (text.empty() ? "" : " or ") + std::string(model->name);
  return text;
}

class Reader {
 public:
  explicit Reader(Flags* flags) : out_(*flags) {}

  const std::string& error() const { return error_; }

  bool Read(std::span<const std::string> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      const std::string name(NameOf(argument));
      if (!IsFlag(name)) {
        error_ = argument + ": unknown flag: see --help; EAL arguments go before --";
        return false;
      }
      const size_t equals = argument.find('=');
      if (equals == std::string::npos && i + 1 == arguments.size()) {
        error_ = argument + ": needs a value: " + argument + "=VALUE";
        return false;
      }
      if (!Set(name, equals != std::string::npos ? argument.substr(equals + 1) : arguments[++i])) {
        return false;
      }
    }
    std::string error;
    const auto parsed = emulator::ParseArguments(model_, &error);
    if (!parsed) {
      error_ = "--" + error;
      return false;
    }
    out_.model = *parsed;
    if (!out_.vfio_user.empty() && !out_.server.path.empty()) {
      error_ = "--vfio_user=" + out_.vfio_user +
               ": conflicts with --socket, since a NIC has one host: omit one of them";
      return false;
    }
    if (!out_.vfio_user.empty() && out_.model.on.kind != emulator::OnOptions::Kind::kCpu) {
      error_ =
          "--vfio_user=" + out_.vfio_user +
          ": conflicts with --on, since the NIC of a virtual machine runs on the CPU: omit --on";
      return false;
    }
    if (!out_.interrupts && out_.vfio_user.empty()) {
      error_ = "--interrupts=off: requires --vfio_user=SOCKET: add it, or omit --interrupts";
      return false;
    }
    for (const auto& [name, value] : settings_) {
      if (!SetModelSetting(name, value)) return false;
    }
    return true;
  }

 private:
  bool Bad(const std::string& name, const std::string& value, const std::string& fix) {
    error_ = "--" + name + "=" + value + ": " + fix;
    return false;
  }

  bool Set(const std::string& name, const std::string& value) {
    if (name == "model") return SetModel(value);
    if (IsSetting(name)) {
      // The setting is checked after all flags are read, because --model may come last.
      settings_.emplace_back(name, value);
      return true;
    }
    if (name == "socket") {
      out_.server.path = value;
      return !value.empty() || Bad(name, value, "give the path of a socket");
    }
    if (name == "vfio_user") {
      out_.vfio_user = value;
      return !value.empty() || Bad(name, value, "give the path of a socket");
    }
    if (name == "interrupts") {
      out_.interrupts = value == "on";
      return value == "on" || value == "off" || Bad(name, value, "give on or off");
    }
    if (name == "duration_s") return Seconds(name, value, &out_.duration_s);
    if (name == "stats_period_s") {
      if (!Seconds(name, value, &out_.stats_period_s)) return false;
      const std::string fault = host::PeriodFault(out_.stats_period_s);
      return fault.empty() || Bad(name, value, fault);
    }
    if (name == "json") {
      out_.json = value;
      const std::string fault = host::OutputFault(value);
      return fault.empty() || Bad(name, value, fault);
    }
    if (name == "wire") out_.wire = value;
    model_.emplace_back(name, value);
    return true;
  }

  bool SetModel(const std::string& value) {
    const auto* const found =
        std::ranges::find_if(kModels, [&](const auto* m) { return m->name == value; });
    if (found == kModels.end()) return Bad("model", value, "give " + Models());
    out_.server.model = *found;
    return true;
  }

  bool SetModelSetting(const std::string& name, const std::string& value) {
    const emulator::ModelInfo& model = *out_.server.model;
    const std::optional<size_t> place = FindSetting(model, name);
    if (!place) {
      error_ = "--" + name + "=" + value + ": --model=" + std::string(model.name) +
               " does not support this setting: omit it";
      return false;
    }
    const emulator::ModelSetting& setting = model.settings[*place];
    return setting.Read(value, &out_.server.settings[*place]) ||
           Bad(name, value, setting.Choices());
  }

  bool Seconds(const std::string& name, const std::string& value, double* seconds) {
    return emulator::ReadNumber(value, 0, std::numeric_limits<double>::max(), seconds) ||
           Bad(name, value, "give seconds, 0 or more");
  }

  Flags& out_;
  std::string error_;
  std::vector<std::pair<std::string, std::string>> model_;
  std::vector<std::pair<std::string, std::string>> settings_;  ///< Settings of the model.
};

void PrintHelp() {
  std::printf(
      "sluice-device: runs a model NIC and its wire in a separate process\n\nUsage: sluice-device "
      "[EAL arguments] -- [flags]\n\nFlags (the -- is required only after EAL arguments):\n");
  const auto print = [](std::string_view name, const std::string& help) {
    std::printf("  --%-16s %s\n", std::string(name).c_str(), help.c_str());
  };
  print("model", "The NIC: " + Models() + "; default: " + std::string(kModels[0]->name));
  for (const FlagHelp& flag : kHelp) print(flag.name, flag.help);
  for (const auto* model : kModels) {
    for (const auto& setting : model->settings) {
      print(setting.key, "--model=" + std::string(model->name) + ": " + std::string(setting.help));
    }
  }
  std::printf("\nA host attaches to the model with\n");
  for (const auto* model : kModels) {
    print("model=" + std::string(model->name),
          "--vdev=" + std::string(model->driver) + "0,device=SOCKET");
  }
  std::printf(
      "With --vfio_user=SOCKET, a virtual machine attaches with QEMU's device vfio-user-pci.\n"
      "SIGHUP resets the link to the host; SIGINT and SIGTERM end the run with totals.\n");
}

}  // namespace

std::optional<Flags> ReadFlags(int argc, char** argv, int* exit_code) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  *exit_code = 0;
  for (auto argument = all.begin(); argument != dashes; ++argument) {
    if (*argument == "--help" || *argument == "-h") {
      PrintHelp();
      return std::nullopt;
    }
    if (*argument == "--version") {
      std::printf("sluice-device %s\n", SLUICE_VERSION);
      return std::nullopt;
    }
  }
  // Without "--", either all arguments are EAL's, if the first one is, or all are this program's
  // flags.
  std::vector<std::string> ours;
  Flags flags;
  if (dashes != all.end()) {
    flags.eal.assign(all.begin(), dashes);
    ours.assign(dashes + 1, all.end());
  } else if (!all.empty() && IsEalArgument(all[0])) {
    flags.eal = all;
  } else {
    ours = all;
  }
  flags.server.model = kModels[0];
  flags.wire = "loopback";
  flags.stats_period_s = 1;
  Reader reader(&flags);
  std::string error;
  for (const std::string& argument : flags.eal) {
    if (IsFlag(NameOf(argument)))
      error = argument + ": a flag of sluice-device, not of EAL: put -- before it";
  }
  if (error.empty() && reader.Read(ours)) {
    if (!flags.server.path.empty() || !flags.vfio_user.empty()) return flags;
    if (auto path = emulator::DefaultSocketPath(&error)) {
      flags.server.path = *std::move(path);
      return flags;
    }
    error.insert(0, "--socket: ");
  }
  std::fprintf(stderr, "%s\n", error.empty() ? reader.error().c_str() : error.c_str());
  *exit_code = 2;
  return std::nullopt;
}

}  // namespace sluice::device_app
