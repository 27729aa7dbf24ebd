// Runs the instructions that a guest lists with an address that is good, and with one that faults: the handler then either
// puts the good one into the register, so that the instruction is done after all, or goes on behind it.
//
// CASES(X) is a list of X(name, register of the address, what is wrong with it, what lies at the good one, distance of the access,
// instructions before it, the instruction). At label 9 the guest's code goes on.
#pragma once
#include "faults.h"

enum wrong {
    NOWHERE,   // no access at all
    READABLE,  // no writing
    ACROSS,    // the second of two pages is missing
    IMPOSSIBLE, // not an address
    IMPOSSIBLE_STACK, // the same, of the stack segment
    ODD,       // misaligned
    ZERO,      // a divisor
};
enum word { ANY, NEXT, FLAG_WORD };

#define CASE_CODE(name, base, wrong, word, distance, before, instruction) \
    __asm__(".text\nbefore_" #name ": " before "\n    jmp executed\n" \
            "start_" #name ": " before "\nat_" #name ": " instruction "\n9:\nnext_" #name ": jmp executed\n"); \
    extern char before_##name[], start_##name[], at_##name[], next_##name[];
#define CASE_ENTRY(name, base, wrong, word, distance, before, instruction) \
    {#name, base, wrong, word, distance, before_##name, start_##name, at_##name, next_##name},

CASES(CASE_CODE)

static const struct instruction {
    const char *name;
    int base;
    enum wrong wrong;
    enum word word;
    int distance;
    const char *before, *start, *at, *next;
} instructions[] = {CASES(CASE_ENTRY)};

static const struct instruction *now;
static struct state expected;
static char *border, *unreadable, *unwritable; // of the good page
static uint64_t good, bad, sum;
static int repair, faults;

static void check_signal(int signal, const siginfo_t *info)
{
    int number = SIGSEGV, code = SEGV_ACCERR;
    uint64_t address = bad + now->distance;
    switch (now->wrong) {
    case ACROSS:
        address = (uintptr_t)border;
        break;
    case IMPOSSIBLE_STACK:
        number = SIGBUS;
        // fallthrough
    case IMPOSSIBLE:
    case ODD:
        code = SI_KERNEL;
        address = 0;
        break;
    case ZERO:
        number = SIGFPE;
        code = FPE_INTDIV;
        address = (uintptr_t)now->at;
        break;
    default:
        break;
    }
    same(now->name, "signal", 0, signal, number);
    same(now->name, "code of signal", signal, info->si_code, code);
    same(now->name, "address of signal", signal, (uintptr_t)info->si_addr, address);
}

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    greg_t *registers = uc->uc_mcontext.gregs;
    check_signal(signal, info);
    same(now->name, "address of instruction", 0, registers[REG_RIP], (uintptr_t)now->at);
    struct state state = state_of(uc);
    same_state(now->name, &state, &expected);
    sum = mix(sum, registers[REG_TRAPNO] * 16 + (registers[REG_ERR] & 6));
    faults++;
    if (repair)
        registers[where_general[now->base]] = good;
    else
        registers[REG_RIP] = (uintptr_t)now->next;
}

static void fill(uint64_t seed)
{
    for (uint64_t *p = (uint64_t *)border - 40; p < (uint64_t *)border; p++)
        *p = seed = mix(seed, 1);
    uint64_t *word = (uint64_t *)good;
    if (now->word == NEXT)
        *word = (uintptr_t)now->next;
    if (now->word == FLAG_WORD)
        *word = (*word & FLAGS) | 2;
}

static void run_case(uint64_t seed, int times)
{
    good = now->wrong == ZERO ? seed | 1 : (uintptr_t)border - 128;
    const uint64_t wrong[] = {(uintptr_t)unreadable, (uintptr_t)unwritable, (uintptr_t)border - 3,
                              0x8000000000000000, 0x8000000000000000, good + 8, 0};
    bad = wrong[now->wrong];
    seed = enter_random(seed);
    if (now->base != RSP)
        entered.general[RSP] = good + 64;
    if (now->wrong == ZERO)
        good = seed | 1;
    else
        fill(seed);
    char memory[320], after[320];
    memcpy(memory, border - 320, 320);

    // What is left of what comes before is what the handler must see.
    entered.general[now->base] = bad;
    execute_at(now->before);
    expected = left;

    faults = repair = 0;
    execute_at(now->start);
    same(now->name, "number of faults", 0, faults, 1);
    same_state(now->name, &left, &expected);
    same(now->name, "memory", 0, memcmp(memory, border - 320, 320), 0);

    entered.general[now->base] = good;
    struct state result = {0};
    for (int i = 0; i < times; i++) {
        memcpy(border - 320, memory, 320);
        execute_at(now->start);
        if (i == 0) {
            result = left;
            memcpy(after, border - 320, 320);
        }
        same_state(now->name, &left, &result);
        REQUIRE(memcmp(after, border - 320, 320) == 0);
    }

    entered.general[now->base] = bad;
    memcpy(border - 320, memory, 320);
    repair = 1;
    execute_at(now->start);
    same(now->name, "number of faults", 1, faults, 2);
    same_state(now->name, &left, &result);
    REQUIRE(memcmp(after, border - 320, 320) == 0);
}

// In the first round instructions fault when they are executed for the first time, afterwards when they were a hundred times.
static int run_cases(int argc, char **argv, const char *what)
{
    char *pages = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    border = pages + 4096;
    unreadable = border + 2048;
    unwritable = border + 4096 + 2048;
    REQUIRE(mprotect(border, 4096, PROT_NONE) == 0);
    REQUIRE(mprotect(border + 4096, 4096, PROT_READ) == 0);
    handle(handler);
    for (long round = 0; round < rounds(argc, argv); round++)
        for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
            now = &instructions[i];
            run_case(mix(round, i), rounds(argc, argv) > 1 ? 100 : 10);
        }
    return report(what, sum);
}
