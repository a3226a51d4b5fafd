// What the programs that read and write JSON include.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cmake/headers/library.h"
