// A C++ exception that nobody catches: message on standard error, end by SIGABRT.
// build own-library: -O1 -static-libstdc++ -static-libgcc
// rounds: 1 1
// ends: by a signal
#include <stdexcept>

int main()
{
    throw std::logic_error("nobody wants me");
}
