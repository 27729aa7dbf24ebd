// Loops that walk off the end of their memory after thousands of turns: what they have in registers then is what single turns give.
// rounds: 1 10
// blocks: differ
#define _GNU_SOURCE
#include "faults.h"

// X(name, register that walks, its step, what comes before the instruction that faults, that instruction, what comes after it)
#define LOOPS(X)                                                                          \
    /* A sum with carry, over flags that live around the loop. */                          \
    X(sum, R11, 8, "inc %r10", "adc (%r11), %rax", "lea 8(%r11), %r11\n mov %rax, %r9")    \
    /* Memory is read, changed, and written in places. */                                   \
    X(change, RDI, 8, "mov (%rsi), %r11\n bt $3, %r11\n jc 2f\n xor %r9, %r11\n inc %rcx\n 2: rol $7, %r9", \
      "add %r11, (%rdi)", "lea 8(%rdi), %rdi\n lea 8(%rsi), %rsi")                         \
    /* The fault is in a function that is called through a register. */                     \
    X(call, R10, 8, "lea 2f(%rip), %rdx\n call *%rdx\n jmp 3f\n 2: mov $0, %edx\n add $5, %r15", \
      "xor (%r10), %r15", "ret\n 3: add %r15, %r14\n call 4f\n jmp 5f\n 4: lea 8(%r10), %r10\n dec %rbp\n ret\n 5:") \
    /* A stack that ends. */                                                               \
    X(push, RSP, -8, "add %rax, %rbx\n ror $9, %rax", "push %rbx", "")                     \
    X(vectors, R9, 8, "paddq %xmm3, %xmm1", "movlps %xmm1, (%r9)", "pxor %xmm1, %xmm3\n add $8, %r9")

#define LOOP_CODE(name, walks, step, before, instruction, after)                          \
    __asm__(".text\nloop_" #name ":\n9: " before "\nat_" #name ": " instruction "\n" after "\n jmp 9b\n" \
            "turn_" #name ": " before "\n" instruction "\n" after "\n jmp executed\n"         \
            "part_" #name ": " before "\n jmp executed\n3: ud2\n");                        \
    extern char loop_##name[], at_##name[], turn_##name[], part_##name[];
#define LOOP_ENTRY(name, walks, step, before, instruction, after) \
    {#name, walks, step, loop_##name, at_##name, turn_##name, part_##name},
LOOPS(LOOP_CODE)
static const struct loop {
    const char *name;
    int walks, step;
    const char *start, *at, *turn, *part;
} loops[] = {LOOPS(LOOP_ENTRY)};

enum { MOST = 16384 };
static const struct loop *now;
static struct state expected;
static char *memory; // with pages before and behind it that can't be accessed
static long size;
static int faults;

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    same(now->name, "signal", 0, signal, SIGSEGV);
    same(now->name, "address of signal", 0, (uintptr_t)info->si_addr, (uintptr_t)(now->step < 0 ? memory - 8 : memory + size));
    same(now->name, "address of instruction", 0, uc->uc_mcontext.gregs[REG_RIP], (uintptr_t)now->at);
    struct state state = state_of(uc);
    same_state(now->name, &state, &expected);
    faults++;
    uc->uc_mcontext.gregs[REG_RIP] = (uintptr_t)executed;
}

static void fill(uint64_t seed)
{
    for (long i = 0; i < size; i += 8)
        *(uint64_t *)(memory + i) = seed = seed * 31 + i;
}

static uint64_t digest(void)
{
    uint64_t digest = 0;
    for (long i = 0; i < size; i += 8)
        digest = digest * 31 + *(uint64_t *)(memory + i);
    return digest;
}

static void run_loop(uint64_t seed)
{
    static uint64_t stack[64], source[MOST / 8 + 1];
    enter_random(seed);
    entered.general[RSP] = (uintptr_t)(stack + 32);
    entered.general[RSI] = (uintptr_t)source;
    entered.general[now->walks] = (uintptr_t)(now->step < 0 ? memory + size : memory);
    for (int i = 0; i <= size / 8; i++)
        source[i] = seed = seed * 31 + i;
    struct state first = entered;
    fill(seed);
    for (long turn = 0; turn < size / 8; turn++) {
        execute_at(now->turn);
        entered = left;
    }
    execute_at(now->part);
    expected = left;
    uint64_t must = digest();
    for (int i = 0; i < 3; i++) {
        entered = first;
        fill(seed);
        faults = 0;
        execute_at(now->start);
        same(now->name, "number of faults", 0, faults, 1);
        same(now->name, "memory", 0, digest(), must);
        same_state(now->name, &left, &expected);
    }
}

int main(int argc, char **argv)
{
    // Single turns are the most of the work.
    size = rounds(argc, argv) > 1 ? MOST : 4096;
    char *pages = mmap(0, size + 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    memory = pages + 4096;
    REQUIRE(mprotect(memory, size, PROT_READ | PROT_WRITE) == 0);
    handle(handler);
    for (long round = 0; round < rounds(argc, argv); round++)
        for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
            now = &loops[i];
            run_loop(mix(round, i));
        }
    return report("loops", 0);
}
