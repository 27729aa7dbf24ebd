// For guests that are let go by superpin: what of it they find in themselves.
#pragma once
#include "guest.h"

// Mappings in the addresses that superpin uses in an app.
static inline __attribute__((unused)) int bubble_lines(void)
{
    char line[4096];
    unsigned long start;
    int lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        lines += sscanf(line, "%lx", &start) == 1 && start >= 0x540800000000 && start < 0x555550000000;
    fclose(maps);
    return lines;
}
