// What the harnesses share that fuzz native kernels: chance, blocks of exactly the size of an input, and two ways to run.
//
// A harness is a class with
//   void round(Source&)                    makes inputs by chance and checks what must hold of them;
//   void take(std::string_view, Source&)   checks the same of one input as it is;
//   std::string input(Source&)             an input such as `round` makes;
//   void summarise() const;
//   kWantsFiles, and `files`, the contents of those that the command line names.
// `FUZZES(Harness)` runs it for some time on chance alone, or, with CORPUSFMT_LIBFUZZER, on what libFuzzer comes up with.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace fuzzing {

// Where choices come from: a generator of random numbers, or bytes that somebody else has chosen.
class Source {
  public:
    explicit Source(uint64_t seed) : random_(seed) {}
    explicit Source(std::string_view choices) : is_chosen_(true), choices_(choices) {}

    uint64_t operator()() {
        if (!is_chosen_) return random_();
        if (choices_.size() < 2) return 1;  // for most choices zero stands for what is rare
        const auto byte = [&](size_t at) { return static_cast<uint64_t>(static_cast<unsigned char>(choices_[at])); };
        const uint64_t choice = byte(0) << 8 | byte(1);
        choices_.remove_prefix(2);
        return choice;
    }

  private:
    std::mt19937_64 random_;
    bool is_chosen_ = false;
    std::string_view choices_;
};

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

inline std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The first byte of what libFuzzer comes up with says what the rest is: choices, or an input behind the seed of a source.
constexpr char kChoices = 'c', kInput = 'i';

template <typename Harness>
void take(Harness& harness, std::string_view given) {
    if (given.empty()) return;
    const char kind = given[0];
    given.remove_prefix(1);
    if (kind == kChoices) {
        Source source(given);
        harness.round(source);
    } else if (kind == kInput && given.size() >= sizeof(uint64_t)) {
        uint64_t seed;
        std::memcpy(&seed, given.data(), sizeof(seed));
        Source source(seed);
        harness.take(given.substr(sizeof(seed)), source);
    }
}

// Writes what libFuzzer begins with.
template <typename Harness>
void write_seeds(Harness& harness, const std::string& folder, Source& source) {
    for (int number = 0; number < 200; ++number) {
        std::string seed(1, Harness::kWantsFiles || number % 2 ? kInput : kChoices);
        for (size_t bytes = seed[0] == kInput ? sizeof(uint64_t) : 2 * below(source, 1000); bytes > 0; --bytes) {
            seed += static_cast<char>(source());
        }
        if (seed[0] == kInput) seed += harness.input(source);
        std::ofstream(folder + "/seed-" + std::to_string(number), std::ios::binary) << seed;
    }
}

// A run as the command line has it: SECONDS SEED, or `seeds` FOLDER; and files where the harness wants some.
template <typename Harness>
int run(int count, char** arguments) {
    Harness harness;
    const std::vector<std::string> words(arguments + 1, arguments + count);
    const auto is_number = [](const std::string& word) {
        return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    };
    const bool wants_seeds = words.size() >= 2 && words[0] == "seeds";
    const bool is_right = words.size() >= 2 && (words.size() > 2) == Harness::kWantsFiles &&
                          (wants_seeds || (is_number(words[0]) && is_number(words[1])));
    if (!is_right) {
        const char* const files = Harness::kWantsFiles ? " FILE..." : "";
        std::fprintf(stderr, "usage: %s SECONDS SEED%s\n       %s seeds FOLDER%s\n", arguments[0], files, arguments[0], files);
        return 2;
    }
    for (size_t at = 2; at < words.size(); ++at) harness.files.push_back(contents(words[at]));
    Source source(wants_seeds ? 1 : std::stoull(words[1]));
    if (wants_seeds) {
        write_seeds(harness, words[1], source);
        return 0;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::stoull(words[0]));
    while (std::chrono::steady_clock::now() < end) harness.round(source);
    harness.summarise();
    return 0;
}

}  // namespace fuzzing

#ifdef CORPUSFMT_LIBFUZZER
#define FUZZES(Harness)                                                         \
    extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {   \
        static Harness harness;                                                 \
        fuzzing::take(harness, {reinterpret_cast<const char*>(data), size});    \
        return 0;                                                               \
    }
#else
#define FUZZES(Harness) \
    int main(int count, char** arguments) { return fuzzing::run<Harness>(count, arguments); }
#endif
