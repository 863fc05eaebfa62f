// Reads the bytes of a model file in order, and its header; rejects files that are not fastText models, and unsupported models.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../_compiler.hpp"

namespace corpusfmt {

struct MalformedModel : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct UnsupportedModel : std::runtime_error {
    using std::runtime_error::runtime_error;
};

CORPUSFMT_ONCE inline void require(bool condition, const char* reason) {
    if (!condition) throw MalformedModel(reason);
}

// Reads the bytes of a model file in order and rejects reads past its end.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    template <typename T>
    T number() {
        T value;
        const std::string_view bytes = block(sizeof(T), 1);
        std::memcpy(&value, bytes.data(), sizeof(T));
        return value;
    }

    bool flag() {
        const auto value = number<uint8_t>();
        require(value <= 1, "a yes/no field holds neither 0 nor 1");
        return value == 1;
    }

    std::string_view block(uint64_t count, uint64_t item_size) {
        require(count <= rest_.size() / item_size, "the file is shorter than its header says");
        const std::string_view bytes = rest_.substr(0, static_cast<size_t>(count * item_size));
        rest_.remove_prefix(bytes.size());
        return bytes;
    }

    std::string_view zero_terminated() {
        const size_t length = rest_.find('\0');
        require(length != std::string_view::npos, "the file ends inside its dictionary");
        const std::string_view text = rest_.substr(0, length);
        rest_.remove_prefix(length + 1);
        return text;
    }

    size_t left() const { return rest_.size(); }

  private:
    std::string_view rest_;
};

// As in the file. Those that are not read here matter in training only.
struct Arguments {
    int32_t dimension, window, epochs, least_count, negatives, word_ngrams, loss, kind, buckets, shortest_ngram, longest_ngram;
    int32_t rate_updates;
    double sampling_threshold;
};
static_assert(sizeof(Arguments) == 12 * sizeof(int32_t) + sizeof(double), "without gaps, like the file");

constexpr int32_t kMagic = 793712314;
constexpr int32_t kKindSupervised = 3;
constexpr int32_t kLossHierarchicalSoftmax = 1;
constexpr int32_t kLossSoftmax = 3;
constexpr int32_t kLongestNgramServed = 32;
constexpr int32_t kLargestDimension = 1 << 16;

CORPUSFMT_ONCE inline Arguments read_arguments(Reader& reader) {
    require(reader.left() >= 8 && reader.number<int32_t>() == kMagic, "it does not begin like a fastText model");
    const auto version = reader.number<int32_t>();
    if (version != 11 && version != 12) throw UnsupportedModel("file format version " + std::to_string(version) + "; 11 and 12 are known");
    auto arguments = reader.number<Arguments>();
    arguments.shortest_ngram = std::max(1, arguments.shortest_ngram);
    if (arguments.kind != kKindSupervised) throw UnsupportedModel("not a supervised model (a classifier)");
    if (version == 11) arguments.longest_ngram = 0;  // stock: old supervised models do not use character n-grams
    if (arguments.loss != kLossHierarchicalSoftmax && arguments.loss != kLossSoftmax) {
        throw UnsupportedModel("loss number " + std::to_string(arguments.loss) + "; hierarchical softmax (1) and softmax (3) are served");
    }
    if (arguments.word_ngrams > 1) throw UnsupportedModel("word n-grams (wordNgrams > 1)");
    if (arguments.longest_ngram > kLongestNgramServed) throw UnsupportedModel("character n-grams longer than 32");
    require(arguments.dimension >= 1 && arguments.dimension <= kLargestDimension, "impossible vector dimension");
    return arguments;
}

}  // namespace corpusfmt
