// Opens libraries one after the other, which come to lie at the same place, and one whose file it removes.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void use(const char *name, int removed) {
    void *library = dlopen(name, RTLD_NOW);
    if (!library) {
        puts(dlerror());
        exit(2);
    }
    if (removed)
        unlink(name);
    void (*work)(void) = dlsym(library, "work");
    for (int i = 0; i < 20; i++) {
        work();
        getppid();
    }
    dlclose(library);
}

int main(int argc, char **argv) {
    alarm(120);
    for (int round = atoi(argv[1]); round > 0; round--)
        for (int i = 2; i < argc; i++)
            if (access(argv[i], F_OK) == 0)
                use(argv[i], strstr(argv[i], "gone") != NULL);
    return 7;
}
