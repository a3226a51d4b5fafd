# Options, compiler flags and the helper functions that every folder uses.
option(LATHE_BUILD_TOOLS "Build jit-repl, lathe-bench and the examples" ${PROJECT_IS_TOP_LEVEL})
option(LATHE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(LATHE_FUZZERS "Build libFuzzer programs of the file readers; needs clang" OFF)
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
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LATHE_CCACHE})
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

# Warnings of our own targets; third-party headers are SYSTEM includes. No contraction: where a
# multiply and an add become one rounding is decided by Lathe, never by the C++ compiler.
function(lathe_target_defaults target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                         # Designated initialisers leave out what keeps its default.
                         -Wno-missing-field-initializers
                         -ffp-contract=off)
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
endfunction()
