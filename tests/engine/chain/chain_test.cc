// SPDX-License-Identifier: BSD-3-Clause
//
// Tests policy graphs: parsing, error messages, deployment in a switch, and changes while messages
// are in flight.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "device/switch/rig.h"
#include "engine/chain/deployment.h"
#include "engine/chain/reader.h"

namespace sluice::engine::chain {
namespace {

namespace sw = device::pcie_switch;
using sw::test::Bytes;
using sw::test::NodeBase;

std::string FileText(const std::string& name) {
  std::ifstream file(std::string(CONFIGS) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Graph Read(const std::string& text) {
  config::Errors errors;
  auto graph = ReadGraph(text, &errors);
  for (const std::string& error : errors) ADD_FAILURE() << error;
  return graph.value_or(Graph{});
}

constexpr char kDevices[] =
    R"("devices": [{"name": "nic", "kind": "nic", "port": 0},
                   {"name": "a", "kind": "streaming", "port": 1},
                   {"name": "b", "kind": "streaming", "port": 2, "buffer": 640},
                   {"name": "old", "kind": "legacy", "port": 3}])";

/// Returns a graph of one chain with these nodes.
std::string GraphOf(const std::string& nodes, const std::string& devices = kDevices) {
  return "{" + devices + R"(, "chains": [{"name": "c", "flows": ["udp:1"], "message": 512,
          "nodes": [)" +
         nodes + "]}]}";
}

TEST(Reader, TheSampleIsReadAsItStands) {
  const Graph graph = Read(FileText("chain-images.json"));
  ASSERT_EQ(graph.devices.size(), 4u);
  EXPECT_EQ(graph.devices[2].kind, DeviceKind::kLegacy);
  EXPECT_EQ(graph.devices[2].slots, 16u);
  EXPECT_EQ(graph.devices[2].executor, "aes_gcm");
  EXPECT_EQ(graph.devices[2].options, "key0=000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(graph.devices[1].from, (std::vector<std::string>{"classifier"}));
  ASSERT_EQ(graph.chains.size(), 1u);
  const Chain& chain = graph.chains[0];
  EXPECT_EQ(chain.flows, (std::vector<FlowMatch>{{17, 5000}}));
  EXPECT_EQ(chain.message, 1024u);
  ASSERT_EQ(chain.nodes.size(), 5u);
  EXPECT_EQ(chain.nodes[1].name, "decrypt");
  EXPECT_EQ(chain.nodes[1].command, 1u);
  EXPECT_EQ(chain.nodes[2].choose, sw::Select::kKey0);
  EXPECT_EQ(chain.nodes[2].to[0].value, 1u);
  EXPECT_EQ(chain.nodes[2].to[0].mask, 1u);
}

TEST(Reader, NodesHaveAStateAndAWayAround) {
  const Graph graph = Read(GraphOf(R"({"name": "in", "device": "nic", "to": [{"nodes": ["one"]}]},
      {"name": "one", "device": "a", "state": "00ff", "state_rule": "count",
       "on_death": "bypass", "bypass": "out", "to": [{"nodes": ["out"]}]},
      {"name": "out", "device": "nic"})"));
  const Node& one = graph.chains.at(0).nodes.at(1);
  EXPECT_EQ(one.state, (sw::State{0x00, 0xff}));
  EXPECT_EQ(one.state_rule, sw::StateRule::kCount);
  EXPECT_EQ(one.bypass, "out");
}

TEST(Reader, OnlyDevicesThatExecuteSomethingHaveAnExecutor) {
  const std::string chains = R"("chains": [])";
  const auto text = [&](const std::string& members) {
    return R"({"devices": [{"name": "x", "port": 1, )" + members + "}], " + chains + "}";
  };
  EXPECT_EQ(Read(text(R"("kind": "legacy", "executor": "./mine.so")")).devices.at(0).executor,
            "./mine.so");
  config::Errors errors;
  EXPECT_FALSE(ReadGraph(text(R"("kind": "nic", "executor": "copy")"), &errors));
  EXPECT_FALSE(ReadGraph(text(R"("kind": "legacy", "options": ")" + std::string(1025, 'x') + "\""),
                         &errors));
  EXPECT_EQ(errors,
            (config::Errors{
                "devices[0].executor: only streaming and legacy devices have this member: omit it",
                "devices[0].options: give at most 1024 bytes"}));
}

TEST(Reader, NodesComeInAnOrderInWhichWaysLeadOn) {
  const Graph graph = Read(GraphOf(R"({"name": "out", "device": "nic"},
      {"name": "two", "device": "b", "to": [{"nodes": ["out"]}]},
      {"name": "one", "device": "a", "to": [{"nodes": ["two"]}]},
      {"name": "in", "device": "nic", "to": [{"nodes": ["one"]}]})"));
  std::string order;
  for (const Node& node : graph.chains.at(0).nodes) order += node.name + " ";
  EXPECT_EQ(order, "in one two out ");
}

TEST(Reader, EachMistakeIsALineThatNamesItsPlace) {
  const std::string in = R"({"name": "in", "device": "nic", "to": [{"nodes": ["one"]}]},)";
  const std::string out = R"(,{"name": "out", "device": "nic"})";
  const std::pair<std::string, std::string> cases[] = {
      {"", "not JSON: "},
      {"[]", "the file: []: give an object"},
      {GraphOf(in + R"({"name": "one", "device": "x", "to": [{"nodes": ["out"]}]})" + out),
       "chains[0].nodes[1].device: \"x\": no such device; use one of nic, a, b, old"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": ["off"]}]})" + out),
       "chains[0].nodes[1].to[0].nodes: \"off\": no such node; use one of in, one, out"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": ["out"]}], "cmd": 1})" +
               out),
       "chains[0].nodes[1].cmd: unknown member; use one of name, device, command,"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": []}]})" + out),
       "chains[0].nodes[1].to[0].nodes: give at least one node"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"if": 1, "nodes": ["out"]}]})" + out),
       "chains[0].nodes[1].to[0].if: requires \"choose\" in the node"},
      {GraphOf(in + R"({"name": "one", "device": "a", "choose": "hash",
                        "to": [{"nodes": ["out"]}]})" +
               out),
       "chains[0].nodes[1].ways: is missing"},
      {GraphOf(in + R"({"name": "one", "device": "a", "on_death": "bypass",
                        "to": [{"nodes": ["out"]}]})" +
               out),
       "chains[0].nodes[1].bypass: is missing"},
      {GraphOf(in +
               R"({"name": "one", "device": "a", "state": "0x1", "to": [{"nodes": ["out"]}]})" +
               out),
       "chains[0].nodes[1].state: \"0x1\": give up to 64 hexadecimal digits, in pairs"},
      {GraphOf(in + R"({"name": "one", "device": "a"})" + out),
       "chains[0].nodes[1].to: a chain must end at a NIC or the host: give the next node in "
       "\"to\""},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": ["two"]}]},
                       {"name": "two", "device": "b", "to": [{"nodes": ["one", "out"]}]})" +
               out),
       "chains[0].nodes: the nodes form a cycle: one -> two -> one"},
      {GraphOf(R"({"name": "in", "device": "nic", "to": [{"nodes": ["out"]}]},
                  {"name": "in2", "device": "nic", "to": [{"nodes": ["out"]}]})" +
               out),
       "chains[0].nodes: more than one entry node: in, in2"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": ["out"]}]},
                       {"name": "two", "device": "b", "to": [{"nodes": ["out"]}]})" +
               out),
       "chains[0].nodes[2]: no edge leads to \"two\"; flows must enter at a NIC or the host"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": ["out"]}]},
                       {"name": "one", "device": "b", "to": [{"nodes": ["out"]}]})" +
               out),
       "chains[0].nodes[2].name: \"one\": this name is used twice: give unique names"},
      {GraphOf(R"({"name": "in", "device": "nic", "to": [{"nodes": ["one", "out"]}]},
                  {"name": "one", "device": "a", "on_death": "bypass", "bypass": "out",
                   "to": [{"nodes": ["out"]}]})" +
               out),
       "chains[0].nodes: \"in\" would send a message twice to \"out\" if another node is bypassed"},
      {GraphOf(in + R"({"name": "one", "device": "old", "window": 8, "to": [{"nodes": ["out"]}]})" +
               out),
       "chains[0].nodes[1].window: a window must hold the longest message of a legacy device: give "
       "at least 9"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": ["out"]}]})" + out,
               R"("devices": [{"name": "nic", "kind": "nic", "port": 0},
                              {"name": "a", "kind": "streaming", "port": 0, "buffer": 512}])"),
       "devices[1].port: 0: \"nic\" already uses this port"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": ["out"]}]})" + out,
               R"("devices": [{"name": "nic", "kind": "nic", "port": 0},
                              {"name": "a", "kind": "legacy", "port": 1, "slots": 12}])"),
       "devices[1].slots: 12: give a power of two"},
      {GraphOf(in + R"({"name": "one", "device": "a", "to": [{"nodes": ["out"]}]})" + out,
               R"("devices": [{"name": "nic", "kind": "nic", "port": 0},
                              {"name": "a", "kind": "streaming", "port": 1, "buffer": 512}])"),
       "chains[0].nodes[1].device: \"a\": its buffer has 512 bytes; a message of 512 bytes needs "
       "a buffer that is at least 64 bytes longer"},
  };
  for (const auto& [text, line] : cases) {
    config::Errors errors;
    EXPECT_FALSE(ReadGraph(text, &errors)) << line;
    bool told = false;
    for (const std::string& error : errors) {
      told |= error.starts_with(line);
      EXPECT_EQ(error.find('\n'), error.npos);
    }
    EXPECT_TRUE(told) << line << "\ninstead: " << (errors.empty() ? "nothing" : errors[0]);
  }
  // The same flow is in two chains.
  const std::string chain = R"("flows": ["udp:1"], "message": 64, "nodes": [
      {"name": "in", "device": "nic", "to": [{"nodes": ["out"]}]}, {"name": "out", "device": "nic"}]})";
  config::Errors errors;
  EXPECT_FALSE(ReadGraph("{" + std::string(kDevices) + R"(, "chains": [{"name": "x", )" + chain +
                             R"(, {"name": "y", )" + chain + "]}",
                         &errors));
  EXPECT_EQ(errors, (config::Errors{"chains[1].flows: udp:1: \"x\" already has this flow"}));
}

TEST(Reader, TheSchemaHasTheMembersThatTheReaderKnows) {
  const auto schema = nlohmann::json::parse(FileText("chain.schema.json"));
  const auto members = [](const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object["properties"].items()) names.insert(name);
    return names;
  };
  const std::map<std::string, std::string> graphs = {
      {"", R"({"?": 1})"},
      {"device", R"({"devices": [{"?": 1}]})"},
      {"chain", R"({"chains": [{"?": 1}]})"},
      {"node", R"({"chains": [{"nodes": [{"?": 1}]}]})"},
      {"way", R"({"chains": [{"nodes": [{"to": [{"?": 1}]}]}]})"}};
  for (const auto& [name, text] : graphs) {
    config::Errors errors;
    EXPECT_FALSE(ReadGraph(text, &errors));
    std::set<std::string> known;
    for (const std::string& error : errors) {
      const std::string mark = "\"?\": unknown member; use one of ";
      const size_t at = error.find(mark);
      if (at == error.npos) continue;
      std::istringstream words(error.substr(at + mark.size()));
      for (std::string word; words >> word;) known.insert(word.substr(0, word.find(',')));
    }
    EXPECT_EQ(known, members(name.empty() ? schema : schema["$defs"][name])) << name;
  }
}

TEST(Text, FlowsAreNamedAndMatchedInOrder) {
  EXPECT_EQ(ParseFlow("udp:5000"), (FlowMatch{17, 5000}));
  EXPECT_EQ(ParseFlow("any:*"), (FlowMatch{0, 0}));
  for (const char* wrong : {"", "udp", "udp:", "udp:0", "udp:65536", "icmp:1", "tcp:1x"})
    EXPECT_FALSE(ParseFlow(wrong)) << wrong;
  for (const char* text : {"udp:5000", "tcp:*", "any:9"}) EXPECT_EQ(NameOf(*ParseFlow(text)), text);
  Graph graph;
  graph.chains.resize(2);
  graph.chains[0].name = "x";
  graph.chains[0].flows = {{17, 5}};
  graph.chains[1].name = "y";
  graph.chains[1].flows = {{0, 5}, {6, 0}};
  EXPECT_EQ(ChainOf(graph, {17, 5})->name, "x");
  EXPECT_EQ(ChainOf(graph, {6, 5})->name, "y");
  EXPECT_EQ(ChainOf(graph, {6, 80})->name, "y");
  EXPECT_EQ(ChainOf(graph, {17, 80}), nullptr);
}

TEST(Text, ThePictureHasEveryNodeAndWay) {
  EXPECT_EQ(Dot(Read(GraphOf(
                R"({"name": "in", "device": "nic", "choose": "key0",
                    "to": [{"if": 2, "mask": 3, "nodes": ["one"]}, {"nodes": ["out"]}]},
                   {"name": "one", "device": "old", "on_death": "bypass", "bypass": "out",
                    "to": [{"nodes": ["out"]}]},
                   {"name": "out", "device": "nic"})"))),
            "digraph chains {\n  rankdir=LR;\n  subgraph cluster_0 {\n    label=\"c: udp:1\";\n"
            "    \"c.in\" [label=\"in\\nnic\"];\n"
            "    \"c.one\" [label=\"one\\nold\", shape=box];\n"
            "    \"c.out\" [label=\"out\\nnic\"];\n"
            "    \"c.in\" -> \"c.one\" [label=\"key0 & 0x3 == 2\"];\n"
            "    \"c.in\" -> \"c.out\";\n"
            "    \"c.one\" -> \"c.out\";\n"
            "    \"c.one\" -> \"c.out\" [style=dashed, label=\"bypass\"];\n"
            "  }\n}\n");
}

/// A deployed graph and the endpoints of its streams.
class Bench {
 public:
  Bench()
      : deployment(rig.sw, [this](const Device& device, const Chain& chain, const Node& node) {
          const uint32_t slot = opened_++;
          const uint64_t base = NodeBase(device.port, slot / 8, static_cast<sw::NodeId>(slot % 8));
          return places_[chain.name + "." + node.name] = {base, base + sw::test::kControlOffset,
                                                          base + sw::test::kDoorbellOffset};
        }) {}

  std::string Apply(const std::string& text) {
    changes.clear();
    const std::string error = deployment.Apply(Read(text), &changes);
    for (const Changed& one : changes)
      if (one.change == Change::kOpened) MakeEnds(*deployment.Find(one.chain));
    return error;
  }
  std::string Changes() const {
    constexpr std::array kNames = {"kept", "rewired", "opened", "closed"};
    std::string text;
    for (const Changed& one : changes)
      text += one.chain + " " + kNames[static_cast<int>(one.change)] + "; ";
    return text;
  }
  sw::StreamId Stream(const std::string& chain) { return deployment.Find(chain)->opened.stream; }

  sw::test::Rig rig;
  Deployment deployment;
  std::vector<Changed> changes;

 private:
  void MakeEnds(const Running& running) {
    const sw::StreamSpec spec = PlanOf(deployment.graph(), running.chain,
                                       [&](const Device&, const Chain& chain, const Node& node) {
                                         return places_[chain.name + "." + node.name];
                                       });
    rig.MakeEnds(spec, running.opened);
  }
  uint32_t opened_ = 0;
  std::map<std::string, Place> places_;  // The newest place, by node.
};

std::string TwoChains(const std::string& second_way, uint32_t command) {
  const auto chain = [&](const char* name, const char* flow, uint32_t number,
                         const std::string& way) {
    return std::string(R"({"name": ")") + name + R"(", "flows": [")" + flow +
           R"("], "message": 512, "nodes": [
      {"name": "in", "device": "nic", "to": [{"nodes": [)" +
           way + R"(]}]},
      {"name": "one", "device": "a", "command": )" +
           std::to_string(number) +
           R"(, "to": [{"nodes": ["out"]}]},
      {"name": "two", "device": "b", "to": [{"nodes": ["out"]}]},
      {"name": "out", "device": "nic"}]})";
  };
  return "{" + std::string(kDevices) + R"(, "chains": [)" +
         chain("first", "udp:1", 1, R"("one", "two")") + "," +
         chain("second", "udp:2", command, second_way) + "]}";
}

TEST(Deployment, AChangeLeavesOtherChainsAloneAndLosesNothing) {
  Bench bench;
  ASSERT_EQ(bench.Apply(TwoChains(R"("one", "two")", 1)), "");
  EXPECT_EQ(bench.Changes(), "first opened; second opened; ");
  const sw::StreamId first = bench.Stream("first"), second = bench.Stream("second");
  for (uint32_t i = 0; i < 6; ++i) {
    bench.rig.Put(first, 0, i, 400);
    bench.rig.Put(second, 0, i, 400);
  }
  bench.rig.Pump();  // All buffers are full, so further data waits in the switch and in the NIC.

  // A changed command needs a new stream, so the old stream drains.
  ASSERT_EQ(bench.Apply(TwoChains(R"("one", "two")", 9)), "");
  EXPECT_EQ(bench.Changes(), "first kept; second opened; second closed; ");
  const sw::StreamId renewed = bench.Stream("second");
  EXPECT_NE(renewed, second);
  EXPECT_EQ(bench.deployment.Reap(), 1u);
  bench.rig.Put(renewed, 0, 6, 400);
  for (const sw::StreamId stream : {first, second}) {
    for (const sw::NodeId node : {1, 2}) {
      const auto got = bench.rig.Drain(stream, node);
      ASSERT_EQ(got.size(), 6u) << stream << " " << int{node};
      for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(got[i].data, Bytes(400, i));
    }
  }
  const auto got = bench.rig.Drain(renewed, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].header.command, 9u);
  EXPECT_EQ(bench.rig.sw.drops(), sw::Drops{});
  const std::vector<uint64_t> windows = bench.deployment.draining()[0].opened.windows;
  for (const auto& [node, port] : {std::pair{0, 0}, {1, 1}, {2, 2}})
    bench.rig.Flush(static_cast<sw::PortId>(port), windows[node]);
  EXPECT_EQ(bench.deployment.Reap(), 0u);
}

TEST(Deployment, OtherWaysNeedNoOtherStream) {
  Bench bench;
  ASSERT_EQ(bench.Apply(TwoChains(R"("one", "two")", 1)), "");
  const sw::StreamId second = bench.Stream("second");
  std::string text = TwoChains(R"("one", "two")", 1);
  // The second chain now chooses by key. Both nodes stay reachable.
  const std::string way = R"("to": [{"nodes": ["one", "two"]}])";
  text.replace(text.rfind(way), way.size(),
               R"("choose": "key0", "to": [{"if": 4, "nodes": ["one"]}, {"nodes": ["two"]}])");
  ASSERT_EQ(bench.Apply(text), "");
  EXPECT_EQ(bench.Changes(), "first kept; second rewired; ");
  EXPECT_EQ(bench.Stream("second"), second);
  bench.rig.Put(second, 0, 1, 64, 4);
  bench.rig.Put(second, 0, 2, 64, 5);
  EXPECT_EQ(bench.rig.Drain(second, 1).at(0).header.message, 1u);
  EXPECT_EQ(bench.rig.Drain(second, 2).at(0).header.message, 2u);
}

TEST(Deployment, WhatDoesNotFitChangesNothing) {
  Bench bench;
  ASSERT_EQ(bench.Apply(TwoChains(R"("one", "two")", 1)), "");
  const std::string before = bench.deployment.Explain({17, 2});
  std::string text = TwoChains(R"("one", "two")", 5);
  text.replace(text.find(R"("port": 3)"), 9, R"("port": 9)");
  EXPECT_EQ(bench.Apply(text), "devices: \"old\": no such port; the switch has ports 0 to 3");
  EXPECT_EQ(bench.deployment.Explain({17, 2}), before);
  EXPECT_EQ(bench.deployment.draining().size(), 0u);
}

TEST(Deployment, NoCountedStateIsGivenTwiceThoughTheStreamFails) {
  const std::string text = GraphOf(R"({"name": "in", "device": "nic", "to": [{"nodes": ["one"]}]},
      {"name": "one", "device": "b", "state": "05", "state_rule": "count",
       "to": [{"nodes": ["out"]}]},
      {"name": "out", "device": "nic"})");
  Bench bench;
  ASSERT_EQ(bench.Apply(text), "");
  for (uint32_t i = 0; i < 3; ++i) bench.rig.Put(bench.Stream("c"), 0, i, 512);
  bench.rig.Pump();  // One complete message and the first line of another: 640 bytes.
  EXPECT_EQ(bench.rig.at[std::pair(bench.Stream("c"), sw::NodeId{1})].reader->Pop()->header.state,
            sw::State{5});
  for (const sw::PortId dies : {2, 0}) {
    SCOPED_TRACE(int{dies});
    bench.rig.sw.Fail(dies);
    bench.rig.sw.Restore(dies);
    ASSERT_EQ(bench.Apply(text), "");
    EXPECT_EQ(bench.Changes(), "c opened; c closed; ");
    bench.rig.Put(bench.Stream("c"), 0, 9, 512);
    const auto got = bench.rig.Drain(bench.Stream("c"), 1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].header.state, (sw::State{static_cast<uint8_t>(dies == 2 ? 7 : 8)}));
  }
}

TEST(Deployment, AFlowIsExplainedHopByHop) {
  Bench bench;
  ASSERT_EQ(bench.Apply(GraphOf(
                R"({"name": "in", "device": "nic", "choose": "key0",
                    "to": [{"if": 2, "nodes": ["one"]}]},
                   {"name": "one", "device": "a", "command": 3, "on_death": "bypass",
                    "bypass": "out", "to": [{"nodes": ["out"]}]},
                   {"name": "out", "device": "nic", "on_death": "drain"})",
                R"("devices": [{"name": "nic", "kind": "nic", "port": 0},
                    {"name": "a", "kind": "streaming", "port": 1, "from": ["nic"]}])")),
            "");
  bench.rig.Put(0, 0, 1, 64, 2);
  bench.rig.Pump();
  bench.rig.sw.Fail(1);
  EXPECT_EQ(
      bench.deployment.Explain({17, 1}),
      "udp:1: chain c, stream 0, messages of at most 512 bytes\n"
      "node 0 in: nic at port 0\n"
      "  sends: window 0x11000000000, which nic alone may write; 1 messages so far\n"
      "    key0 == 2: to one\n"
      "    else: dropped as no_edge\n"
      "node 1 one: a at port 1\n"
      "  receives: 1 messages so far, with command 3; from nic alone; it is dead: its messages "
      "go to out\n"
      "  sends: window 0x11001000000, which a alone may write; 0 messages so far\n"
      "    always: to out\n"
      "node 2 out: nic at port 0\n"
      "  receives: 0 messages so far, with command 0; from any device; if it dies, its messages "
      "are dropped\n"
      "  sends nothing: the chain ends here\n");
  EXPECT_EQ(bench.deployment.Explain({6, 1}),
            "tcp:1: no chain has this flow; it is forwarded to the host\n");
}

}  // namespace
}  // namespace sluice::engine::chain
