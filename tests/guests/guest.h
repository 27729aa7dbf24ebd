// What all guests share: how much work they are asked for, and a checksum that no compiler folds away.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline __attribute__((unused)) long rounds(int argc, char **argv)
{
    return argc > 1 ? atol(argv[1]) : 1;
}

static inline __attribute__((unused)) uint64_t mix(uint64_t sum, uint64_t value)
{
    sum ^= value;
    sum *= 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static inline __attribute__((unused)) int report(const char *what, uint64_t sum)
{
    printf("%s %016lx\n", what, (unsigned long)sum);
    return 0;
}

// For what must not fail in a healthy run.
#define REQUIRE(condition)                                                         \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(99);                                                              \
        }                                                                          \
    } while (0)
