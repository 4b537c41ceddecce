// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how devices are named on EAL's command line (DPDK's "EAL parameters", "Device-related
// options").
#include "runtime/eal_devices.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::runtime {
namespace {

std::vector<std::string> ValuesOf(const std::vector<std::string>& eal) {
  std::vector<std::string> values;
  for (const EalDevice& device : EalDevices(eal)) values.push_back(device.value);
  return values;
}

TEST(EalDevices, AreFoundInEverySpelling) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(ValuesOf({"-l", "0-1", "--no-pci"}), Texts{});
  EXPECT_EQ(ValuesOf({"-a", "81:00.0", "-a0000:81:00.1"}), (Texts{"81:00.0", "0000:81:00.1"}));
  EXPECT_EQ(ValuesOf({"--allow=81:00.0", "--allow", "81:00.1"}), (Texts{"81:00.0", "81:00.1"}));
  EXPECT_EQ(ValuesOf({"--vdev=net_tap0,iface=t0", "--vdev", "net_null0"}),
            (Texts{"net_tap0,iface=t0", "net_null0"}));
  EXPECT_EQ(ValuesOf({"--vdevs=x", "--allowed"}), Texts{});
  EXPECT_EQ(EalDevices(Texts{"-a", "81:00.0"})[0].argument, "-a 81:00.0");
  EXPECT_EQ(ValuesOf({"-a"}), Texts{""});  // EAL reports the missing value.
}

TEST(EalDevices, AreHardwareIfTheyBeginWithAnAddressOfPci) {
  for (const char* const address : {"81:00.0", "0000:81:00.7", "pci:0000:81:00.0",
                                    "81:00.0,representor=[0-3]", "10000:e1:1f.0"}) {
    EXPECT_TRUE(EalDevices(std::vector<std::string>{"-a", address})[0].pci) << address;
  }
  for (const char* const other : {"net_null0", "81:00", "auxiliary:mlx5_core.sf.2",
                                  "class=eth,mac=00:11:22:33:44:55", "vdev:net_null0", ""}) {
    EXPECT_FALSE(EalDevices(std::vector<std::string>{"-a", other})[0].pci) << other;
  }
}

TEST(EalDevices, ThatTheMachineDoesNotHaveAreNamed) {
  namespace fs = std::filesystem;
  const fs::path bus = fs::temp_directory_path() / ("pci_" + std::to_string(getpid()));
  fs::create_directories(bus / "0000:81:00.0");
  const auto missing = [&](const std::vector<std::string>& eal) {
    return MissingDevice(EalDevices(eal), bus);
  };
  EXPECT_EQ(missing({"-a", "81:00.0,x=1", "--allow=0000:81:00.0", "--vdev=net_null0"}), "");
  const std::string line = missing({"-a", "81:00.0", "-a", "99:00.0"});
  EXPECT_TRUE(line.starts_with("-a 99:00.0: ")) << line;
  EXPECT_NE(missing({"--allow=0001:81:00.0"}), "");
  fs::remove_all(bus);
}

TEST(EalDevices, WhoseNetworkInterfaceIsNotThereAreNamed) {
  namespace fs = std::filesystem;
  const fs::path interfaces = fs::temp_directory_path() / ("net_" + std::to_string(getpid()));
  fs::create_directories(interfaces / "eth0");
  const auto missing = [&](const std::string& vdev) {
    return MissingDevice(EalDevices(std::vector<std::string>{"--vdev=" + vdev}), "/nowhere",
                         interfaces);
  };
  for (const char* const there :
       {"net_af_packet0,iface=eth0", "net_pcap0,rx_iface=eth0,tx_pcap=a.pcap", "net_tap0,iface=t0",
        "net_af_xdp0,start_queue=1,iface=eth0", "net_pcap0,rx_pcap=a.pcap"}) {
    EXPECT_EQ(missing(there), "") << there;
  }
  for (const char* const absent :
       {"net_af_packet0,iface=eth1", "net_pcap0,rx_iface=eth0,tx_iface=eth1",
        "net_tap0,iface=t0,remote=eth1", "net_af_xdp0,start_queue=1,iface=eth1"}) {
    EXPECT_EQ(missing(absent),
              "--vdev=" + std::string(absent) +
                  ": no such network interface: eth1: list interfaces with ip link");
  }
  fs::remove_all(interfaces);
}

TEST(EalDevices, WhoseProcessIsNotThereMayCome) {
  const auto awaits = [](const std::string& vdev) {
    return AwaitsDevice(EalDevices(std::vector<std::string>{"--vdev=" + vdev}));
  };
  const std::string path =
      (std::filesystem::temp_directory_path() / ("peer_" + std::to_string(getpid()))).string();
  EXPECT_TRUE(awaits("net_ipu0,device=" + path)) << "nothing is there";
  sockaddr_un address{AF_UNIX, {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_TRUE(awaits("net_ipu0,device=" + path)) << "nobody listens";
  ASSERT_EQ(listen(listener, 1), 0);
  EXPECT_FALSE(awaits("net_ipu0,device=" + path));
  EXPECT_FALSE(awaits("net_ipu0,wire=loopback"));
  close(listener);
  EXPECT_TRUE(awaits("net_ipu0,device=" + path)) << "the listener was killed";
  unlink(path.c_str());
}

TEST(EalDevices, OfWhichNoPortCameAreNamedWithTheReason) {
  const auto line = [](const std::vector<std::string>& eal, const std::string& why) {
    return NoPort(EalDevices(eal), why);
  };
  EXPECT_EQ(line({"--vdev=net_tap0", "-a", "81:00.0"}, "no tun"),
            "--vdev=net_tap0, -a 81:00.0: EAL created no port for this device: no tun");
  EXPECT_NE(line({"-a", "81:00.0"}, "").find("vfio-pci"), std::string::npos);
  EXPECT_EQ(line({"--vdev=net_nil0"}, "").find("vfio-pci"), std::string::npos);
}

}  // namespace
}  // namespace sluice::runtime
