// As parallel_code, where there is so little room that translations are dropped again and again while others execute them.
// build plain: -O1 -pthread
// rounds: 0 6
// order: varies
// options: -cache-bytes 262144
#include "parallel_code.c"
