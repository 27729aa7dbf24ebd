// Vector loads, stores, operands and gathers, in the moment in which they fault: every register is checked, with the upper halves of the vector registers.
// build avx2: -O1 -mavx2
// needs: avx2
// rounds: 1 2
// blocks: differ
#define _GNU_SOURCE
#define ALL_ONES "vpcmpeqd %ymm2, %ymm2, %ymm2\n vpxor %ymm1, %ymm1, %ymm1"
#define CASES(X)                                                                                          \
    X(load, RDI, NOWHERE, ANY, 0, "cmp %r8, %r9", "movups (%rdi), %xmm3")                                    \
    X(load_low, R11, NOWHERE, ANY, 0, "", "movlps (%r11), %xmm0")                                            \
    X(load_word, R10, NOWHERE, ANY, 0, "", "movd (%r10), %xmm15")                                            \
    X(load_wide, R9, NOWHERE, ANY, 0, "", "vmovdqu (%r9), %ymm5")                                            \
    X(load_aligned, RSI, ODD, ANY, 0, "", "movaps (%rsi), %xmm3")                                            \
    X(load_across, RBX, ACROSS, ANY, 0, "inc %r9", "vmovdqu (%rbx), %ymm7")                                  \
    X(store, RDI, NOWHERE, ANY, 0, "", "movups %xmm3, (%rdi)")                                               \
    X(store_wide, R11, NOWHERE, ANY, 0, "", "vmovdqu %ymm11, (%r11)")                                        \
    X(store_aligned, R10, ODD, ANY, 0, "", "vmovdqa %ymm11, (%r10)")                                         \
    X(store_across, R10, ACROSS, ANY, 0, "", "vmovdqu %ymm8, (%r10)")                                        \
    X(store_read_only, RBP, READABLE, ANY, 0, "", "movntps %xmm8, (%rbp)")                                   \
    X(store_high, R15, NOWHERE, ANY, 0, "", "vextractf128 $1, %ymm8, (%r15)")                                \
    X(operand, RCX, NOWHERE, ANY, 0, "", "paddq (%rcx), %xmm1")                                              \
    X(operand_aligned, R9, ODD, ANY, 0, "", "pxor (%r9), %xmm1")                                             \
    X(operand_wide, R11, NOWHERE, ANY, 0, "vpaddq %ymm1, %ymm2, %ymm3", "vpaddq (%r11), %ymm3, %ymm3")       \
    X(broadcast, RAX, NOWHERE, ANY, 0, "", "vpbroadcastb (%rax), %ymm9")                                     \
    X(compare, R10, NOWHERE, ANY, 0, "add %r9, %r11", "ucomisd (%r10), %xmm2")                               \
    X(test, R11, NOWHERE, ANY, 0, "", "ptest (%r11), %xmm2")                                                 \
    X(to_general, R9, NOWHERE, ANY, 0, "", "cvttsd2si (%r9), %r9")                                           \
    X(from_general, R10, NOWHERE, ANY, 0, "", "cvtsi2sdq (%r10), %xmm4")                                     \
    X(masked_load, RDX, NOWHERE, ANY, 0, ALL_ONES, "vpmaskmovd (%rdx), %ymm2, %ymm0")                        \
    X(masked_store, R11, NOWHERE, ANY, 0, ALL_ONES, "vmaskmovps %ymm3, %ymm2, (%r11)")                       \
    X(gather, R10, NOWHERE, ANY, 0, ALL_ONES, "vpgatherdd %ymm2, (%r10, %ymm1, 4), %ymm0")                   \
    X(gather_wide, R11, NOWHERE, ANY, 0, ALL_ONES, "vgatherqpd %ymm2, (%r11, %ymm1, 8), %ymm0")
#include "fault_cases.h"

int main(int argc, char **argv)
{
    return run_cases(argc, argv, "vectors");
}
