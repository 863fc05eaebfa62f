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
#include "../_hashes.hpp"
#include "_labels.hpp"
#include "_model.hpp"
#include "_predictor.hpp"

namespace corpusfmt {

struct Classified {
    std::vector<int64_t> begins, ends;
    std::vector<int32_t> labels;
    std::vector<float> scores;
    uint64_t too_short = 0, not_utf8 = 0, unlabelled = 0;

    void add(size_t begin, size_t end, int32_t label, float score) {
        begins.push_back(static_cast<int64_t>(begin));
        ends.push_back(static_cast<int64_t>(end));
        labels.push_back(label);
        scores.push_back(score);
    }
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
        // Nobody can write a line that gets the answer of another one.
        static const SipHash secret{random_word(), random_word()};
        const uint64_t hash = secret.of(line)[0];
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

// The best guesses for each line, up to k; answers may be remembered of one guess without a threshold.
inline Classified classify(const Model& model, std::string_view buffer, uint64_t min_characters, Answers answers = {},
                           size_t k = 1, float threshold = 0.0f) {
    Predictor predictor(model);
    Classified result;
    for (size_t begin = 0, end; begin < buffer.size(); begin = end + 1) {
        end = std::min(buffer.find('\n', begin), buffer.size());
        const std::string_view line = buffer.substr(begin, end - begin);
        if (line.size() < min_characters) {  // a character takes at least a byte
            ++result.too_short;
            continue;
        }
        const uint64_t hash = answers.key_of(line);
        if (line.size() - continuations_in(line) < min_characters) {
            ++result.too_short;
            continue;
        }
        if (Answer answer; answers.find(hash, answer)) {
            result.add(begin, end, answer.label_number - 1, answer.score);
            continue;
        }
        const unsigned char largest = largest_in(line);
        if (largest >= 0x80 && !is_utf8(line)) {
            ++result.not_utf8;
            continue;
        }
        const std::vector<Guess>& guesses = predictor.guesses(line, largest, k, threshold);
        for (const Guess& guess : guesses) result.add(begin, end, guess.label, std::exp(guess.log_score));
        if (guesses.empty()) {
            ++result.unlabelled;
        } else {
            answers.keep({hash, guesses[0].label + 1, result.scores.back()});
        }
    }
    return result;
}

}  // namespace corpusfmt
