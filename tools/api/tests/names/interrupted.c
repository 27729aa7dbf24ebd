// Opens and closes libraries, interrupted by a timer all the time.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile int interruptions;

static void handler(int number) {
    interruptions++;
}

int main(int argc, char **argv) {
    alarm(120);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_PROF, &often, NULL);
    for (int i = 0; i < atoi(argv[1]); i++) {
        void *library = dlopen(argv[2 + i % 2], RTLD_NOW);
        if (!library) {
            puts(dlerror());
            return 2;
        }
        void (*work)(void) = dlsym(library, "work");
        work();
        dlclose(library);
    }
    return 0;
}
