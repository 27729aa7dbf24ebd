// How OpenMP's threads wait, and how many there are: POLICY and THREADS.
#pragma once
#include "guest.h"

// Its library reads that when it is loaded: before it is, the program's own `preinit` functions are called.
static void set_policy(void) { setenv("OMP_WAIT_POLICY", POLICY, 1); }
__attribute__((used, section(".preinit_array"))) static void (*const preinit)(void) = set_policy;
