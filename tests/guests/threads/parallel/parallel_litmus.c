// What two or four threads may see of each other's stores: store buffering with fences, message passing, independent reads, coherence. Words are many, so that the threads meet at some of them.
// build plain: -O1 -pthread
// rounds: 0 200000
// order: varies
#include "parallel.h"

enum { THREADS = 4, MOST = 1 << 18 };

// Each word in a line of its own: no two are written at once.
typedef struct {
    volatile uint32_t a, pad1[15], b, pad2[15];
} Cell;

static Cell *buffered, *locked, *passed, *independent;
static uint8_t *seen[THREADS];
static long work;

static void act(long me)
{
    for (long i = 0; i < work; i++) {
        uint32_t first, second, one = 1, tests = 0;
        // Store buffering: not both may miss the other's store.
        if (me == 0) {
            buffered[i].a = 1;
            __asm__ volatile("mfence" ::: "memory");
            tests |= buffered[i].b;
            __asm__ volatile("xchgl %1, %0" : "+m"(locked[i].a), "+r"(one)::"memory");
            tests |= locked[i].b << 1;
        } else if (me == 1) {
            buffered[i].b = 1;
            __asm__ volatile("mfence" ::: "memory");
            tests |= buffered[i].a;
            __asm__ volatile("xchgl %1, %0" : "+m"(locked[i].b), "+r"(one)::"memory");
            tests |= locked[i].a << 1;
        }
        // Message passing: who sees the flag sees the data. And who has seen it once sees it again.
        if (me == 0) {
            passed[i].a = 1;
            passed[i].b = 1;
            independent[i].a = 1;
        } else if (me == 1) {
            first = passed[i].b;
            second = passed[i].a;
            tests |= (first & ~second) << 2 | (second & ~passed[i].a) << 3;
            independent[i].b = 1;
        } else if (me == 2) {
            first = independent[i].a;
            second = independent[i].b;
            tests |= (first & ~second) << 4;
        } else {
            first = independent[i].b;
            second = independent[i].a;
            tests |= (first & ~second) << 4;
        }
        seen[me][i] = tests;
    }
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    REQUIRE(work <= MOST);
    Cell **all[] = { &buffered, &locked, &passed, &independent };
    for (int i = 0; i < 4; i++)
        REQUIRE((*all[i] = calloc(MOST, sizeof(Cell))) != 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE((seen[i] = calloc(MOST, 1)) != 0);
    work_together(THREADS, act);
    // The number of instructions doesn't depend on what was seen.
    uint64_t wrong = 0;
    for (long i = 0; i < work; i++) {
        uint32_t neither = ~(seen[0][i] | seen[1][i]);
        wrong |= (neither & 3) | (seen[1][i] & 12) | (seen[2][i] & seen[3][i] & 16);
    }
    REQUIRE(wrong == 0);
    return report("litmus", 0);
}
