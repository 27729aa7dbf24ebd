// For guests whose instructions fault: each is executed with a value of its own in every register, and a handler checks them all.
#pragma once
#include "guest.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

#ifdef __AVX__
#define VECTOR_WORDS 4
#define MOVE_VECTOR "vmovdqu "
#define VECTOR "%ymm"
#define VECTORS_DONE "vzeroupper\n"
#else
#define VECTOR_WORDS 2
#define MOVE_VECTOR "movups "
#define VECTOR "%xmm"
#define VECTORS_DONE ""
#endif

struct state {
    uint64_t general[16], flags, vectors[16][VECTOR_WORDS];
};

// What code is entered with, what it leaves, and where it is.
struct state entered __asm__("entered"), left __asm__("left");
const void *code __asm__("code");
uint64_t own_stack __asm__("own_stack");
void execute(void);
extern char executed[];

#define EACH_GENERAL(f) f(rax, 0) f(rcx, 1) f(rdx, 2) f(rbx, 3) f(rbp, 5) f(rsi, 6) f(rdi, 7) f(r8, 8) f(r9, 9) \
    f(r10, 10) f(r11, 11) f(r12, 12) f(r13, 13) f(r14, 14) f(r15, 15) f(rsp, 4)
#define EACH_VECTOR(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define SIZE TEXT(VECTOR_WORDS) "*8"
#define LOAD_GENERAL(name, n) "mov entered+" #n "*8(%rip), %" #name "\n"
#define STORE_GENERAL(name, n) "mov %" #name ", left+" #n "*8(%rip)\n"
#define LOAD_VECTOR(n) MOVE_VECTOR "entered+136+" #n "*" SIZE "(%rip), " VECTOR #n "\n"
#define STORE_VECTOR(n) MOVE_VECTOR VECTOR #n ", left+136+" #n "*" SIZE "(%rip)\n"

__asm__(".text\n.globl execute, executed\n"
        "execute:\n"
        "    push %rbx\n    push %rbp\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, own_stack(%rip)\n"
        EACH_VECTOR(LOAD_VECTOR)
        "    pushq entered+128(%rip)\n    popf\n"
        EACH_GENERAL(LOAD_GENERAL)
        "    jmp *code(%rip)\n"
        "executed:\n"
        EACH_GENERAL(STORE_GENERAL)
        "    mov own_stack(%rip), %rsp\n"
        "    pushf\n    popq left+128(%rip)\n    cld\n"
        EACH_VECTOR(STORE_VECTOR) VECTORS_DONE
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbp\n    pop %rbx\n"
        "    ret\n");

// All arithmetic flags and that of direction.
#define FLAGS 0xcd5u

// Other values in each round; the stack pointer is as wild as the rest.
static inline uint64_t enter_random(uint64_t seed)
{
    for (int i = 0; i < 16; i++)
        entered.general[i] = seed = mix(seed, i);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < VECTOR_WORDS; j++)
            entered.vectors[i][j] = seed = mix(seed, i);
    entered.flags = (seed >> 20 & FLAGS) | 0x202;
    return seed;
}

static inline void execute_at(const void *place)
{
    code = place;
    execute();
}

static inline void same(const char *name, const char *what, int n, uint64_t is, uint64_t must)
{
    if (is == must)
        return;
    fprintf(stderr, "%s: %s %d is %lx, must be %lx\n", name, what, n, (unsigned long)is, (unsigned long)must);
    exit(99);
}

static inline void same_state(const char *name, const struct state *is, const struct state *must)
{
    for (int i = 0; i < 16; i++)
        same(name, "register", i, is->general[i], must->general[i]);
    same(name, "flags", 0, is->flags & FLAGS, must->flags & FLAGS);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < VECTOR_WORDS; j++)
            same(name, "vector register", i, is->vectors[i][j], must->vectors[i][j]);
}

static const int where_general[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// The registers that a handler was given.
static inline struct state state_of(const ucontext_t *context)
{
    struct state state;
    for (int i = 0; i < 16; i++)
        state.general[i] = context->uc_mcontext.gregs[where_general[i]];
    state.flags = context->uc_mcontext.gregs[REG_EFL];
    for (int i = 0; i < 16; i++) {
        const char *image = (const char *)context->uc_mcontext.fpregs;
        memcpy(state.vectors[i], image + 160 + 16 * i, 16);
#ifdef __AVX__
        memset(state.vectors[i] + 2, 0, 16);
        if (image[512] & 4) // else the upper halves are zero
            memcpy(state.vectors[i] + 2, image + 576 + 16 * i, 16);
#endif
    }
    return state;
}

// Handlers run on a stack of their own.
static inline void handle(void (*handler)(int, siginfo_t *, void *))
{
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    REQUIRE(sigaltstack(&alternative, 0) == 0);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int signals[] = {SIGFPE, SIGBUS, SIGSEGV};
    for (int i = 0; i < 3; i++)
        REQUIRE(sigaction(signals[i], &action, 0) == 0);
}
