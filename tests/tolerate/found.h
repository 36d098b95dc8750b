// What tests of tolerant sections share: detections are kept, not logged.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "redflag/tolerate.hpp"

namespace redflag {

using tolerate::detection;
using tolerate::outcome;

inline std::vector<detection> found;

class TolerateTest : public testing::Test {
 protected:
  TolerateTest() {
    found.clear();
    tolerate::set_handler([](const detection& each) { found.push_back(each); });
    tolerate::configure("deployment");
  }
  ~TolerateTest() override { tolerate::set_handler(nullptr); }

  template <class T>
  static void Intrude(T& word, T value) {
    __atomic_store_n(&word, value, __ATOMIC_RELAXED);
  }
};

}  // namespace redflag
