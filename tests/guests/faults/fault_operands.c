// Loads, stores, instructions that read and write, and divisions, in the moment in which they fault: every register is checked.
// rounds: 1 2
// blocks: differ
#define _GNU_SOURCE
#define CASES(X)                                                                                        \
    X(load, RDI, NOWHERE, ANY, 0, "cmp %r8, %r9", "mov (%rdi), %rax")                                      \
    X(load_own, RAX, NOWHERE, ANY, 0, "", "mov (%rax), %rax")                                              \
    X(load_r9, R9, NOWHERE, ANY, 0, "inc %r10", "mov (%r9), %r10")                                         \
    X(load_r10, R10, NOWHERE, ANY, 0, "add %r11, %r9", "mov (%r10), %r9d")                                 \
    X(load_r11, R11, NOWHERE, ANY, 0, "dec %r15", "movzbl (%r11), %r11d")                                  \
    X(load_r15, R15, NOWHERE, ANY, 16, "xor %eax, %eax", "movswq 16(%r15, %rax, 4), %r11")                 \
    X(load_index, R10, NOWHERE, ANY, -8, "mov $1, %r9d", "mov -16(%r10, %r9, 8), %r11") \
    X(load_high, RBX, NOWHERE, ANY, 0, "", "mov (%rbx), %ah")                                              \
    X(load_rsp, R12, NOWHERE, ANY, 0, "", "mov (%r12), %rsp")                                              \
    X(conditional, R13, NOWHERE, ANY, 0, "cmp %rax, %rax", "cmovne (%r13), %rcx")                          \
    X(compare, RCX, NOWHERE, ANY, 0, "inc %rdx", "cmp (%rcx), %rax")                                       \
    X(test, RBP, NOWHERE, ANY, 0, "", "testl $0x7f, (%rbp)")                                               \
    X(multiply, R14, NOWHERE, ANY, 0, "", "imul (%r14), %rdx")                                             \
    X(multiply_wide, RDX, NOWHERE, ANY, 0, "", "mulq (%rdx)")                                              \
    X(add_carry, RSI, NOWHERE, ANY, 0, "add %r9, %r10", "adc (%rsi), %r11")                                \
    X(store, RDI, NOWHERE, ANY, 0, "sub %r10, %r11", "mov %rax, (%rdi)")                                   \
    X(store_r11, R9, NOWHERE, ANY, 0, "", "mov %r11, (%r9)")                                               \
    X(store_r10, R11, NOWHERE, ANY, 0, "inc %r9", "mov %r10b, (%r11)")                                     \
    X(store_constant, R10, NOWHERE, ANY, 0, "", "movl $7, (%r10)")                                         \
    X(store_rsp, R15, NOWHERE, ANY, 0, "", "mov %rsp, (%r15)")                                             \
    X(store_flag, R11, NOWHERE, ANY, 0, "", "setc (%r11)")                                                 \
    X(store_own, RSP, NOWHERE, ANY, 0, "", "mov %rsp, (%rsp)")                                             \
    X(add, R11, NOWHERE, ANY, 0, "", "add %r10, (%r11)")                                                   \
    X(carry, R10, NOWHERE, ANY, 0, "cmp %r11, %r9", "adc %r9, (%r10)")                                     \
    X(increment, R15, NOWHERE, ANY, 0, "", "incl (%r15)")                                                  \
    X(shift, RBX, NOWHERE, ANY, 0, "", "shlq %cl, (%rbx)")                                                 \
    X(rotate, R9, NOWHERE, ANY, 0, "", "rclq $3, (%r9)")                                                   \
    X(negate, RBP, NOWHERE, ANY, 0, "", "negq (%rbp)")                                                     \
    X(invert, R13, NOWHERE, ANY, 0, "", "notl (%r13)")                                                     \
    X(locked, R12, NOWHERE, ANY, 0, "", "lock addq $3, (%r12)")                                            \
    X(bit, RDI, NOWHERE, ANY, 0, "", "btsl $5, (%rdi)")                                                    \
    X(exchange, RDX, NOWHERE, ANY, 0, "", "xchg %rax, (%rdx)")                                             \
    X(exchange_own, R10, NOWHERE, ANY, 0, "", "xchg %r10, (%r10)")                                         \
    X(xadd, R8, NOWHERE, ANY, 0, "", "xadd %rcx, (%r8)")                                                   \
    X(xadd_locked, R11, NOWHERE, ANY, 0, "", "lock xadd %r10d, (%r11)")                                    \
    X(cmpxchg, RSI, NOWHERE, ANY, 0, "", "cmpxchg %rdx, (%rsi)")                                           \
    X(cmpxchg_equal, R9, READABLE, ANY, 0, "xor %eax, %eax", "lock cmpxchg %r11d, (%r9)")                  \
    X(cmpxchg16, RDI, NOWHERE, ANY, 0, "", "lock cmpxchg16b (%rdi)")                                       \
    X(read_only, R10, READABLE, ANY, 0, "", "mov %r11, (%r10)")                                            \
    X(read_only_add, RDI, READABLE, ANY, 0, "", "add %rax, (%rdi)")                                        \
    X(read_only_xadd, R11, READABLE, ANY, 0, "", "xadd %r9, (%r11)")                                       \
    X(read_only_flag, RSI, READABLE, ANY, 0, "inc %r8", "setb (%rsi)")                                     \
    X(across_load, RDI, ACROSS, ANY, 0, "", "mov (%rdi), %r11")                                            \
    X(across_store, R11, ACROSS, ANY, 0, "", "mov %r9, (%r11)")                                            \
    X(across_add, R10, ACROSS, ANY, 0, "cmp %r9, %r11", "sbb %rax, (%r10)")                                \
    X(across_cmpxchg, RBX, ACROSS, ANY, 0, "", "cmpxchg %rcx, (%rbx)")                                     \
    X(impossible, RDI, IMPOSSIBLE, ANY, 0, "", "mov (%rdi), %rax")                                         \
    X(impossible_r10, R10, IMPOSSIBLE, ANY, 0, "", "add %r11, (%r10)")                                     \
    X(impossible_rbp, RBP, IMPOSSIBLE_STACK, ANY, 0, "", "mov %rax, (%rbp)")                               \
    X(impossible_rsp, RSP, IMPOSSIBLE_STACK, ANY, 0, "", "addl $1, 8(%rsp)")                               \
    X(push_operand, RDI, NOWHERE, ANY, 0, "", "pushq (%rdi)")                                              \
    X(pop_operand, RDI, NOWHERE, ANY, 0, "", "popq (%rdi)")                                                \
    X(table, RBX, NOWHERE, ANY, 0, "mov $0, %al", "xlat")                                                  \
    X(string_load, RSI, NOWHERE, ANY, 0, "", "lodsq")                                                      \
    X(string_store, RDI, NOWHERE, ANY, 0, "", "stosl")                                                     \
    X(string_search, RDI, NOWHERE, ANY, 0, "", "scasb")                                                    \
    X(divide, RCX, ZERO, ANY, 0, "xor %edx, %edx", "div %rcx")                                             \
    X(divide_r11, R11, ZERO, ANY, 0, "xor %edx, %edx", "div %r11")                                         \
    X(divide_operand, R9, NOWHERE, ANY, 0, "xor %edx, %edx", "divq (%r9)")                                 \
    X(divide_signed, R10, ZERO, ANY, 0, "cqto", "idiv %r10")
#include "fault_cases.h"

int main(int argc, char **argv)
{
    return run_cases(argc, argv, "operands");
}
