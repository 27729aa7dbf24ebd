// dlopen, dlsym, calls into the library, dlclose: code that comes and goes.
// build plain: -O1 -ldl
// rounds: 1 5
#include "guest.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        void *math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        REQUIRE(math);
        double (*cosine)(double) = (double (*)(double))dlsym(math, "cos");
        double (*power)(double, double) = (double (*)(double, double))dlsym(math, "pow");
        REQUIRE(cosine && power);
        for (int i = 0; i < 30; i++)
            sum = mix(sum, (uint64_t)(1e6 * (2 + cosine(i) + power(1.01, i))));
        dlclose(math);
        void *resolver = dlopen("libresolv.so.2", RTLD_LAZY); // may take the place that libm left
        REQUIRE(resolver);
        sum = mix(sum, dlsym(resolver, "ns_initparse") != 0);
        dlclose(resolver);
    }
    return report("dlopen", sum);
}
