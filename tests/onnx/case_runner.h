#pragma once
// Runs one conformance case (model.onnx beside test_data_set_*/input_*.pb and output_*.pb) through
// load, compile, prepare and call, and compares what comes out.
#include <string>

#include "lathe/engine.h"

namespace lathe::onnx {

struct CaseResult {
  enum class Outcome { kPass, kRefused, kWrong } outcome = Outcome::kRefused;
  std::string why;  // empty if it passed
};

struct CaseOptions {
  // Every extent of an input above 1 becomes an open dim (equal extents one dim), and the program
  // is called with the case's sizes, with other ones, and with the case's again.
  bool open_dims = false;
  double tolerance = 0;  // 0: by element type; of the peak of the reference
};

CaseResult RunCase(Engine& engine, const std::string& folder, const CaseOptions& options = {});

// Whether `got` is `wanted`: type and shape exactly, elements within `tolerance` of the peak (0: by
// the element type); NaN equals NaN. What differs, or empty.
std::string Difference(const Tensor& got, const Tensor& wanted, double tolerance = 0);

}  // namespace lathe::onnx
