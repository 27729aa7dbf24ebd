/* Allocates and frees blocks of its own, in an order of chance, and says how many they were, how long they lived, and how much was allocated at most. */
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 500

static char memory[SLOTS][64];

__attribute__((noinline)) void *takes(unsigned long size, int slot) {
    /* So long that slices end in its middle. */
    for (volatile int i = 0; i < 100; i++) {}
    return size == 13 ? 0 : memory[slot];
}

__attribute__((noinline)) void gives_back(void *block) {
    __asm__ volatile("" : : "r"(block) : "memory");
}

int main(int argc, char **argv) {
    unsigned long size[SLOTS] = {0}, since[SLOTS] = {0}, now = 0, live = 0, peak = 0;
    unsigned long blocks = 0, bytes = 0, events = 0, left = 0, left_bytes = 0, wrong = 0;
    unsigned state = 1;
    (void)argc;
    for (long n = atol(argv[1]); n > 0; n--) {
        state = state * 1103515245 + 12345;
        int slot = (state >> 8) % SLOTS;
        if (size[slot]) {
            gives_back(memory[slot]);
            now++, blocks++, bytes += size[slot], events += now - since[slot], live -= size[slot], size[slot] = 0;
        } else if (state >> 28 == 3) {
            gives_back(memory[slot]);
            now++, wrong++;
        } else {
            unsigned long asked = 1 + (state >> 20) % 1000;
            now++, since[slot] = now;
            if (takes(asked, slot)) size[slot] = asked, live += asked;
            if (live > peak) peak = live;
        }
    }
    for (int slot = 0; slot < SLOTS; slot++)
        if (size[slot]) left++, left_bytes += size[slot];
    printf("freed %lu blocks of %lu bytes after %lu events\n", blocks, bytes, events);
    printf("left %lu blocks of %lu bytes, 0 without a size\n", left, left_bytes);
    printf("at most %lu bytes, freed wrongly %lu\n", peak, wrong);
}
