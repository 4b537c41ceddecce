// SPDX-License-Identifier: BSD-3-Clause
//
// Tests several copies of a plugin in one process: only the copy that is loaded first registers its
// driver.
#include "register_once.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

/// Folders with copies of the module under the names of a build tree and an installation.
class RegisterOnce : public testing::Test {
 protected:
  RegisterOnce() {
    std::string name = testing::TempDir() + "register_once_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~RegisterOnce() override { fs::remove_all(folder_); }

  void* Load(const std::string& name) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    fs::copy_file(ONCE_MODULE, path);
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
    return handle;
  }
  static bool Registered(void* handle) {
    return *static_cast<bool*>(dlsym(handle, "once_registered"));
  }

  fs::path folder_;
};

TEST_F(RegisterOnce, FirstCopyAlone) {
  void* other = Load("a/librte_other.so");
  EXPECT_TRUE(Registered(other)) << "nothing of that name is loaded";
  void* first = Load("b/librte_once.so");
  EXPECT_TRUE(Registered(first));
  void* installed = Load("c/librte_once.so.23");
  EXPECT_FALSE(Registered(installed));
  void* third = Load("d/librte_once.so");
  EXPECT_FALSE(Registered(third));
  for (void* handle : {third, installed, first, other}) dlclose(handle);
}

TEST_F(RegisterOnce, SameFileIsOneObject) {
  void* first = Load("a/librte_once.so");
  void* again = dlopen((folder_ / "a/librte_once.so").c_str(), RTLD_NOW);
  EXPECT_EQ(first, again);
  EXPECT_TRUE(Registered(again));
  dlclose(again);
  dlclose(first);
}

}  // namespace
