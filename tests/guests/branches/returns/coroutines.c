// Coroutines on stacks of their own, switched by swapcontext.
// rounds: 20 600
#include "guest.h"
#include <ucontext.h>

static ucontext_t main_context, contexts[4];
static uint64_t sum;

static void coroutine(int number)
{
    for (;;) {
        uint64_t local = sum;
        for (int i = 0; i < number * 10; i++)
            local = mix(local, i);
        sum = local + number;
        swapcontext(&contexts[number], number == 3 ? &main_context : &contexts[number + 1]);
    }
}

int main(int argc, char **argv)
{
    static char stacks[4][32768];
    for (int i = 0; i < 4; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof stacks[i];
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
    }
    for (long round = 0; round < rounds(argc, argv) / 10; round++)
        swapcontext(&main_context, &contexts[0]);
    return report("coroutines", sum);
}
