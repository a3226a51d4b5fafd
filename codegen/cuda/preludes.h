#pragma once
// The preludes that kernel text is compiled behind, embedded at build time from the files of the
// same names. A program is one vocabulary, the ops, then kernels.
namespace lathe::cuda {

const char* PreludeCuda();
const char* PreludeHost();
const char* PreludeOps();

}  // namespace lathe::cuda
