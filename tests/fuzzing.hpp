// What the harnesses share that fuzz native kernels: chance, blocks of exactly the size of an input, and runs of some time.

#ifndef CORPUSFMT_FUZZING_HPP
#define CORPUSFMT_FUZZING_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace fuzzing {

using Source = std::mt19937_64;

inline size_t below(Source& source, size_t end) { return end == 0 ? 0 : source() % end; }

template <typename Items>
const auto& one_of(const Items& items, Source& source) {
    return std::data(items)[below(source, std::size(items))];
}

// Fewer than `end` pieces, one behind the other.
inline std::string some_of(const std::vector<std::string>& pieces, size_t end, Source& source) {
    std::string text;
    for (size_t count = below(source, end); count > 0; --count) text += one_of(pieces, source);
    return text;
}

// Changes a text in one to three places: another byte, cut short, something put in or left out.
inline void damage(std::string& text, const std::vector<std::string>& pieces, Source& source) {
    for (size_t times = 1 + below(source, 3); times > 0 && !text.empty(); --times) {
        const size_t at = below(source, text.size());
        switch (source() % 4) {
            case 0: text[at] = static_cast<char>(source()); break;
            case 1: text.resize(at); break;
            case 2: text.insert(at, one_of(pieces, source)); break;
            default: text.erase(at, below(source, 9)); break;
        }
    }
}

// The items in a heap block of exactly their size, so that reading past its end is seen.
template <typename Items>
auto exact_copy(const Items& items) {
    auto copy = std::make_unique<typename Items::value_type[]>(items.size());
    std::copy(items.begin(), items.end(), copy.get());
    return copy;
}

// What stands between the separators.
inline std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> pieces;
    for (size_t end; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + separator.size())) {
        pieces.push_back(text.substr(0, end));
    }
    pieces.push_back(text);
    return pieces;
}

[[noreturn]] inline void fail(const char* what, std::string_view input) {
    std::fprintf(stderr, "%s, for %zu bytes:", what, input.size());
    for (const char byte : input.substr(0, 2000)) std::fprintf(stderr, " %02x", static_cast<unsigned char>(byte));
    std::fprintf(stderr, "\n");
    std::abort();
}

// A run as the command line has it: SECONDS SEED, and files where the harness wants some.
class Run {
  public:
    Run(int count, char** arguments, bool wants_files = false) : files(arguments + std::min(count, 3), arguments + count) {
        uint64_t numbers[2] = {};
        bool right = count >= 3 && wants_files == !files.empty();
        for (int at = 1; right && at < 3; ++at) {
            char* end = nullptr;
            numbers[at - 1] = std::strtoull(arguments[at], &end, 10);
            right = end != arguments[at] && *end == '\0';
        }
        if (!right) {
            std::fprintf(stderr, "usage: %s SECONDS SEED%s\n", arguments[0], wants_files ? " FILE..." : "");
            std::exit(2);
        }
        end_ = std::chrono::steady_clock::now() + std::chrono::seconds(numbers[0]);
        source.seed(numbers[1]);
    }

    bool goes_on() const { return std::chrono::steady_clock::now() < end_; }

    Source source;
    const std::vector<std::string> files;

  private:
    std::chrono::steady_clock::time_point end_;
};

}  // namespace fuzzing

#endif  // CORPUSFMT_FUZZING_HPP
