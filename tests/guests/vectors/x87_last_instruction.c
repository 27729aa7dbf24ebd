// What the x87 unit knows of its last instruction, as each of the instructions that show it has it: the processor decides which do.
// build plain: -O1 -mno-avx
// rounds: 0 2
// Read a few times only: AMD's processors forget it when the kernel gives them to somebody else.
#include "guest.h"
#include <stdlib.h>

struct environment {
    uint32_t control, status, tags, ip;
    uint16_t cs, opcode;
    uint32_t dp;
    uint16_t ds, reserved;
};

static double number = 1.5;
static int whole;
static struct environment seen;
static _Alignas(64) unsigned char image[4096];

extern char here[], there[];

static void show(const char *what, const struct environment *e)
{
    uint32_t ip = e->ip, dp = e->dp;
    printf("%s: ip %x cs %x opcode %x dp %x ds %x\n", what, ip ? ip - (uint32_t)(uintptr_t)here : 0, e->cs, e->opcode,
           dp ? dp - (uint32_t)(uintptr_t)&number : 0, e->ds);
}

static void show_image(const char *what)
{
    uint64_t ip, dp;
    memcpy(&ip, image + 8, 8);
    memcpy(&dp, image + 16, 8);
    printf("%s: ip %lx dp %lx opcode %x\n", what, ip ? ip - (uintptr_t)here : 0, dp ? dp - (uintptr_t)&number : 0,
           image[7] << 8 | image[6]);
}

// Code that nothing has executed before: each call of it is the first.
__attribute__((noinline)) static void look(void)
{
    __asm__ volatile("fnstenv %0\n\tfldcw %0" : "=m"(seen));
}

__attribute__((noinline)) static void compute(void)
{
    __asm__ volatile("here: fldl %1\n\tfistpl %0" : "=m"(whole) : "m"(number));
}

int main(int argc, char **argv)
{
    struct environment e;
    unsigned low = 1, high = 0;
    long calls = rounds(argc, argv);
    memset(&seen, 0, sizeof seen);
    for (long i = 0; i < calls; i++) {
        compute();
        look();
        show("at once", &seen);
        compute();
        __asm__ volatile("fnstenv %0\n\tfnstenv %0\n\tfldcw %0" : "=m"(e));
        show("twice", &e);
        compute();
        __asm__ volatile("fxsave64 %0" : "=m"(image));
        show_image("fxsave64");
        compute();
        // Nothing comes between, in which the processor could be given to somebody else.
        __asm__ volatile("xsave64 %0" : "+m"(image) : "a"(low), "d"(high));
        __asm__ volatile("fnstenv %0\n\tfldcw %0" : "=m"(e));
        show_image("xsave64");
        show("after it", &e);
        compute();
        __asm__ volatile("xsave64 %0\n\txrstor64 %0\n\tfnstenv %1\n\tfldcw %1" : "+m"(image), "=m"(e) : "a"(low), "d"(high));
        show("after xrstor64", &e);
        // What the app has loaded itself.
        e.ip = (uint32_t)(uintptr_t)here + 0x123;
        e.opcode = 0x31d;
        e.dp = (uint32_t)(uintptr_t)&number + 0x456;
        __asm__ volatile("fldenv %1\n\tfnstenv %0\n\tfldcw %0" : "=m"(e) : "m"(e));
        show("loaded", &e);
        compute();
        __asm__ volatile("fninit\n\tfnstenv %0\n\tfldcw %0" : "=m"(e));
        show("initial", &e);
        // With an exception pending.
        uint16_t control = 0x37b;
        static double zero;
        __asm__ volatile("fldcw %1\n\tfld1\n\tthere: fdivl %2\n\tfxsave64 %0\n\tfnstenv %3\n\tfnclex\n\tfninit"
                         : "=m"(image), "+m"(control) : "m"(zero), "m"(e));
        uint64_t ip, dp;
        memcpy(&ip, image + 8, 8);
        memcpy(&dp, image + 16, 8);
        printf("pending: ip %lx dp %lx opcode %x; %x %x\n", ip - (uintptr_t)there, dp - (uintptr_t)&zero, image[7] << 8 | image[6],
               e.ip - (uint32_t)(uintptr_t)there, e.cs);
    }
    return 0;
}
