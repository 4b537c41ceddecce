// SPDX-License-Identifier: BSD-3-Clause
//
// Converts a protocol's table to Promela for the models that spin checks: constants, and an inline
// that looks up a transition.
#pragma once

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace sluice::exhaustive {

/// Returns a line "#define <prefix><name> <index>" for each name.
template <size_t N>
std::string Constants(const char* prefix, const char* const (&names)[N]) {
  std::string text;
  for (size_t i = 0; i < N; ++i) {
    text += std::string("#define ") + prefix + names[i] + " " + std::to_string(i) + "\n";
  }
  return text;
}

/// Returns the text of "inline <name>(state, input)", which sets `next` and `action`. `find(state,
/// input)` returns a transition {next, action}; action 0 means that the input is ignored. The
/// constants of the table have the prefixes <prefix>S_, <prefix>I_ and <prefix>A_.
template <size_t States, size_t Inputs, size_t Actions, typename Find>
std::string Transitions(const char* name, const char* const (&states)[States],
                        const char* const (&inputs)[Inputs], const char* const (&actions)[Actions],
                        Find find, const std::string& prefix = "") {
  std::string text = std::string("inline ") + name + "(state, input) {\n  if\n";
  for (size_t state = 0; state < States; ++state) {
    for (size_t input = 0; input < Inputs; ++input) {
      const auto move = find(state, input);
      if (static_cast<size_t>(move.action) == 0) continue;
      text += "  :: state == " + prefix + "S_" + states[state] + " && input == " + prefix + "I_" +
              inputs[input] + " -> next = " + prefix + "S_" +
              states[static_cast<size_t>(move.next)] + "; action = " + prefix + "A_" +
              actions[static_cast<size_t>(move.action)] + "\n";
    }
  }
  return text + "  :: else -> next = state; action = " + prefix + "A_" + actions[0] + "\n  fi\n}\n";
}

/// Returns the text of the template, the hand-written part of a model. Prints an error and returns
/// an empty string if the file cannot be read.
inline std::string ReadTemplate(const char* path) {
  std::ifstream file(path);
  std::string model{std::istreambuf_iterator<char>(file), {}};
  if (model.empty()) std::fprintf(stderr, "promela: cannot read %s\n", path);
  return model;
}

}  // namespace sluice::exhaustive
