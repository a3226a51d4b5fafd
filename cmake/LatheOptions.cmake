# Options, compiler flags and the helper functions that every folder uses.
option(LATHE_BUILD_TOOLS "Build jit-repl, lathe-bench and the examples" ${PROJECT_IS_TOP_LEVEL})
option(LATHE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(LATHE_FUZZERS "Build libFuzzer programs in the place of the tests: the preset fuzz" OFF)
option(LATHE_PRECOMPILE "Precompile the headers of other projects" ${PROJECT_IS_TOP_LEVEL})
set(LATHE_SANITIZE "" CACHE STRING "Sanitizers of -fsanitize=, for example address,undefined")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(LATHE_CCACHE ccache)
if(LATHE_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # Else it keeps nothing that a precompiled header goes into.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${LATHE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${LATHE_CCACHE})
endif()
find_program(LATHE_LLD ld.lld)
if(LATHE_LLD AND PROJECT_IS_TOP_LEVEL)
  add_link_options(-fuse-ld=lld)
endif()
if(LATHE_SANITIZE)
  add_compile_options(-fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LATHE_SANITIZE})
endif()

# lathe_precompile(target kind): reads the headers of cmake/headers/<kind>.h once for all targets of a
# kind, which have the same flags. The code doesn't rely on it: the tests of tidiness and of a
# consumer build it without.
function(lathe_precompile target kind)
  if(NOT LATHE_PRECOMPILE)
    return()
  endif()
  set(owner lathe_headers_${kind})
  if(NOT TARGET ${owner})
    set(source ${lathe_BINARY_DIR}/headers/${kind}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    if(kind STREQUAL tests)
      add_executable(${owner} ${source})
      target_link_libraries(${owner} PRIVATE GTest::gmock)
    else()
      add_library(${owner} STATIC ${source})
    endif()
    target_link_libraries(${owner} PRIVATE absl::status absl::statusor absl::flat_hash_map)
    if(NOT kind STREQUAL library)
      target_link_libraries(${owner} PRIVATE nlohmann_json::nlohmann_json)
    endif()
    lathe_target_defaults(${owner})
    if(NOT kind STREQUAL library)
      target_compile_options(${owner} PRIVATE ${LATHE_QUICK_OPTIONS})
    endif()
    target_precompile_headers(${owner} PRIVATE ${lathe_SOURCE_DIR}/cmake/headers/${kind}.h)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# Warnings of our own targets; third-party headers are SYSTEM includes. No contraction: where a
# multiply and an add become one rounding is decided by Lathe, never by the C++ compiler.
set(LATHE_COMPILE_OPTIONS
    -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-missing-field-initializers  # designated initialisers leave out what keeps its default
    -ffp-contract=off)
if(LATHE_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # For ccache; and less of what GCC 12 says of strings in vectors, since a precompiled header hides
  # from it that the lines are the library's.
  list(APPEND LATHE_COMPILE_OPTIONS -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow
       -Wno-stringop-overread)
endif()
# Of what isn't called in a loop: half the build time.
set(LATHE_QUICK_OPTIONS $<$<CONFIG:Release>:-O1>)
function(lathe_target_defaults target)
  target_compile_options(${target} PRIVATE ${LATHE_COMPILE_OPTIONS})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${lathe_SOURCE_DIR}> $<BUILD_INTERFACE:${lathe_SOURCE_DIR}/include>)
endfunction()

# lathe_library(name DEPS ...): a static library of the .cc files in the current folder.
function(lathe_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  lathe_target_defaults(${name})
  lathe_precompile(${name} library)
endfunction()
