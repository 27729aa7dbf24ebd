// Pushes, pops, calls, returns and jumps, in the moment in which their stack or the word with their target can't be read: every register is checked.
// rounds: 1 2
// blocks: differ
#define _GNU_SOURCE
#define CASES(X)                                                                                       \
    X(push, RSP, NOWHERE, ANY, -8, "cmp %r8, %r9", "push %rax")                                           \
    X(push_r11, RSP, NOWHERE, ANY, -8, "inc %r10", "push %r11")                                           \
    X(push_own, RSP, NOWHERE, ANY, -8, "", "push %rsp")                                                   \
    X(push_constant, RSP, NOWHERE, ANY, -8, "", "push $-5")                                               \
    X(push_short, RSP, NOWHERE, ANY, -2, "", "pushw %r10w")                                               \
    X(push_flags, RSP, NOWHERE, ANY, -8, "add %r10, %r11", "pushf")                                       \
    X(push_operand, RSP, NOWHERE, ANY, -8, "lea 9f(%rip), %r11", "pushq (%r11)")                          \
    X(push_read_only, RSP, READABLE, ANY, -8, "", "push %r9")                                             \
    X(push_impossible, RSP, IMPOSSIBLE_STACK, ANY, 0, "", "push %rax")                                    \
    X(pop, RSP, NOWHERE, ANY, 0, "", "pop %rax")                                                          \
    X(pop_r10, RSP, NOWHERE, ANY, 0, "dec %r9", "pop %r10")                                               \
    X(pop_own, RSP, NOWHERE, ANY, 0, "", "pop %rsp")                                                      \
    X(pop_flags, RSP, NOWHERE, FLAG_WORD, 0, "", "popf")                                                  \
    X(pop_across, RSP, ACROSS, ANY, 0, "", "pop %r11")                                                    \
    X(pop_impossible, RSP, IMPOSSIBLE_STACK, ANY, 0, "", "pop %r11")                                      \
    X(leave, RBP, NOWHERE, ANY, 0, "", "leave")                                                           \
    X(leave_impossible, RBP, IMPOSSIBLE_STACK, ANY, 0, "sub %r9, %r10", "leave")                          \
    X(enter, RSP, NOWHERE, ANY, -8, "", "enter $16, $0")                                                  \
    X(call, RSP, NOWHERE, ANY, -8, "cmp %r10, %r11", "call 9f")                                           \
    X(call_read_only, RSP, READABLE, ANY, -8, "", "call 9f")                                              \
    X(call_impossible, RSP, IMPOSSIBLE_STACK, ANY, 0, "", "call 9f")                                      \
    X(call_register, RSP, NOWHERE, ANY, -8, "lea 9f(%rip), %rax", "call *%rax")                           \
    X(call_r11, RSP, NOWHERE, ANY, -8, "lea 9f(%rip), %r11\n inc %r10", "call *%r11")                     \
    X(call_stack_pointer, RSP, NOWHERE, NEXT, 0, "", "call *(%rsp)")                                      \
    X(call_word, RAX, NOWHERE, NEXT, 0, "", "call *(%rax)")                                               \
    X(call_word_r10, R10, NOWHERE, NEXT, 0, "inc %r9", "call *(%r10)")                                    \
    X(call_word_r11, R11, NOWHERE, NEXT, 0, "xor %r9d, %r9d", "call *(%r11, %r9, 8)")                     \
    X(call_word_across, R11, ACROSS, NEXT, 0, "", "call *(%r11)")                                         \
    X(call_word_impossible, RDI, IMPOSSIBLE, NEXT, 0, "", "call *(%rdi)")                                 \
    X(jump_word, RDX, NOWHERE, NEXT, 0, "add %rax, %r8", "jmp *(%rdx)")                                   \
    X(jump_word_r10, R10, NOWHERE, NEXT, 0, "", "jmp *(%r10)")                                            \
    X(jump_word_r11, R11, NOWHERE, NEXT, 0, "", "jmp *(%r11)")                                            \
    X(jump_word_impossible, RBP, IMPOSSIBLE_STACK, NEXT, 0, "", "jmp *(%rbp)")                            \
    X(return_, RSP, NOWHERE, NEXT, 0, "cmp %r10, %r11", "ret")                                            \
    X(return_more, RSP, NOWHERE, NEXT, 0, "", "ret $24")                                                  \
    X(return_across, RSP, ACROSS, NEXT, 0, "", "ret")                                                     \
    X(return_impossible, RSP, IMPOSSIBLE_STACK, NEXT, 0, "", "ret")
#include "fault_cases.h"

int main(int argc, char **argv)
{
    return run_cases(argc, argv, "stacks");
}
