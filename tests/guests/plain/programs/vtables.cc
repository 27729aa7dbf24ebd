// Virtual calls, std::sort, maps and strings: ordinary C++.
// build dynamic: -O2
// build static: -O2 -static
// rounds: 1 300
// steps: millions
#include "guest.h"
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual uint64_t area() const = 0;
};
struct Square : Shape {
    uint64_t side;
    explicit Square(uint64_t s) : side(s) {}
    uint64_t area() const override { return side * side; }
};
struct Rectangle : Shape {
    uint64_t a, b;
    Rectangle(uint64_t a, uint64_t b) : a(a), b(b) {}
    uint64_t area() const override { return a * b; }
};

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        std::vector<std::unique_ptr<Shape>> shapes;
        for (int i = 0; i < 500; i++)
            if (mix(i, round) & 1)
                shapes.push_back(std::make_unique<Square>(i));
            else
                shapes.push_back(std::make_unique<Rectangle>(i, round));
        std::sort(shapes.begin(), shapes.end(), [](auto &x, auto &y) { return x->area() < y->area(); });
        std::map<std::string, uint64_t> names;
        for (auto &shape : shapes)
            names[std::to_string(shape->area() % 97)] += shape->area();
        for (auto &[name, value] : names)
            sum = mix(sum, value + name.size());
    }
    return report("shapes", sum);
}
