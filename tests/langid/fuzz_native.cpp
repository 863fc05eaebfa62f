// Fuzzes the native kernel with damaged models and odd lines, to be compiled with sanitizers:
//
//   python tests/langid/fasttext_writer.py build/fuzz
//   c++ -std=c++17 -O1 -g -ffp-contract=off -fsanitize=address,undefined -fno-sanitize-recover=all
//       tests/langid/fuzz_native.cpp -o build/fuzz/fuzz_native                        (one line)
//   ASAN_OPTIONS=allocator_may_return_null=1 build/fuzz/fuzz_native SECONDS SEED build/fuzz/*.model
//
// Every model is used whole and in damaged copies. A model must be refused or work: then the fast passes over every
// line must find what the step-by-step way finds, to the bit.

#define CORPUSFMT_WITHOUT_PYTHON
#include "../../src/corpusfmt/langid/_native.cpp"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

namespace {

using Source = std::mt19937_64;

size_t below(Source& source, size_t end) { return end == 0 ? 0 : source() % end; }

const std::vector<std::string> kPieces = {
    "</s>", "</s", "__label__", "__label__en", "_", "<", ">", std::string(1, '\0'), "\t", "\r", "\v", "\f", " ", "  ",
    "\n", "\n", "the", "de", "a", "english", "\u00e9", "\u0438", "\u7684", "\u65e5\u672c", "\U0001F642", "\u00a0",
    "\u3000", "\u2028", "\u0085", "\ud7ff", "\ue000", "\U0010ffff", "stra\u00dfe", "\x80", "\xbf", "\xc0\xaf", "\xc2",
    "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xff",
};

std::string random_text(Source& source) {
    std::string text;
    const size_t pieces = below(source, 120);
    for (size_t at = 0; at < pieces; ++at) {
        text += kPieces[below(source, kPieces.size())];
        if (source() % 300 == 0) text.append(below(source, 2500), static_cast<char>('a' + source() % 2));
        if (source() % 300 == 0) text.append(below(source, 2500), ' ');
        if (source() % 300 == 0) {
            for (size_t times = below(source, 900); times > 0; --times) text += "\u6f22";
        }
        if (source() % 300 == 0) {
            for (size_t times = below(source, 900); times > 0; --times) text += "a ";  // as many words as can be
        }
        if (source() % 40 == 0) text += static_cast<char>(source());
    }
    return text;
}

std::string damaged(std::string model, Source& source) {
    constexpr int32_t kExtremes[] = {INT32_MIN, -1, 0, 1, 2, 255, 65536, 1 << 24, 1 << 28, INT32_MAX};
    for (size_t times = 1 + below(source, 4); times > 0 && model.size() > 4; --times) {
        const size_t reach = source() % 2 ? std::min<size_t>(model.size(), 400) : model.size();
        const size_t at = below(source, reach - 3);
        switch (source() % 5) {
            case 0: model[at] = static_cast<char>(source()); break;
            case 1: std::memcpy(&model[at], &kExtremes[below(source, std::size(kExtremes))], 4); break;
            case 2: model.resize(model.size() - below(source, std::min<size_t>(model.size(), 64))); break;
            case 3: model.insert(at, below(source, 9), static_cast<char>(source())); break;
            default: model.erase(at, below(source, 9)); break;
        }
    }
    return model;
}

void fail(const char* what, std::string_view line) {
    std::fprintf(stderr, "%s on a line of %zu bytes:", what, line.size());
    for (const char byte : line.substr(0, 400)) std::fprintf(stderr, " %02x", static_cast<unsigned char>(byte));
    std::fprintf(stderr, "\n");
    std::abort();
}

void exercise(const corpusfmt::Model& model, const std::string& heap_text, Source& source) {
    // An exact-size copy, so that reading past its end is seen.
    const auto copy = std::make_unique<char[]>(heap_text.size());
    std::copy(heap_text.begin(), heap_text.end(), copy.get());
    const std::string_view text(copy.get(), heap_text.size());
    const corpusfmt::Classified found = corpusfmt::classify(model, text, below(source, 4));
    corpusfmt::Predictor slow(model);
    for (size_t at = 0; at < found.begins.size(); ++at) {
        const auto begin = static_cast<size_t>(found.begins[at]);
        const std::string_view line = text.substr(begin, static_cast<size_t>(found.ends[at]) - begin);
        const auto& guesses = slow.best_step_by_step(line);
        if (guesses.empty() || guesses[0].label != found.labels[at]) fail("another label", line);
        if (std::exp(guesses[0].log_score) != found.scores[at]) fail("another score", line);
        corpusfmt::predict(model, {line}, 1 + below(source, 5), 0.1f);
    }
}

std::string contents(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::unique_ptr<corpusfmt::Model> accepted(const std::string& bytes) {
    try {
        return std::make_unique<corpusfmt::Model>(bytes);
    } catch (const std::runtime_error&) {
        return nullptr;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 4) {
        std::fprintf(stderr, "usage: fuzz_native SECONDS SEED MODEL...\n");
        return 2;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(arguments[1]));
    Source source(std::strtoull(arguments[2], nullptr, 10));
    std::vector<std::string> models;
    for (int at = 3; at < count; ++at) models.push_back(contents(arguments[at]));
    size_t whole = 0, damaged_models = 0, damaged_accepted = 0;
    while (std::chrono::steady_clock::now() < end) {
        const std::string& bytes = models[below(source, models.size())];
        if (const auto model = accepted(bytes)) {
            ++whole;
            for (int times = 0; times < 20; ++times) exercise(*model, random_text(source), source);
        }
        for (int times = 0; times < 10; ++times) {
            ++damaged_models;
            if (const auto model = accepted(damaged(bytes, source))) {
                ++damaged_accepted;
                exercise(*model, random_text(source), source);
            }
        }
    }
    std::printf("%zu rounds with whole models, %zu damaged models of which %zu were accepted: nothing found\n", whole,
                damaged_models, damaged_accepted);
}
