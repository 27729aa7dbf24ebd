// Gathers that fault at one of their elements: those below it are done and gone from the mask, no other register has changed. The handler
// makes the page accessible, and they go on from there.
// build avx2: -O1 -mavx2
// needs: avx2
// rounds: 1 12
// blocks: differ
#define _GNU_SOURCE
#include "faults.h"

enum { PAGE = 4096 };
extern char gather[], gather_wide[];
__asm__(".text\n"
        "gather: vpgatherdd %ymm2, (%r10, %ymm1, 4), %ymm0\n    jmp executed\n"
        "gather_wide: vgatherqpd %ymm2, (%r11, %ymm1, 8), %ymm0\n    jmp executed\n");

static struct state finished;
static const char *at, *pages; // the second can't be accessed
static int size, bad, faults;  // of an element; the first that faults

static uint64_t element(const struct state *state, int vector, int n)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)state->vectors[vector] + n * size, size);
    return value;
}

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    struct state state = state_of(uc);
    same("gather", "signal", 0, signal, SIGSEGV);
    same("gather", "address of instruction", 0, uc->uc_mcontext.gregs[REG_RIP], (uintptr_t)at);
    same("gather", "page of signal", 0, (uintptr_t)info->si_addr & -PAGE, (uintptr_t)pages + PAGE);
    // Elements above it may have been loaded, too.
    for (int i = 0; i < 32 / size; i++) {
        int done = element(&state, 2, i) == 0;
        REQUIRE(i < bad ? done : i > bad || !done);
        REQUIRE(element(&state, 0, i) == element(done ? &finished : &entered, 0, i));
    }
    for (int i = 0; i < 3; i += 2)
        memcpy(state.vectors[i], entered.vectors[i], sizeof state.vectors[i]);
    same_state("gather", &state, &entered);
    REQUIRE(mprotect((void *)(pages + PAGE), PAGE, PROT_READ) == 0);
    faults++;
}

static void run_gather(uint64_t seed, int n)
{
    int elements = 32 / size;
    bad = n;
    enter_random(seed);
    entered.general[R10] = entered.general[R11] = (uintptr_t)pages;
    for (int i = 0; i < elements; i++) {
        // Some of those behind it are in the page as well.
        uint64_t index = (seed >> i * 3) % (PAGE / size) + (i == bad || (i > bad && seed >> (40 + i) & 1) ? PAGE / size : 0);
        memcpy((char *)entered.vectors[1] + i * size, &index, size);
        uint64_t mask = -1;
        memcpy((char *)entered.vectors[2] + i * size, &mask, size);
    }
    at = size == 4 ? gather : gather_wide;
    faults = 0;
    for (int i = 0; i < 20; i++) {
        execute_at(at);
        if (i == 0)
            finished = left;
        same_state("gather", &left, &finished);
    }
    REQUIRE(mprotect((void *)(pages + PAGE), PAGE, PROT_NONE) == 0);
    execute_at(at);
    same("gather", "number of faults", 0, faults, 1);
    same_state("gather", &left, &finished);
}

int main(int argc, char **argv)
{
    uint32_t *words = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(words != MAP_FAILED);
    for (int i = 0; i < 2 * PAGE / 4; i++)
        words[i] = i * 2654435761u;
    pages = (const char *)words;
    handle(handler);
    for (long round = 0; round < rounds(argc, argv); round++)
        for (size = 4; size <= 8; size += 4)
            for (int n = 0; n < 32 / size; n++)
                run_gather(mix(round, n + size), n);
    return report("gathers", 0);
}
