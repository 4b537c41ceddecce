// SPDX-License-Identifier: BSD-3-Clause
#include "host/flag_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>
#include <vector>

namespace sluice::host {

bool IsOwnFlag(const gflags::CommandLineFlagInfo& flag) {
  constexpr std::array kFolders = {"/host/", "/runtime/", "apps/"};
  return std::ranges::any_of(kFolders, [&](const char* folder) {
    return flag.filename.find(folder) != std::string::npos;
  });
}

bool SetFlags(std::span<char* const> arguments, std::string* error) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    const bool dashes = argument.starts_with("--");
    const size_t equals = argument.find('=');
    const std::string flag = dashes ? argument.substr(2, equals - 2) : "";
    gflags::CommandLineFlagInfo info;
    if (!dashes || !gflags::GetCommandLineFlagInfo(flag.c_str(), &info) || !IsOwnFlag(info)) {
      *error = argument + (dashes ? ": unknown flag: see --help" : ": not a flag: see --help");
      return false;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (info.type == "bool") {
      value = "true";
    } else if (++i < arguments.size()) {
      value = arguments[i];
    } else {
      *error = argument + ": needs a value: " + argument + "=VALUE";
      return false;
    }
    if (gflags::SetCommandLineOption(flag.c_str(), value.c_str()).empty()) {
      *error = "--" + flag + "=" + value + ": give a value of type " + info.type;
      return false;
    }
  }
  return true;
}

std::string Information(std::span<char* const> arguments, std::string_view program,
                        std::string_view version) {
  const std::string name(program.substr(0, program.find(':')));
  for (const std::string_view argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      return std::string(program) + "\n\nUsage: " + name + " [flags]\n" + FlagHelp();
    }
    if (argument == "--version") return name + " " + std::string(version) + "\n";
  }
  return {};
}

bool ParseFlags(int argc, char** argv, std::string_view program, std::string_view version,
                int* exit_code) {
  const int first = argc > 1 && std::string_view(argv[1]) == "--" ? 2 : 1;
  const std::span<char* const> arguments(argv + first, argv + argc);
  const std::string asked = Information(arguments, program, version);
  std::fputs(asked.c_str(), stdout);
  *exit_code = asked.empty() ? 2 : 0;
  std::string error;
  if (!asked.empty() || SetFlags(arguments, &error)) return asked.empty();
  std::fprintf(stderr, "%s\n", error.c_str());
  return false;
}

std::string FlagText(std::string_view type, const std::string& value) {
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, number);
  if (type != "double" || read.ec != std::errc() || read.ptr != end) return value;
  // Within these bounds, numbers are printed without an exponent.
  const double size = std::abs(number);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e12);
  std::array<char, 64> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number,
                                     plain ? std::chars_format::fixed : std::chars_format::general);
  return written.ec == std::errc() ? std::string(text.data(), written.ptr) : value;
}

std::string OneLine(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

std::string FlagComplaint(const std::string& name, std::string_view fix) {
  const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  return OneLine("--" + name + "=" + FlagText(flag.type, flag.current_value) + ": " +
                 std::string(fix));
}

std::string FlagHelp(std::span<const OwnHelp> own) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::string text;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (!IsOwnFlag(flag)) continue;
    std::array<char, 64> name;
    std::snprintf(name.data(), name.size(), "  --%-18s ", flag.name.c_str());
    const std::string value = FlagText(flag.type, flag.default_value);
    const auto ours = std::ranges::find(own, flag.name, &OwnHelp::flag);
    text += name.data() + (ours == own.end() ? flag.description : std::string(ours->text)) + " (" +
            (value.empty() ? "empty" : value) + ")\n";
  }
  return text;
}

}  // namespace sluice::host
