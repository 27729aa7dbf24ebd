// C++ as it is written with the standard library: trees, hash tables, strings, sorting, closures, virtual calls.
// build containers: -O2
// rounds: 0 2000

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Square : Shape {
    double side;
    explicit Square(double s) : side(s) {}
    double area() const override { return side * side; }
};

struct Disc : Shape {
    double radius;
    explicit Disc(double r) : radius(r) {}
    double area() const override { return 3.25 * radius * radius; }
};

unsigned long state = 1;

unsigned below(unsigned limit) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (state >> 33) % limit;
}

std::string word() {
    std::string text;
    for (unsigned n = 2 + below(6); n > 0; n--)
        text += static_cast<char>('a' + below(6));
    return text;
}

unsigned long once() {
    std::unordered_map<std::string, unsigned> counts;
    std::map<std::string, std::vector<unsigned>> places;
    for (unsigned n = 0; n < 60; n++) {
        std::string text = word();
        counts[text]++;
        places[text.substr(0, 2)].push_back(n);
    }
    std::vector<std::pair<std::string, unsigned>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    unsigned long sum = sorted.front().first.size();
    for (const auto &[start, where] : places)
        for (unsigned place : where)
            sum = sum * 31 + place + start[0];
    std::vector<std::unique_ptr<Shape>> shapes;
    for (unsigned n = 0; n < 30; n++) {
        if (below(2))
            shapes.push_back(std::make_unique<Square>(below(9)));
        else
            shapes.push_back(std::make_unique<Disc>(below(9)));
    }
    std::function<double(double)> scale = [factor = below(4) + 1.0](double x) { return x / factor; };
    for (const auto &shape : shapes)
        sum += static_cast<unsigned long>(scale(shape->area()));
    return sum;
}

} // namespace

int main(int argc, char **argv) {
    unsigned long sum = 0;
    for (long rounds = argc > 1 ? std::atol(argv[1]) : 1; rounds > 0; rounds--)
        sum = sum * 7 + once();
    std::printf("%lu\n", sum);
    return 0;
}
