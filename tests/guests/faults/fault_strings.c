// Repeated string instructions that fault after some of their iterations, in both directions: registers and memory show how far they
// came. The handler makes the page accessible, and they go on from there.
// rounds: 1 3
// blocks: differ
#define _GNU_SOURCE
#include "faults.h"

enum { PAGE = 4096 };

// X(name, instruction, size of an element, whether it writes at rdi, reads at rdi, reads at rsi)
#define STRINGS(X)                               \
    X(stosb, "rep stosb", 1, 1, 0, 0)            \
    X(stosl, "rep stosl", 4, 1, 0, 0)            \
    X(stosq, "rep stosq", 8, 1, 0, 0)            \
    X(movsb, "rep movsb", 1, 1, 0, 1)            \
    X(movsw, "rep movsw", 2, 1, 0, 1)            \
    X(movsq, "rep movsq", 8, 1, 0, 1)            \
    X(lodsb, "rep lodsb", 1, 0, 0, 1)            \
    X(scasb, "repne scasb", 1, 0, 1, 0)          \
    X(scasq, "repne scasq", 8, 0, 1, 0)          \
    X(cmpsb, "repe cmpsb", 1, 0, 1, 1)           \
    X(cmpsl, "repe cmpsl", 4, 0, 1, 1)

#define STRING_CODE(name, text, size, writes, reads, source) \
    __asm__(".text\nstart_" #name ": " text "\n    jmp executed\n"); \
    extern char start_##name[];
#define STRING_ENTRY(name, text, size, writes, reads, source) {#name, start_##name, size, writes, reads, source},
STRINGS(STRING_CODE)
static const struct string {
    const char *name, *start;
    int size, writes, reads, source;
} strings[] = {STRINGS(STRING_ENTRY)};

static const struct string *now;
static struct state expected;
static uint64_t address;
static char *closed; // the page that can't be accessed
static int faults;
static uint64_t sum;

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    same(now->name, "signal", 0, signal, SIGSEGV);
    same(now->name, "address of signal", 0, (uintptr_t)info->si_addr, address);
    same(now->name, "address of instruction", 0, uc->uc_mcontext.gregs[REG_RIP], (uintptr_t)now->start);
    struct state state = state_of(uc);
    same_state(now->name, &state, &expected);
    REQUIRE(mprotect(closed, PAGE, PROT_READ | PROT_WRITE) == 0);
    faults++;
    sum = mix(sum, uc->uc_mcontext.gregs[REG_ERR] & 6);
}

// Three pages of each side, and how many bytes are used around the two borders and the middle.
static char *to, *from;
static int reach;

static void fill(void)
{
    for (int half = 2; half <= 4; half++)
        for (int i = -reach; i < reach; i += 8) {
            *(uint64_t *)(to + half * PAGE / 2 + i) = 0x7878787878787878;
            *(uint64_t *)(from + half * PAGE / 2 + i) = now->writes ? 0x0123456789abcdef * (i + half) : 0x7878787878787878;
        }
}

static uint64_t digest(void)
{
    uint64_t digest = 0;
    for (int half = 2; half <= 4; half++)
        for (int i = -reach; i < reach; i += 8)
            digest = digest * 31 + *(uint64_t *)(to + half * PAGE / 2 + i);
    return digest;
}

// Comes up to the border after `done` iterations, if the side at `at_source` meets it, and makes `more` after it.
static void run_string(uint64_t seed, int at_source, int backwards, int done, int more)
{
    int size = now->size, step = backwards ? -size : size;
    // Elements don't end at the border, so that the one that faults lies on both sides of it.
    int odd = size > 1 && seed & 1 ? size / 2 : 0;
    char *pages = at_source ? from : to;
    closed = backwards ? pages : pages + 2 * PAGE;
    uint64_t border = (uintptr_t)(backwards ? pages + PAGE : closed);
    uint64_t first = backwards ? border - size + odd - step * (uint64_t)done : border - odd - step * (uint64_t)done;
    uint64_t other = (uintptr_t)(at_source ? to : from) + PAGE + PAGE / 2;
    fill();
    enter_random(seed);
    entered.general[RAX] = 0x0102030405060708;
    entered.general[RCX] = done + more;
    entered.general[RDI] = at_source ? other : first;
    entered.general[RSI] = at_source ? first : other;
    entered.flags = (entered.flags & ~0x400u) | (backwards ? 0x400 : 0);

    // Without a fault.
    execute_at(now->start);
    struct state result = left;
    uint64_t after = digest();

    fill();
    expected = entered;
    expected.general[RCX] -= done;
    if (now->writes || now->reads)
        expected.general[RDI] += (int64_t)step * done;
    if (now->source)
        expected.general[RSI] += (int64_t)step * done;
    if (done && !now->writes && !now->reads) // what was loaded last
        expected.general[RAX] = (entered.general[RAX] & ~0xffull) | 'x';
    // Where an element lies across the border, its part behind that faults first.
    address = backwards ? border - size + odd : border;
    REQUIRE(mprotect(closed, PAGE, PROT_NONE) == 0);
    faults = 0;
    execute_at(now->start);
    same(now->name, "number of faults", 0, faults, more > 0);
    same_state(now->name, &left, &result);
    same(now->name, "memory", 0, digest(), after);
    REQUIRE(mprotect(closed, PAGE, PROT_READ | PROT_WRITE) == 0);
}

int main(int argc, char **argv)
{
    char *pages = mmap(0, 6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    to = pages;
    from = pages + 3 * PAGE;
    handle(handler);
    // Where the program is single-stepped, each iteration is a stop.
    long all = rounds(argc, argv);
    reach = all > 1 ? 1104 : 256;
    for (long round = 0; round < all; round++)
        for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
            now = &strings[i];
            for (int way = 0; way < 4; way++) {
                int at_source = way & 1;
                if (at_source ? !now->source : !now->writes && !now->reads)
                    continue;
                int most = all > 1 ? 1000 / now->size : 20;
                uint64_t seed = mix(round, i * 4 + way);
                run_string(seed, at_source, way >> 1, seed % most, (seed >> 32) % most + 1);
                if (round == 0)
                    run_string(seed, at_source, way >> 1, 0, 3);
            }
        }
    return report("strings", sum);
}
