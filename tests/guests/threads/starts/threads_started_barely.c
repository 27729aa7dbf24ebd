// Threads that are started without the C library, by `clone` with few of its flags and by `clone3`: with and without a word for their number, or storage of their own.
// build plain: -O1 -fno-stack-protector
// rounds: 1 40
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

enum { STACK = 65536, BASE = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };

static uint32_t done, parents, childs;
static uint64_t sum;

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return number;
}

// What a new thread does: it has no storage of its own, so nothing of the C library's is called.
__attribute__((noreturn, used)) static void work(void)
{
    for (uint64_t i = 0; i < 3000; i++)
        sum = mix(sum, i);
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
    call(SYS_futex, (long)&done, FUTEX_WAKE, 1, 0, 0, 0);
    call(SYS_exit, 0, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

static long begin(unsigned long flags, char *stack)
{
    long result;
    register long r10 __asm__("r10") = (long)&childs, r8 __asm__("r8") = 0;
    __asm__ volatile("syscall\n\ttest %%eax, %%eax\n\tjne 1f\n\txor %%ebp, %%ebp\n\tcall work\n1:"
                     : "=a"(result)
                     : "0"(SYS_clone), "D"(flags), "S"(stack + STACK), "d"(&parents), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

static long begin3(unsigned long flags, char *stack)
{
    struct clone_args args = {.flags = flags, .child_tid = (uintptr_t)&childs, .parent_tid = (uintptr_t)&parents, .stack = (uintptr_t)stack, .stack_size = STACK};
    long result;
    __asm__ volatile("syscall\n\ttest %%eax, %%eax\n\tjne 1f\n\txor %%ebp, %%ebp\n\tcall work\n1:"
                     : "=a"(result)
                     : "0"(SYS_clone3), "D"(&args), "S"(sizeof args)
                     : "rcx", "r11", "memory");
    return result;
}

int main(int argc, char **argv)
{
    static const unsigned long flags[] = {0, CLONE_PARENT_SETTID, CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID};
    char *stack = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(stack != MAP_FAILED);
    for (long round = 0; round < 5 * rounds(argc, argv); round++) {
        unsigned long asked = flags[round % 5];
        done = parents = childs = 0;
        long tid = round % 2 ? begin3(BASE | asked, stack) : begin(BASE | asked, stack);
        REQUIRE(tid > 0);
        while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
            call(SYS_futex, (long)&done, FUTEX_WAIT, 0, 0, 0, 0);
        REQUIRE(parents == (asked & CLONE_PARENT_SETTID ? tid : 0));
        // Its stack is free when it is gone.
        while (call(SYS_tgkill, getpid(), tid, 0, 0, 0, 0) == 0)
            call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
        REQUIRE(childs == ((asked & CLONE_CHILD_SETTID) && !(asked & CLONE_CHILD_CLEARTID) ? tid : 0));
    }
    report("barely", sum);
    return 0;
}
