// Every vector register in its full width, opmasks, the x87 stack and both control words keep what they hold, byte for byte, over
// calls, returns, branches of all kinds, system calls and signal handlers.
// build default: -O1
// rounds: 20 4000
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

// What is loaded, and what is found afterwards. Vector registers have 64 bytes each, of which as many are used as the CPU has.
struct state {
    uint64_t vectors[32][8], masks[8];
    unsigned char x87[8][16];
    uint32_t mxcsr;
    uint16_t control;
};
_Alignas(64) struct state entered __asm__("entered"), left __asm__("left");
enum { NONE, SYSCALL, SIGNAL };
uint64_t call_made __asm__("call_made"), turns __asm__("turns"), process __asm__("process");

#define EACH_16(f, x) f(0, x) f(1, x) f(2, x) f(3, x) f(4, x) f(5, x) f(6, x) f(7, x) f(8, x) f(9, x) f(10, x) f(11, x) f(12, x) f(13, x) f(14, x) f(15, x)
#define EACH_HIGH(f, x) f(16, x) f(17, x) f(18, x) f(19, x) f(20, x) f(21, x) f(22, x) f(23, x) f(24, x) f(25, x) f(26, x) f(27, x) f(28, x) f(29, x) f(30, x) f(31, x)
#define EACH_8(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#define LOAD_SSE(n, of) "movups " #of "+64*" #n "(%rip), %xmm" #n "\n"
#define STORE_SSE(n, of) "movups %xmm" #n ", " #of "+64*" #n "(%rip)\n"
#define LOAD_AVX(n, of) "vmovdqu " #of "+64*" #n "(%rip), %ymm" #n "\n"
#define STORE_AVX(n, of) "vmovdqu %ymm" #n ", " #of "+64*" #n "(%rip)\n"
#define LOAD_AVX512(n, of) "vmovdqu64 " #of "+64*" #n "(%rip), %zmm" #n "\n"
#define STORE_AVX512(n, of) "vmovdqu64 %zmm" #n ", " #of "+64*" #n "(%rip)\n"
#define LOAD_MASK(n) "kmovq entered+2048+8*" #n "(%rip), %k" #n "\n"
#define STORE_MASK(n) "kmovq %k" #n ", left+2048+8*" #n "(%rip)\n"
#define LOAD_X87(n) "fldt entered+2112+16*" #n "(%rip)\n"
#define STORE_X87(n) "fstpt left+2112+16*" #n "(%rip)\n"

#define AROUND(name, load, store)                                                        \
    #name ": push %rbx\n push %r12\n sub $8, %rsp\n" load                                   \
    "ldmxcsr entered+2240(%rip)\n fldcw entered+2244(%rip)\n" EACH_8(LOAD_X87)             \
    "call work\n" EACH_8(STORE_X87)                                                        \
    "fnstcw left+2244(%rip)\n stmxcsr left+2240(%rip)\n" store                             \
    "fninit\n add $8, %rsp\n pop %r12\n pop %rbx\n ret\n"

void around_sse(void), around_avx(void), around_avx512(void);
__asm__(".text\n"
        AROUND(around_sse, EACH_16(LOAD_SSE, entered), EACH_16(STORE_SSE, left))
        AROUND(around_avx, EACH_16(LOAD_AVX, entered), EACH_16(STORE_AVX, left) "vzeroupper\n")
        AROUND(around_avx512, EACH_16(LOAD_AVX512, entered) EACH_HIGH(LOAD_AVX512, entered) EACH_8(LOAD_MASK),
               EACH_16(STORE_AVX512, left) EACH_HIGH(STORE_AVX512, left) EACH_8(STORE_MASK) "vzeroupper\n")
        // Uses general registers only.
        "work:\n"
        "    mov turns(%rip), %rbx\n"
        "    mov $1, %r12d\n"
        "1:  imul $1103515245, %r12d, %r12d\n"
        "    add $12345, %r12d\n"
        "    mov %r12d, %eax\n"
        "    shr $16, %eax\n"
        "    and $3, %eax\n"
        "    lea 5f(%rip), %rdx\n"
        "    movslq (%rdx, %rax, 4), %rax\n"
        "    add %rdx, %rax\n"
        "    call *%rax\n"
        "    test $0x400, %r12d\n"
        "    jz 2f\n"
        "    call 3f\n"
        "2:  dec %rbx\n"
        "    jnz 1b\n"
        // getppid, or kill of itself.
        "    mov call_made(%rip), %rax\n"
        "    test %eax, %eax\n"
        "    jz 3f\n"
        "    cmp $2, %eax\n"
        "    mov $110, %eax\n"
        "    jne 4f\n"
        "    mov $62, %eax\n"
        "    mov process(%rip), %rdi\n"
        "    mov $10, %esi\n"
        "4:  syscall\n"
        "3:  ret\n"
        "5:  .long 6f - 5b, 7f - 5b, 8f - 5b, 3b - 5b\n"
        "6:  jmp 3b\n"
        "7:  lea 3b(%rip), %rdx\n    jmp *%rdx\n"
        "8:  lea 3b(%rip), %rdx\n    push %rdx\n    ret\n");

static enum { SSE, AVX, AVX512 } width;
static void (*const around[])(void) = {around_sse, around_avx, around_avx512};
static int signals;

// Sees what was loaded, and has other things in the registers itself.
static void handler(int signal, siginfo_t *info, void *context)
{
    const char *image = (const char *)((ucontext_t *)context)->uc_mcontext.fpregs;
    for (int i = 0; i < 16; i++) {
        REQUIRE(memcmp(image + 160 + 16 * i, entered.vectors[i], 16) == 0);
        if (width >= AVX)
            REQUIRE(memcmp(image + 576 + 16 * i, entered.vectors[i] + 2, 16) == 0);
    }
    for (int i = 0; i < 8; i++) // the last that was loaded is on top
        REQUIRE(memcmp(image + 32 + 16 * i, entered.x87[7 - i], 10) == 0);
    REQUIRE(memcmp(image, &entered.control, 2) == 0 && memcmp(image + 24, &entered.mxcsr, 4) == 0);
    uint32_t mxcsr = 0x1f80;
    uint16_t control = 0x37f;
    __asm__ volatile("ldmxcsr %0\n\tfninit\n\tfldcw %1\n\tfldpi\n\tpxor %%xmm0, %%xmm0\n\tpxor %%xmm15, %%xmm15"
                     : : "m"(mxcsr), "m"(control) : "xmm0", "xmm15");
    if (width >= AVX)
        __asm__ volatile("vzeroall" : : : "memory");
    if (width == AVX512)
        __asm__ volatile("vpxord %zmm17, %zmm17, %zmm17\n\tkxorq %k5, %k5, %k5");
    signals += signal == SIGUSR1 && info->si_code == SI_USER;
}

static uint64_t enter_random(uint64_t seed)
{
    static const int bytes[] = {16, 32, 64};
    for (int i = 0; i < (width == AVX512 ? 32 : 16); i++)
        for (int j = 0; j < bytes[width] / 8; j++)
            entered.vectors[i][j] = seed = mix(seed, i);
    for (int i = 0; i < 8; i++) {
        if (width == AVX512)
            entered.masks[i] = mix(seed, i);
        // Normal numbers: an explicit leading bit and a small exponent.
        uint64_t fraction = mix(seed, -i) | 1ull << 63;
        uint16_t exponent = 0x3fff + i;
        memcpy(entered.x87[i], &fraction, 8);
        memcpy(entered.x87[i] + 8, &exponent, 2);
    }
    // Rounding, flushing and flags; all exceptions masked.
    entered.mxcsr = 0x1f80 | (seed & 0xe07f);
    entered.control = 0x37f & ~0xf00;
    entered.control |= (seed >> 20 & 0xc00) | (seed >> 24 & 1 ? 0x300 : 0x200);
    return seed;
}

int main(int argc, char **argv)
{
    width = !__builtin_cpu_supports("avx2") ? SSE : __builtin_cpu_supports("avx512bw") ? AVX512 : AVX;
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    REQUIRE(sigaction(SIGUSR1, &action, 0) == 0);
    process = getpid();
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        sum = enter_random(sum + round);
        call_made = round % 100 == 0 ? SIGNAL : round % 10 == 0 ? SYSCALL : NONE;
        turns = sum % 500 + 1;
        memset(&left, 0, sizeof left);
        around[width]();
        // x87 registers come back in the reverse order.
        for (int i = 0; i < 4; i++) {
            unsigned char other[16];
            memcpy(other, left.x87[i], 16);
            memcpy(left.x87[i], left.x87[7 - i], 16);
            memcpy(left.x87[7 - i], other, 16);
        }
        REQUIRE(memcmp(&entered, &left, sizeof left) == 0);
    }
    REQUIRE(signals == (rounds(argc, argv) + 99) / 100);
    return report("kept", signals);
}
