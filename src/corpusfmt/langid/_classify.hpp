// Labels and scores for a buffer or for lines, with a cache for lines that recur.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "../_compiler.hpp"
#include "../_utf8.hpp"
#include "../_xxh64.hpp"
#include "_labels.hpp"
#include "_model.hpp"
#include "_predictor.hpp"

namespace corpusfmt {

struct Classified {
    std::vector<int64_t> begins, ends;
    std::vector<int32_t> labels;
    std::vector<float> scores;
    uint64_t too_short = 0, not_utf8 = 0, unlabelled = 0;
};

struct Answer {
    uint64_t hash;         // of the line
    int32_t label_number;  // from 1; 0 for an empty entry
    float score;
};
static_assert(sizeof(Answer) == 16, "answers lie side by side in memory of a power of two of bytes");

// A cache of answers, indexed by the hash of the line; a later line overwrites an earlier one. It is in the caller's memory,
// which starts as zeros and is specific to one model. Without memory nothing is cached.
class Answers {
  public:
    Answers() = default;
    Answers(char* memory, size_t size) : memory_(memory), mask_(size / sizeof(Answer) - 1) {}

    static bool fit(size_t size) { return size >= sizeof(Answer) && (size & (size - 1)) == 0; }

    // Prefetches the entry of a line that will be looked up soon; returns its hash.
    uint64_t key_of(std::string_view line) const {
        if (!memory_) return 0;
        const uint64_t hash = Xxh64::of(line);
        CORPUSFMT_PREFETCH(place_of(hash));
        return hash;
    }

    bool find(uint64_t hash, Answer& answer) const {
        if (!memory_) return false;
        std::memcpy(&answer, place_of(hash), sizeof answer);
        return answer.hash == hash && answer.label_number > 0;
    }

    void keep(const Answer& answer) {
        if (memory_) std::memcpy(place_of(answer.hash), &answer, sizeof answer);
    }

  private:
    char* place_of(uint64_t hash) const { return memory_ + (hash & mask_) * sizeof(Answer); }

    char* memory_ = nullptr;
    uint64_t mask_ = 0;
};

inline Classified classify(const Model& model, std::string_view buffer, uint64_t min_characters, Answers answers = {}) {
    Predictor predictor(model);
    Classified result;
    size_t begin = 0;
    while (begin < buffer.size()) {
        const size_t end = std::min(buffer.find('\n', begin), buffer.size());
        const std::string_view line = buffer.substr(begin, end - begin);
        const size_t line_begin = begin;
        begin = end + 1;
        if (line.size() < min_characters) {  // a character takes at least a byte
            ++result.too_short;
            continue;
        }
        Answer answer{answers.key_of(line), 0, 0.0f};
        if (line.size() - continuations_in(line) < min_characters) {
            ++result.too_short;
            continue;
        }
        if (const uint64_t hash = answer.hash; !answers.find(hash, answer)) {
            const unsigned char largest = largest_in(line);
            if (largest >= 0x80 && !Utf8Automaton::accepts(line)) {
                ++result.not_utf8;
                continue;
            }
            const std::vector<Guess>& guesses = predictor.best(line, largest);
            if (guesses.empty()) {
                ++result.unlabelled;
                continue;
            }
            answer = {hash, guesses[0].label + 1, std::exp(guesses[0].log_score)};
            answers.keep(answer);
        }
        result.begins.push_back(static_cast<int64_t>(line_begin));
        result.ends.push_back(static_cast<int64_t>(end));
        result.labels.push_back(answer.label_number - 1);
        result.scores.push_back(answer.score);
    }
    return result;
}

struct Predicted {
    std::vector<int32_t> counts, labels;  // `counts`: guesses per line
    std::vector<float> scores;
};

inline Predicted predict(const Model& model, const std::vector<std::string_view>& lines, size_t k, float threshold) {
    Predictor predictor(model);
    Predicted result;
    const bool only_best = k == 1 && threshold == 0.0f;
    for (const std::string_view line : lines) {
        const unsigned char largest = largest_in(line);
        const std::vector<Guess>& guesses =
            only_best ? predictor.best(line, largest) : predictor.best_k(line, largest, k, threshold);
        result.counts.push_back(static_cast<int32_t>(guesses.size()));
        for (const Guess& guess : guesses) {
            result.labels.push_back(guess.label);
            result.scores.push_back(std::exp(guess.log_score));
        }
    }
    return result;
}

}  // namespace corpusfmt
