// Where signal frames lie and how large they are: on the stack, nested, and on alternate stacks with all alignments.
// build plain: -O1
// rounds: 1 20
#include "guest.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

static _Alignas(4096) unsigned char alternate[128 << 10];
static uintptr_t places[8], contexts[8], areas[8];
static uint32_t sizes[8][5];
static int depth, most;

static void handler(int signal, siginfo_t *info, void *context)
{
    char here;
    ucontext_t *frame = context;
    (void)info;
    int at = depth++;
    places[at] = (uintptr_t)&here;
    contexts[at] = (uintptr_t)frame;
    areas[at] = (uintptr_t)frame->uc_mcontext.fpregs;
    // Magic, size with and without the second magic, components.
    memcpy(sizes[at], (char *)frame->uc_mcontext.fpregs + 464, 20);
    if (depth < most)
        kill(getpid(), signal);
}

static void take(int deep, int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER | flags};
    sigaction(SIGUSR1, &action, 0);
    depth = 0;
    most = deep;
    kill(getpid(), SIGUSR1);
}

int main(int argc, char **argv)
{
    printf("at least %lu\n", getauxval(51 /* AT_MINSIGSTKSZ */));
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        take(6, 0);
        if (round == 0) {
            printf("nested");
            for (int i = 1; i < depth; i++)
                printf(" %ld", (long)(contexts[i - 1] - contexts[i]));
            printf("\narea %ld", (long)(areas[0] - contexts[0]));
            for (int i = 0; i < 5; i++)
                printf(" %x", sizes[0][i]);
            printf("\n");
        }
        for (int i = 0; i < depth; i++)
            for (uintptr_t n = 0; n < ((places[0] - places[i]) >> 7 & 31); n++)
                sum = mix(sum, n);
        for (int end = 0; end < 128; end += 8) {
            stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate - end}, none = {.ss_flags = SS_DISABLE};
            sigaltstack(&stack, 0);
            take(1, SA_ONSTACK);
            if (round == 0)
                printf("%ld %ld\n", (long)((uintptr_t)alternate + sizeof alternate - contexts[0]), (long)(areas[0] - contexts[0]));
            sigaltstack(&none, 0);
        }
    }
    return report("frames", sum & 0xff);
}
