// Fuzzes the classifier with damaged models and odd lines: `make fuzz-native-langid`.
//
// Every model is used whole and in damaged copies. A model must be refused or work: then the fast passes over every
// line must find what the step-by-step way finds, to the bit.

#define CORPUSFMT_WITHOUT_PYTHON
#include "../../src/corpusfmt/langid/_native.cpp"

#include "../fuzzing.hpp"

namespace {

using fuzzing::below;
using fuzzing::fail;
using fuzzing::one_of;
using fuzzing::Source;

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
        text += one_of(kPieces, source);
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
            case 1: std::memcpy(&model[at], &one_of(kExtremes, source), 4); break;
            case 2: model.resize(model.size() - below(source, std::min<size_t>(model.size(), 64))); break;
            case 3: model.insert(at, below(source, 9), static_cast<char>(source())); break;
            default: model.erase(at, below(source, 9)); break;
        }
    }
    return model;
}

void exercise(const corpusfmt::Model& model, const std::string& random, Source& source) {
    const auto copy = fuzzing::exact_copy(random);
    const std::string_view text(copy.get(), random.size());
    const size_t least = below(source, 4);
    const corpusfmt::Classified found = corpusfmt::classify(model, text, least);
    const std::string zeros(sizeof(corpusfmt::Answer) << below(source, 8), '\0');
    const auto memory = fuzzing::exact_copy(zeros);
    for (int times = 0; times < 2; ++times) {
        const corpusfmt::Classified again = corpusfmt::classify(model, text, least, {memory.get(), zeros.size()});
        if (again.begins != found.begins || again.labels != found.labels || again.scores != found.scores) {
            fail("another answer from memory", text);
        }
    }
    corpusfmt::Predictor slow(model);
    for (size_t at = 0; at < found.begins.size(); ++at) {
        const auto begin = static_cast<size_t>(found.begins[at]);
        const std::string_view line = text.substr(begin, static_cast<size_t>(found.ends[at]) - begin);
        const auto& guesses = slow.best_step_by_step(line);
        if (guesses.empty() || guesses[0].label != found.labels[at]) fail("another label", line);
        if (std::exp(guesses[0].log_score) != found.scores[at]) fail("another score", line);
        corpusfmt::classify(model, line, 0, {}, 1 + below(source, 5), 0.1f);
    }
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

struct Harness {
    static constexpr bool kWantsFiles = true;
    std::vector<std::string> files;  // models
    size_t whole = 0, damaged_models = 0, damaged_accepted = 0;

    std::string input(Source& source) { return one_of(files, source); }

    void take(std::string_view bytes, Source& source) {
        if (const auto model = accepted(std::string(bytes))) exercise(*model, random_text(source), source);
    }

    void round(Source& source) {
        if (files.empty()) return;
        const std::string& bytes = one_of(files, source);
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

    void summarise() const {
        std::printf("%zu rounds with whole models, %zu damaged models of which %zu were accepted: nothing found\n", whole,
                    damaged_models, damaged_accepted);
    }
};

}  // namespace

FUZZES(Harness)
