// C++'s threads: futures, promises, exceptions through threads, thread-local objects, conditions, parallel first uses.
// build plain: -O1 -pthread
// rounds: 0 40
// totals: vary
#include "guest.h"
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> made, gone;

struct Counted {
    long value = 0;
    Counted() { made++; }
    ~Counted() { gone++; }
};

static thread_local Counted own;

static long &once()
{
    static long value = [] { std::this_thread::yield(); made += 1000; return 5L; }();
    return value;
}

static long deep(int depth)
{
    Counted here;
    if (depth == 0)
        throw std::runtime_error("from below");
    return deep(depth - 1) + here.value;
}

static long throws(int depth)
{
    own.value += depth;
    try {
        return deep(depth);
    } catch (const std::runtime_error &error) {
        if (depth % 2)
            throw std::logic_error(std::string(error.what()) + " again");
        return depth + once() - 5;
    }
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        std::vector<std::future<long>> futures;
        for (int i = 0; i < 4; i++)
            futures.push_back(std::async(std::launch::async, throws, 20 + i));
        for (auto &future : futures) {
            try {
                sum = mix(sum, future.get());
            } catch (const std::logic_error &error) {
                REQUIRE(error.what() == std::string("from below again"));
                sum = mix(sum, 1);
            }
        }
        std::promise<std::string> promise;
        std::mutex lock;
        std::condition_variable changed;
        int stage = 0;
        std::thread other([&] {
            std::unique_lock<std::mutex> locked(lock);
            changed.wait(locked, [&] { return stage == 1; });
            stage = 2;
            changed.notify_all();
            promise.set_value("kept");
        });
        {
            std::unique_lock<std::mutex> locked(lock);
            stage = 1;
            changed.notify_all();
            changed.wait(locked, [&] { return stage == 2; });
        }
        REQUIRE(promise.get_future().get() == "kept");
        other.join();
    }
    report("standard", sum);
    printf("%ld %ld\n", made.load(), gone.load());
    return 0;
}
