// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/command_line.h"

#include <gflags/gflags.h>
#include <rte_eal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/standard_streams.h"
#include "dpdk/release.h"
#include "nic/interfaces.h"
#include "runtime/eal_devices.h"

DEFINE_string(list, "", "Print a list of this build's features as JSON and exit: interfaces");

namespace sluice::runtime {

namespace {

/// Returns the table that `--list=WHAT` prints for scripts and tests, as a JSON array with one
/// object per entry. Returns an empty string if table `what` does not exist. The only table is
/// "interfaces" (name, crosses, model, ipv4_only; nic/interface.h).
std::string Listing(std::string_view what) {
  if (what != "interfaces") return "";
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const nic::InterfaceInfo& interface : nic::kInterfaces) {
    list.push_back({{"name", interface.name},
                    {"crosses", interface.crosses},
                    {"model", interface.model},
                    {"ipv4_only", interface.ipv4_only}});
  }
  return list.dump(2) + "\n";
}

// EAL's long options (22.11). They are used to distinguish a mistyped flag from an EAL argument
// without the "--" separator. EAL itself interprets the options.
constexpr std::array<std::string_view, 36> kEalOptions = {"allow",
                                                          "base-virtaddr",
                                                          "block",
                                                          "create-uio-dev",
                                                          "file-prefix",
                                                          "force-max-simd-bitwidth",
                                                          "huge-dir",
                                                          "huge-unlink",
                                                          "huge-worker-stack",
                                                          "in-memory",
                                                          "iova-mode",
                                                          "lcores",
                                                          "legacy-mem",
                                                          "log-level",
                                                          "main-lcore",
                                                          "match-allocations",
                                                          "mbuf-pool-ops-name",
                                                          "no-hpet",
                                                          "no-huge",
                                                          "no-pci",
                                                          "no-shconf",
                                                          "no-telemetry",
                                                          "proc-type",
                                                          "single-file-segments",
                                                          "socket-limit",
                                                          "socket-mem",
                                                          "syslog",
                                                          "telemetry",
                                                          "trace",
                                                          "trace-bufsz",
                                                          "trace-dir",
                                                          "trace-mode",
                                                          "vdev",
                                                          "vfio-intr",
                                                          "vfio-vf-token",
                                                          "vmware-tsc-map"};

int Fail(std::string line) {
  std::fprintf(stderr, "%s\n", host::OneLine(std::move(line)).c_str());
  return 2;
}

int PrintListing() {
  const std::string text = Listing(FLAGS_list);
  if (text.empty()) return BadFlag("list", "give interfaces");
  std::fputs(text.c_str(), stdout);
  return 0;
}

std::string FlagName(std::string_view argument) {
  if (!argument.starts_with("-")) return "";
  argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
  return std::string(argument.substr(0, argument.find('=')));
}

bool IsFlag(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  return name == "flagfile" ||
         (gflags::GetCommandLineFlagInfo(name.c_str(), &info) && host::IsOwnFlag(info));
}

// Returns whether the flag is a bool, for which the name alone means true.
bool IsSwitch(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  return gflags::GetCommandLineFlagInfo(name.c_str(), &info) && info.type == "bool";
}

bool IsEalArgument(std::string_view argument) {
  if (!argument.starts_with("--")) return true;  // A short option, or an option's value.
  const std::string name = FlagName(argument);
  return std::ranges::find(kEalOptions, name) != kEalOptions.end() || dpdk::IsNewerEalOption(name);
}

bool SetFlags(std::span<const std::string> arguments, std::string* error);

// Reads one flag per line; blank lines and lines that begin with # are ignored.
bool ReadFlagFile(const std::string& path, std::string* error) {
  static int depth = 0;
  // The size is limited because the path may name an endless device file.
  constexpr size_t kMostBytes = 1 << 20;
  std::ifstream file(path);
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (!file.is_open() || file.bad() || text.size() > kMostBytes || depth > 8) {
    *error = "--flagfile=" + path + ": cannot be read: give a file with one --flag=value per line";
    return false;
  }
  std::vector<std::string> arguments;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line[0] != '#') arguments.push_back(line);
  }
  ++depth;
  const bool good = SetFlags(arguments, error);
  --depth;
  if (!good) *error += " (in " + path + ")";
  return good;
}

bool SetFlags(std::span<const std::string> arguments, std::string* error) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string name = FlagName(argument);
    if (!IsFlag(name)) {
      *error = argument + (name.empty() ? ": not a flag" : ": unknown flag") +
               ": see --help; EAL arguments go before --";
      return false;
    }
    const size_t equals = argument.find('=');
    const bool alone = equals == std::string::npos && IsSwitch(name);
    if (equals == std::string::npos && !alone && i + 1 == arguments.size()) {
      *error = argument + ": needs a value: " + argument + "=VALUE";
      return false;
    }
    const std::string value = alone                         ? "true"
                              : equals != std::string::npos ? argument.substr(equals + 1)
                                                            : arguments[++i];
    if (name == "flagfile") {
      if (!ReadFlagFile(value, error)) return false;
    } else if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
      *error = "--" + name + "=" + value + ": give a value of type " +
               gflags::GetCommandLineFlagInfoOrDie(name.c_str()).type;
      return false;
    }
  }
  return true;
}

// Splits the arguments into EAL's half and the application's half. Without "--", all arguments
// belong to EAL if the first one is an EAL option, otherwise to the application.
bool Split(std::span<char*> arguments, std::vector<std::string>* eal,
           std::vector<std::string>* ours, std::string* error) {
  const auto dashes = std::ranges::find_if(arguments, [](std::string_view a) { return a == "--"; });
  if (dashes != arguments.end()) {
    eal->assign(arguments.begin(), dashes);
    ours->assign(dashes + 1, arguments.end());
  } else if (!arguments.empty() && arguments[0][0] == '-' && !IsFlag(FlagName(arguments[0])) &&
             IsEalArgument(arguments[0])) {
    eal->assign(arguments.begin(), arguments.end());
  } else {
    ours->assign(arguments.begin(), arguments.end());
  }
  for (const std::string& argument : *eal) {
    if (IsEalArgument(argument)) continue;
    *error = argument + (IsFlag(FlagName(argument))
                             ? ": a flag of the application, not of EAL: put -- before it"
                             : ": unknown to EAL: see --help");
    return false;
  }
  for (const std::string& argument : *ours) {
    if (IsFlag(FlagName(argument)) || !argument.starts_with("-")) continue;
    if (!IsEalArgument(argument) || dashes != arguments.end()) continue;
    *error = argument + ": an EAL argument: put EAL arguments first, then --";
    return false;
  }
  return true;
}

void PrintHelp(std::string_view app, std::string_view summary, std::span<const host::OwnHelp> own) {
  std::printf(
      "sluice-%.*s: %.*s\n\nUsage: sluice-%.*s [EAL arguments] -- [flags]\n\n"
      "Application flags (the -- is required only after EAL arguments):\n%s"
      "  --%-18s Read flags from this file, one --flag=value per line\n"
      "  --%-18s This text; --help=eal: EAL's arguments\n",
      static_cast<int>(app.size()), app.data(), static_cast<int>(summary.size()), summary.data(),
      static_cast<int>(app.size()), app.data(), host::FlagHelp(own).c_str(), "flagfile", "help");
}

// Prints EAL's options. EAL ends the process with exit code 0.
void PrintEalHelp(std::string_view app) {
  std::string name = "sluice-" + std::string(app);
  std::string help = "--help";
  std::array<char*, 3> arguments = {name.data(), help.data(), nullptr};
  rte_eal_init(2, arguments.data());
}

}  // namespace

std::optional<CommandLine> ReadCommandLine(std::string_view app, std::string_view summary, int argc,
                                           char** argv, int* exit_code, TrafficFlags traffic,
                                           std::span<const host::OwnHelp> own_help) {
  base::OpenStandardStreams();
  const std::span<char*> arguments(argv + 1, static_cast<size_t>(std::max(argc - 1, 0)));
  for (const std::string_view argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      PrintHelp(app, summary, own_help);
      *exit_code = 0;
      return std::nullopt;
    }
    if (argument == "--help=eal") {
      PrintEalHelp(app);
      *exit_code = 0;
      return std::nullopt;
    }
    if (argument == "--version") {
      std::printf("sluice-%.*s %s\n", static_cast<int>(app.size()), app.data(), SLUICE_VERSION);
      *exit_code = 0;
      return std::nullopt;
    }
  }
  CommandLine line;
  line.app = app;
  std::vector<std::string> ours;
  std::string error;
  if (Split(arguments, &line.eal, &ours, &error) && SetFlags(ours, &error)) {
    if (!FLAGS_list.empty()) {
      *exit_code = PrintListing();
      return std::nullopt;
    }
    const std::vector<EalDevice> devices = EalDevices(line.eal);
    line.own_port = !devices.empty();
    if (std::optional<Options> options = ReadOptions(line.own_port, traffic, &error)) {
      line.options = *std::move(options);
      error = MissingDevice(devices);
      if (error.empty()) return line;
      Fail(error);
      *exit_code = 1;  // The exit code is 1, because the device may appear later.
      return std::nullopt;
    }
  }
  *exit_code = Fail(error);
  return std::nullopt;
}

int BadFlag(std::string_view flag, std::string_view fix) {
  return Fail(host::FlagComplaint(std::string(flag), fix));
}

int Unavailable(std::string_view flag, std::string_view fix) {
  BadFlag(flag, fix);
  return 1;
}

}  // namespace sluice::runtime
