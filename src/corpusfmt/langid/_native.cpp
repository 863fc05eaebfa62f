// Language identification with fastText's supervised models: the same labels and scores as the stock library, faster.
//
// A fastText classifier adds one row of a matrix for every word it knows and for every character n-gram of every word,
// divides by the number of rows, and walks a tree (hierarchical softmax) or multiplies by a matrix (softmax) to find
// the label. Stock fastText spends nearly all its time on finding which rows to add. Here a line goes through a few
// passes over plain arrays instead, each without a branch that depends on the text:
//
//   find the characters                    -> one array entry for each: its bytes, separators as "<" or ">"
//   hash all n-grams that start anywhere   -> one feature id per character and n-gram length, in stock order
//   find the words that the model knows    -> their feature ids before those of their n-grams
//   drop what the model does not hold      -> feature ids to add
//   add the rows, find the label
//
// The order of float operations is stock's, so the scores have the same bits as those of a stock build without fused
// multiply-add; compile with contraction switched off to keep it so. Words that fastText treats specially ("</s>",
// labels) and words longer than a chunk take `add_word_by_word`, which follows the stock program step by step.
//
// A model file is checked completely while it is read. After that no index needs checking: every row a feature id can
// name exists, and every weight is small enough that no sum can become infinite or NaN.
//
// Define CORPUSFMT_WITHOUT_PYTHON to compile the classifier alone, as the fuzzing harness does.

#ifndef CORPUSFMT_WITHOUT_PYTHON
#include "../_python.hpp"
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "../_prefetch.hpp"
#include "../_utf8.hpp"
#include "../_xxh64.hpp"

// Runs once for a model: small code rather than fast code.
#if defined(__GNUC__) || defined(__clang__)
#define CORPUSFMT_ONCE __attribute__((cold))
#else
#define CORPUSFMT_ONCE
#endif

// Compiled for several processors where the loader can choose: the oldest of x86-64 cannot multiply 32-bit numbers in
// vectors. None of the copies fuses multiplications with additions.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#define CORPUSFMT_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#elif defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define CORPUSFMT_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define CORPUSFMT_WIDE
#endif

namespace corpusfmt {

// ---------------------------------------------------------------------------------------------------------------------
// Errors

struct MalformedModel : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct UnsupportedModel : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void require(bool condition, const char* reason) {
    if (!condition) throw MalformedModel(reason);
}

// ---------------------------------------------------------------------------------------------------------------------
// Text

constexpr std::string_view kEndOfLine = "</s>";
constexpr std::string_view kLabelPrefix = "__label__";

// Without a branch: it is asked for many bytes at once.
constexpr bool is_separator(uint32_t byte) {
    return (byte == ' ') | (byte - '\t' <= uint32_t{'\r' - '\t'}) | (byte == 0);
}

constexpr std::array<bool, 256> kSeparator = [] {
    std::array<bool, 256> table{};
    for (uint32_t byte = 0; byte < 256; ++byte) table[byte] = is_separator(byte);
    return table;
}();

// All bits of a number that is negative if it is read as signed, otherwise none.
constexpr uint32_t all_if_negative(uint32_t number) {
    return 0 - (number >> 31);
}

constexpr uint32_t kHashStart = 2166136261u;
constexpr uint32_t kHashPrime = 16777619u;

// fastText hashes bytes as *signed* values; published models depend on it.
constexpr uint32_t signed_byte(uint32_t byte) {
    return byte | all_if_negative(byte << 24) << 8;
}

// A word in the form in which the vocabulary compares it.
struct Word {
    static constexpr size_t kCovered = 2 * sizeof(uint64_t);  // bytes that `head` and `tail` hold

    Word() = default;

    explicit Word(std::string_view word) : text(word) {
        const size_t length = std::min(text.size(), sizeof(head));
        std::memcpy(&head, text.data(), length);
        std::memcpy(&tail, text.data() + text.size() - length, length);
    }

    // The same for a word of one byte or more, amid memory that may be read eight bytes from its first and before its end.
    static Word amid(std::string_view text) {
        Word word;
        word.text = text;
        std::memcpy(&word.head, text.data(), sizeof(head));
        std::memcpy(&word.tail, text.data() + text.size() - sizeof(tail), sizeof(tail));
        const size_t foreign_bits = 8 * (sizeof(head) - std::min(text.size(), sizeof(head)));
        word.head = word.head << foreign_bits >> foreign_bits;
        word.tail >>= foreign_bits;
        return word;
    }

    uint32_t hash() const {
        constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
        uint64_t hash = head * kFactor + tail + text.size();
        for (size_t at = sizeof(head); at + sizeof(tail) < text.size(); at += sizeof(head)) {
            uint64_t inner;
            std::memcpy(&inner, text.data() + at, sizeof(inner));
            hash = (hash ^ hash >> 32 ^ inner) * kFactor;
        }
        return static_cast<uint32_t>((hash ^ hash >> 32) * kFactor >> 32);
    }

    uint64_t head = 0, tail = 0;  // the first and the last eight bytes; of shorter words the whole, twice
    std::string_view text;
};

// ---------------------------------------------------------------------------------------------------------------------
// The model file

// Hands out the bytes of a model file in order and refuses to go past its end.
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

struct Arguments {
    int32_t dimension, word_ngrams, loss, kind, buckets, shortest_ngram, longest_ngram;
};

constexpr int32_t kMagic = 793712314;
constexpr int32_t kKindSupervised = 3;
constexpr int32_t kLossHierarchicalSoftmax = 1;
constexpr int32_t kLossSoftmax = 3;
constexpr int32_t kLongestNgramServed = 32;
constexpr int32_t kLargestDimension = 1 << 16;
constexpr int32_t kMostEntries = 1 << 27;
constexpr int32_t kMostBuckets = 1 << 28;  // a pruned file can claim any number; real models have some millions

CORPUSFMT_ONCE Arguments read_arguments(Reader& reader) {
    require(reader.left() >= 8 && reader.number<int32_t>() == kMagic, "it does not begin like a fastText model");
    const auto version = reader.number<int32_t>();
    if (version != 11 && version != 12) {
        throw UnsupportedModel("file format version " + std::to_string(version) + "; 11 and 12 are known");
    }
    Arguments arguments{};
    arguments.dimension = reader.number<int32_t>();
    reader.block(4, sizeof(int32_t));  // window, epochs, least word count, negatives: matter in training only
    arguments.word_ngrams = reader.number<int32_t>();
    arguments.loss = reader.number<int32_t>();
    arguments.kind = reader.number<int32_t>();
    arguments.buckets = reader.number<int32_t>();
    arguments.shortest_ngram = std::max(1, reader.number<int32_t>());
    arguments.longest_ngram = reader.number<int32_t>();
    reader.block(1, sizeof(int32_t) + sizeof(double));  // learning rate updates, sampling threshold

    if (arguments.kind != kKindSupervised) throw UnsupportedModel("not a supervised model (a classifier)");
    if (version == 11) arguments.longest_ngram = 0;  // stock: old supervised models do not use character n-grams
    if (arguments.loss != kLossHierarchicalSoftmax && arguments.loss != kLossSoftmax) {
        throw UnsupportedModel("loss number " + std::to_string(arguments.loss) +
                               "; hierarchical softmax (1) and softmax (3) are served");
    }
    if (arguments.word_ngrams > 1) throw UnsupportedModel("word n-grams (wordNgrams > 1)");
    if (arguments.longest_ngram > kLongestNgramServed) throw UnsupportedModel("character n-grams longer than 32");
    require(arguments.dimension >= 1 && arguments.dimension <= kLargestDimension, "impossible vector dimension");
    return arguments;
}

// The words a model knows by name, and its labels: ids from 0, labels after the words.
class Vocabulary {
  public:
    Vocabulary() = default;

    CORPUSFMT_ONCE explicit Vocabulary(Reader& reader) {
        const auto size = reader.number<int32_t>();
        words_ = reader.number<int32_t>();
        const auto labels = reader.number<int32_t>();
        reader.number<int64_t>();  // tokens seen in training
        pruned_ = reader.number<int64_t>();
        require(words_ >= 0 && labels >= 1 && size >= 1 && int64_t{words_} + labels == size,
                "the dictionary's sizes contradict each other");
        require(static_cast<uint64_t>(size) <= reader.left() / kLeastEntry, "the file is shorter than its header says");
        if (size > kMostEntries) throw UnsupportedModel("more than 2^27 words and labels");
        prepare_tables(static_cast<size_t>(size));
        for (int32_t id = 0; id < size; ++id) read_entry(reader, id);
    }

    int32_t words() const { return words_; }
    int32_t labels() const { return static_cast<int32_t>(label_counts_.size()); }
    int64_t pruned() const { return pruned_; }  // n-grams kept by pruning; negative: not pruned
    const std::vector<int64_t>& label_counts() const { return label_counts_; }

    const std::string& label(int32_t index) const { return label_texts_[static_cast<size_t>(index)]; }

    // Rules out most words that are not in the vocabulary, and never one that is, nor "</s>".
    bool may_hold(uint32_t hash) const {
        const uint32_t bit = hash & filter_mask_;
        return (filter_[bit >> 5] >> (bit & 31)) & 1;
    }

    void prefetch(uint32_t hash) const { CORPUSFMT_PREFETCH(&slots_[hash & slot_mask_]); }

    // The id of a word or label, -1 for none; the hash is the word's.
    int32_t find(const Word& word, uint32_t hash) const { return slots_[find_slot(word, hash)].id; }

  private:
    static constexpr size_t kLeastEntry = 1 + sizeof(int64_t) + 1;  // terminator, count, type

    struct alignas(32) Slot {  // never across two cache lines
        uint64_t head = 0, tail = 0;
        uint32_t begin = 0, length = 0;  // in `text_`
        int32_t id = -1;
    };

    static uint32_t power_of_two_from(size_t least) {
        uint32_t result = 16;
        while (result < least) result *= 2;
        return result;
    }

    void prepare_tables(size_t entries) {
        constexpr size_t kLeastFilter = 1 << 16;
        const uint32_t slots = power_of_two_from(2 * entries);
        const uint32_t filter_bits = power_of_two_from(std::max(kLeastFilter, 8 * entries));
        slots_ = std::vector<Slot>(slots);
        slot_mask_ = slots - 1;
        filter_ = std::vector<uint32_t>(filter_bits / 32);
        filter_mask_ = filter_bits - 1;
        admit(Word(kEndOfLine).hash());
    }

    void admit(uint32_t hash) {
        const uint32_t bit = hash & filter_mask_;
        filter_[bit >> 5] |= 1u << (bit & 31);
    }

    // Where a word is, or the empty slot where it would be.
    size_t find_slot(const Word& word, uint32_t hash) const {
        size_t at = hash & slot_mask_;
        while (slots_[at].id >= 0 && !holds(slots_[at], word)) at = (at + 1) & slot_mask_;
        return at;
    }

    bool holds(const Slot& slot, const Word& word) const {
        return slot.head == word.head && slot.tail == word.tail && slot.length == word.text.size() &&
               (slot.length <= Word::kCovered || std::string_view(text_).substr(slot.begin, slot.length) == word.text);
    }

    CORPUSFMT_ONCE void read_entry(Reader& reader, int32_t id) {
        const std::string_view word = reader.zero_terminated();
        const auto count = reader.number<int64_t>();
        const bool is_label = reader.flag();
        require(is_label == (id >= words_), "the dictionary's words and labels are out of order");
        if (is_label) {
            label_counts_.push_back(count);
            label_texts_.emplace_back(word);
        }
        if (can_occur(word)) insert(Word(word), id);
    }

    static bool can_occur(std::string_view word) {
        return !word.empty() && std::none_of(word.begin(), word.end(), [](char byte) {
            return kSeparator[static_cast<unsigned char>(byte)];
        });
    }

    void insert(const Word& word, int32_t id) {
        require(text_.size() <= UINT32_MAX - word.text.size(), "the dictionary is beyond 4 GiB");
        const uint32_t hash = word.hash();
        // Of two equal entries the last one counts, as in stock.
        slots_[find_slot(word, hash)] = Slot{word.head, word.tail, static_cast<uint32_t>(text_.size()),
                                             static_cast<uint32_t>(word.text.size()), id};
        text_.append(word.text);
        admit(hash);
    }

    int32_t words_ = 0;
    int64_t pruned_ = -1;
    std::string text_;  // of all words, one after the other
    std::vector<int64_t> label_counts_;
    std::vector<std::string> label_texts_;
    std::vector<Slot> slots_;
    std::vector<uint32_t> filter_;
    uint32_t slot_mask_ = 0, filter_mask_ = 0;
};

// Floats that begin on a cache line, in huge pages where the system has them: a dense model's rows are read at random.
class FloatBlock {
  public:
    FloatBlock() = default;

    explicit FloatBlock(uint64_t count) {
        constexpr size_t kHugePage = size_t{1} << 21;
        const uint64_t bytes = count * sizeof(float);
        const size_t alignment = bytes >= 16 * kHugePage ? kHugePage : 64;
        if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
        memory_.reset(std::malloc(static_cast<size_t>(bytes) + alignment));
        if (!memory_) throw std::bad_alloc();
        const auto address = reinterpret_cast<uintptr_t>(memory_.get());
        data_ = reinterpret_cast<float*>((address + alignment - 1) / alignment * alignment);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (alignment == kHugePage) madvise(data_, static_cast<size_t>(bytes), MADV_HUGEPAGE);
#endif
    }

    float* data() const { return data_; }

  private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };

    std::unique_ptr<void, Free> memory_;
    float* data_ = nullptr;
};

// Bounds every weight so that no sum over a line can overflow: the passes over text then need no checks.
void require_ordinary(const float* weights, uint64_t count) {
    constexpr float kLargestWeight = 1e6f;
    bool ordinary = true;
    for (uint64_t at = 0; at < count; ++at) ordinary &= std::fabs(weights[at]) <= kLargestWeight;
    require(ordinary, "a weight is not a number, or is beyond a million");
}

class DenseMatrix {
  public:
    CORPUSFMT_ONCE DenseMatrix(Reader& reader, int32_t dimension) {
        const auto rows = reader.number<int64_t>();
        const auto columns = reader.number<int64_t>();
        require(rows >= 0 && columns == dimension, "a matrix has another width than the header says");
        rows_ = static_cast<uint64_t>(rows);
        row_bytes_ = sizeof(float) * static_cast<uint64_t>(dimension);
        weights_ = reader.block(rows_, row_bytes_);
    }

    uint64_t rows() const { return rows_; }

    void copy(uint64_t first, uint64_t count, float* target) const {
        std::memcpy(target, weights_.data() + first * row_bytes_, static_cast<size_t>(count * row_bytes_));
        require_ordinary(target, count * (row_bytes_ / sizeof(float)));
    }

  private:
    uint64_t rows_;
    uint64_t row_bytes_;
    std::string_view weights_;
};

// Vectors as codes: each part of a vector is one of 256 centroids.
class ProductQuantizer {
  public:
    CORPUSFMT_ONCE ProductQuantizer(Reader& reader, int32_t dimension) {
        const auto width = reader.number<int32_t>();
        parts_ = reader.number<int32_t>();
        part_width_ = reader.number<int32_t>();
        const auto last_width = reader.number<int32_t>();
        require(width == dimension && part_width_ >= 1 && part_width_ <= dimension, "impossible quantiser");
        require(parts_ == (dimension + part_width_ - 1) / part_width_ &&
                    last_width == dimension - (parts_ - 1) * part_width_,
                "the quantiser's parts do not make up a vector");
        last_width_ = last_width;
        centroids_ = std::vector<float>(size_t{256} * dimension);
        const std::string_view bytes = reader.block(centroids_.size(), sizeof(float));
        std::memcpy(centroids_.data(), bytes.data(), bytes.size());
    }

    uint64_t parts() const { return static_cast<uint64_t>(parts_); }

    void decode(const char* codes, float norm, float* target) const {
        for (int32_t part = 0; part < parts_; ++part) {
            const int32_t width = part == parts_ - 1 ? last_width_ : part_width_;
            const auto code = static_cast<unsigned char>(codes[part]);
            const float* centroid = &centroids_[size_t{256} * part * part_width_ + size_t{code} * width];
            for (int32_t at = 0; at < width; ++at) *target++ = norm * centroid[at];
        }
    }

  private:
    int32_t parts_, part_width_, last_width_;
    std::vector<float> centroids_;
};

class QuantizedMatrix {
  public:
    CORPUSFMT_ONCE QuantizedMatrix(Reader& reader, int32_t dimension) : dimension_(static_cast<uint64_t>(dimension)) {
        const bool has_norms = reader.flag();
        const auto rows = reader.number<int64_t>();
        const auto columns = reader.number<int64_t>();
        const auto code_bytes = reader.number<int32_t>();
        require(rows >= 0 && columns == dimension && code_bytes >= 0,
                "a matrix has another width than the header says");
        rows_ = static_cast<uint64_t>(rows);
        codes_ = reader.block(static_cast<uint64_t>(code_bytes), 1);
        vectors_ = std::make_unique<ProductQuantizer>(reader, dimension);
        require(rows_ <= codes_.size() && rows_ * vectors_->parts() == codes_.size(),
                "the matrix has another number of codes than of rows");
        if (has_norms) {
            norm_codes_ = reader.block(rows_, 1);
            norms_ = std::make_unique<ProductQuantizer>(reader, 1);
        }
    }

    uint64_t rows() const { return rows_; }

    void copy(uint64_t first, uint64_t count, float* target) const {
        float* const begin = target;
        for (uint64_t row = first; row < first + count; ++row) {
            float norm = 1.0f;
            if (norms_) norms_->decode(norm_codes_.data() + row, 1.0f, &norm);
            vectors_->decode(codes_.data() + row * vectors_->parts(), norm, target);
            target += dimension_;
        }
        require_ordinary(begin, count * dimension_);
    }

  private:
    uint64_t dimension_;
    uint64_t rows_;
    std::string_view codes_, norm_codes_;
    std::unique_ptr<ProductQuantizer> vectors_, norms_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Features: what a line is made of

// The remainder of a division by a number known at run time, by multiplication: vectorises without 64-bit division.
class Modulus {
  public:
    explicit Modulus(uint32_t divisor) : divisor_(divisor) {
        while ((divisor >> shift_) > 1) ++shift_;
        reciprocal_ = static_cast<uint32_t>(((uint64_t{1} << (32 + shift_)) - 1) / divisor);
    }

    uint32_t of(uint32_t value) const {
        const auto high = static_cast<uint32_t>((uint64_t{value} * reciprocal_) >> 32);
        const uint32_t remainder = value - (high >> shift_) * divisor_;
        return std::min(remainder, remainder - divisor_);  // at most one divisor too large
    }

    uint32_t operator()(uint32_t value) const { return value % divisor_; }

  private:
    uint32_t divisor_, reciprocal_ = 0, shift_ = 0;
};

using Feature = uint32_t;

// A set of features that numbers its members in ascending order. The bits alone are asked for every n-gram, so they lie
// by themselves and stay in the cache.
class NumberedSet {
  public:
    explicit NumberedSet(uint64_t features = 0) : bits_(static_cast<size_t>(features / 32 + 1)) {}

    void insert(Feature feature) { bits_[feature >> 5] |= 1u << (feature & 31); }

    // To be called when all members are in, before `number_of`. Returns how many they are.
    uint64_t number() {
        uint32_t count = 0;
        for (const uint32_t bits : bits_) {
            before_.push_back(count);
            count += count_of(bits);
        }
        return count;
    }

    bool holds(Feature feature) const { return (bits_[feature >> 5] >> (feature & 31)) & 1; }

    uint32_t number_of(Feature member) const {
        const uint32_t lower = (1u << (member & 31)) - 1;
        return before_[member >> 5] + count_of(bits_[member >> 5] & lower);
    }

  private:
    static uint32_t count_of(uint32_t bits) {
        bits -= (bits >> 1) & 0x55555555u;
        bits = (bits & 0x33333333u) + ((bits >> 2) & 0x33333333u);
        bits = (bits + (bits >> 4)) & 0x0F0F0F0Fu;
        return (bits * 0x01010101u) >> 24;
    }

    std::vector<uint32_t> bits_;
    std::vector<uint32_t> before_;  // members before each word of bits
};

// Feature ids: character n-grams by their bucket, then one id that stands for nothing, then the words. The rows of the
// input matrix are stored in this order; a pruned model has rows for the members of a set of features only.
class Features {
  public:
    Features() : modulus_(1) {}

    CORPUSFMT_ONCE Features(Reader& reader, const Arguments& arguments, const Vocabulary& vocabulary)
        : dimension_(static_cast<size_t>(arguments.dimension)), modulus_(1) {
        pruned_ = vocabulary.pruned() > 0;
        shortest_ = arguments.shortest_ngram;
        const bool has_ngrams = arguments.longest_ngram >= shortest_ && vocabulary.pruned() != 0;
        longest_ = has_ngrams ? arguments.longest_ngram : 0;
        if (has_ngrams) {
            require(arguments.buckets >= 1, "n-grams without buckets");
            if (arguments.buckets > kMostBuckets) throw UnsupportedModel("more than 2^28 buckets");
            nothing_ = static_cast<Feature>(arguments.buckets);
            modulus_ = Modulus(nothing_);
        }
        words_ = static_cast<uint64_t>(vocabulary.words());
        const std::string_view kept = reader.block(pruned_ ? static_cast<uint64_t>(vocabulary.pruned()) : 0, kKeptPair);
        quantized_ = reader.flag();
        require(quantized_ || vocabulary.pruned() < 0, "a pruned dictionary with a matrix that is not quantised");
        if (pruned_) {
            read_pruned_rows(QuantizedMatrix(reader, arguments.dimension), kept);
        } else if (quantized_) {
            read_all_rows(QuantizedMatrix(reader, arguments.dimension));
        } else {
            read_all_rows(DenseMatrix(reader, arguments.dimension));
        }
    }

    bool quantized() const { return quantized_; }
    bool pruned() const { return pruned_; }
    size_t dimension() const { return dimension_; }
    int32_t shortest() const { return shortest_; }
    int32_t longest() const { return longest_; }  // 0: no n-grams
    const Modulus& modulus() const { return modulus_; }

    Feature nothing() const { return nothing_; }
    Feature word(int32_t id) const { return nothing_ + 1 + static_cast<Feature>(id); }
    Feature ngram(uint32_t hash) const { return modulus_(hash); }

    template <bool Pruned>
    bool holds(Feature feature) const {
        if constexpr (Pruned) return held_.holds(feature);
        return feature != nothing_;
    }

    // The row of a feature that a pruned model holds; of other models it is the feature itself.
    Feature row(Feature feature) const { return held_.number_of(feature); }

    const float* rows() const { return rows_.data(); }

  private:
    static constexpr uint64_t kKeptPair = 2 * sizeof(int32_t);

    template <typename Matrix>
    void read_all_rows(const Matrix& matrix) {
        require(matrix.rows() >= words_ + nothing_, "the input matrix has fewer rows than words and buckets");
        const uint64_t features = nothing_ + 1 + words_;
        rows_ = FloatBlock(features * dimension_);
        matrix.copy(words_, nothing_, rows_.data());
        matrix.copy(0, words_, rows_.data() + (uint64_t{nothing_} + 1) * dimension_);
    }

    CORPUSFMT_ONCE void read_pruned_rows(const QuantizedMatrix& matrix, std::string_view kept) {
        require(matrix.rows() >= words_, "the input matrix has fewer rows than words");
        const auto for_each_ngram = [&](auto treat) {
            for (size_t at = 0; at < kept.size(); at += kKeptPair) {
                int32_t pair[2];
                std::memcpy(pair, kept.data() + at, kKeptPair);
                require(pair[0] >= 0 && pair[1] >= 0 && words_ + pair[1] < matrix.rows(),
                        "the dictionary keeps an n-gram that has no row");
                const auto feature = static_cast<Feature>(pair[0]);
                if (feature < nothing_) treat(feature, words_ + pair[1]);
            }
        };
        held_ = NumberedSet(nothing_ + 1 + words_);
        for_each_ngram([&](Feature feature, uint64_t) { held_.insert(feature); });
        for (uint64_t id = 0; id < words_; ++id) held_.insert(word(static_cast<int32_t>(id)));
        rows_ = FloatBlock(held_.number() * dimension_);
        const auto target = [&](Feature feature) { return rows_.data() + row(feature) * dimension_; };
        // Of rows for the same feature the last one counts, as in stock.
        for_each_ngram([&](Feature feature, uint64_t source) { matrix.copy(source, 1, target(feature)); });
        matrix.copy(0, words_, target(word(0)));
    }

    size_t dimension_ = 0;
    uint64_t words_ = 0;
    int32_t shortest_ = 1;
    int32_t longest_ = 0;
    bool pruned_ = false;
    bool quantized_ = false;
    Feature nothing_ = 0;
    Modulus modulus_;
    FloatBlock rows_;
    NumberedSet held_;  // of a pruned model
};

// ---------------------------------------------------------------------------------------------------------------------
// Labels: from a line's vector to its best labels

struct Guess {
    float log_score;
    int32_t label;
};

constexpr auto kBetter = [](const Guess& left, const Guess& right) { return left.log_score > right.log_score; };

float stock_log(float value) { return static_cast<float>(std::log(value + 1e-5)); }

// The best k guesses so far, as stock keeps them: which of two equal ones stays depends on the heap operations.
class Best {
  public:
    Best(std::vector<Guess>& heap, size_t capacity) : heap_(heap), capacity_(capacity) { heap_.clear(); }

    bool beats(float log_score) const { return heap_.size() == capacity_ && log_score < heap_.front().log_score; }

    void add(Guess guess) {
        heap_.push_back(guess);
        std::push_heap(heap_.begin(), heap_.end(), kBetter);
        if (heap_.size() > capacity_) {
            std::pop_heap(heap_.begin(), heap_.end(), kBetter);
            heap_.pop_back();
        }
    }

    void sort() { std::sort_heap(heap_.begin(), heap_.end(), kBetter); }

  private:
    std::vector<Guess>& heap_;
    size_t capacity_;
};

struct Branch {
    int32_t node;
    float score;
};

struct LabelScratch {
    std::vector<Branch> branches;
    std::vector<float> values;
    std::vector<Guess> guesses;  // the answer, best first
};

class Labels {
  public:
    virtual ~Labels() = default;
    virtual void find(const float* hidden, size_t k, float threshold, LabelScratch& scratch) const = 0;
    // As `find` with k = 1 and threshold 0.
    virtual void find_best(const float* hidden, LabelScratch& scratch) const = 0;

  protected:
    CORPUSFMT_ONCE Labels(Reader& reader, int32_t dimension, int32_t labels)
        : dimension_(static_cast<size_t>(dimension)), labels_(labels) {
        const bool quantized_output = reader.flag();
        if (quantized_output) throw UnsupportedModel("a quantised output matrix (-qout)");
        const DenseMatrix matrix(reader, dimension);
        require(matrix.rows() == static_cast<uint64_t>(labels), "the output matrix has another size than the labels");
        require(reader.left() == 0, "bytes follow the end of the model");
        weights_ = std::vector<float>(dimension_ * static_cast<size_t>(labels));
        matrix.copy(0, matrix.rows(), weights_.data());
    }

    size_t dimension_;
    int32_t labels_;
    std::vector<float> weights_;
};

class HierarchicalSoftmax final : public Labels {
  public:
    CORPUSFMT_ONCE HierarchicalSoftmax(Reader& reader, int32_t dimension, const std::vector<int64_t>& counts)
        : Labels(reader, dimension, static_cast<int32_t>(counts.size())) {
        build_tree(counts);
    }

    // Stock's depth-first search, with a stack of its own: a hostile dictionary can make the tree a list.
    void find(const float* hidden, size_t k, float threshold, LabelScratch& scratch) const override {
        Best best(scratch.guesses, k);
        const float least = stock_log(threshold);
        std::vector<Branch>& open = scratch.branches;
        open.assign(1, Branch{root(), 0.0f});
        while (!open.empty()) {
            const Branch branch = open.back();
            open.pop_back();
            if (branch.score < least || best.beats(branch.score)) continue;
            if (branch.node < labels_) {
                best.add(Guess{branch.score, branch.node});
                continue;
            }
            const float right = probability_of_right(hidden, branch.node);
            const Node& node = nodes_[branch.node];
            open.push_back(Branch{node.right, branch.score + stock_log(right)});
            open.push_back(Branch{node.left, branch.score + stock_log(static_cast<float>(1.0 - right))});
        }
        best.sort();
    }

    // The likelier child first, products instead of logarithms. If a second label comes within 0.2 % of the best, or
    // the best is so improbable that stock's pruning may have hidden it, stock's own search decides.
    void find_best(const float* hidden, LabelScratch& scratch) const override {
        constexpr float kClose = 0.998f;
        constexpr float kPruned = 1.01e-5f;
        float best = 0.0f;
        int32_t label = -1;
        bool certain = depth_ <= kDepthTrusted;
        scratch.values.resize(nodes_.size());
        std::vector<Branch>& open = scratch.branches;
        open.assign(1, Branch{root(), 1.0f});
        while (certain && !open.empty()) {
            Branch branch = open.back();
            open.pop_back();
            if (branch.score < best * kClose) continue;
            while (branch.node >= labels_) {
                const float right = probability_of_right(hidden, branch.node);
                scratch.values[branch.node] = right;
                const Node& node = nodes_[branch.node];
                const Branch to_left{node.left, branch.score * (1.0f - right + 1e-5f)};
                const Branch to_right{node.right, branch.score * (right + 1e-5f)};
                const bool go_right = to_right.score > to_left.score;
                open.push_back(go_right ? to_left : to_right);
                branch = go_right ? to_right : to_left;
            }
            const float lesser = std::min(best, branch.score);
            if (branch.score > best) {
                best = branch.score;
                label = branch.node;
            }
            certain = lesser < best * kClose;
        }
        if (!certain || best < kPruned) return find(hidden, 1, 0.0f, scratch);
        scratch.guesses.assign(1, Guess{stock_score(label, scratch.values), label});
    }

  private:
    // Each level can lift a score by 1e-5 above its parent's: this many stay well within `kClose`.
    static constexpr int32_t kDepthTrusted = 50;

    struct Node {
        int32_t left = -1, right = -1, parent = -1;
        int64_t count = kUnbuilt;
    };

    static constexpr int64_t kUnbuilt = 1000000000000000;  // stock's mark; real counts must stay below it

    int32_t root() const { return static_cast<int32_t>(nodes_.size()) - 1; }

    CORPUSFMT_ONCE void build_tree(const std::vector<int64_t>& counts) {
        int64_t total = 0;
        for (const int64_t count : counts) {
            require(count >= 0 && count < kUnbuilt && total < kUnbuilt - count, "impossible label counts");
            total += count;
        }
        nodes_ = std::vector<Node>(2 * counts.size() - 1);
        for (size_t leaf = 0; leaf < counts.size(); ++leaf) nodes_[leaf].count = counts[leaf];
        int32_t leaf = labels_ - 1;
        int32_t inner = labels_;
        for (int32_t parent = labels_; parent <= root(); ++parent) {
            const auto take_lightest = [&] {
                const bool is_leaf = leaf >= 0 && nodes_[leaf].count < nodes_[inner].count;
                const int32_t taken = is_leaf ? leaf-- : inner++;
                nodes_[taken].parent = parent;
                return taken;
            };
            nodes_[parent].left = take_lightest();
            nodes_[parent].right = take_lightest();
            nodes_[parent].count = nodes_[nodes_[parent].left].count + nodes_[nodes_[parent].right].count;
        }
        std::vector<int32_t> depths(nodes_.size());
        for (int32_t node = root() - 1; node >= 0; --node) {
            depths[node] = depths[nodes_[node].parent] + 1;
            depth_ = std::max(depth_, depths[node]);
        }
    }

    float probability_of_right(const float* hidden, int32_t node) const {
        const float* weights = &weights_[dimension_ * static_cast<size_t>(node - labels_)];
        float product = 0.0f;
        for (size_t at = 0; at < dimension_; ++at) product += weights[at] * hidden[at];
        return static_cast<float>(1.0 / (1.0f + std::exp(-product)));
    }

    float stock_score(int32_t label, const std::vector<float>& probabilities) const {
        std::array<float, kDepthTrusted> steps;
        size_t length = 0;
        for (int32_t child = label; nodes_[child].parent >= 0; child = nodes_[child].parent) {
            const int32_t parent = nodes_[child].parent;
            const float right = probabilities[parent];
            const bool is_right = nodes_[parent].right == child;
            steps[length++] = stock_log(is_right ? right : static_cast<float>(1.0 - right));
        }
        float score = 0.0f;
        while (length > 0) score += steps[--length];
        return score;
    }

    std::vector<Node> nodes_;  // leaves first, by label
    int32_t depth_ = 0;
};

class Softmax final : public Labels {
  public:
    CORPUSFMT_ONCE Softmax(Reader& reader, int32_t dimension, int32_t labels) : Labels(reader, dimension, labels) {
        columns_ = std::vector<float>(weights_.size());
        for (size_t label = 0; label < static_cast<size_t>(labels); ++label) {
            for (size_t at = 0; at < dimension_; ++at) columns_[at * labels + label] = weights_[label * dimension_ + at];
        }
    }

    void find(const float* hidden, size_t k, float threshold, LabelScratch& scratch) const override {
        compute_probabilities(hidden, scratch.values);
        Best best(scratch.guesses, k);
        for (int32_t label = 0; label < labels_; ++label) {
            const float value = scratch.values[label];
            if (value < threshold) continue;
            const float log_score = stock_log(value);
            if (!best.beats(log_score)) best.add(Guess{log_score, label});
        }
        best.sort();
    }

    void find_best(const float* hidden, LabelScratch& scratch) const override {
        constexpr float kClose = 0.999f;
        constexpr float kTellable = 1e-4f;  // above it two values further apart than `kClose` have different logarithms
        compute_probabilities(hidden, scratch.values);
        Best best(scratch.guesses, 1);
        const float largest = *std::max_element(scratch.values.begin(), scratch.values.end());
        const float least = largest > kTellable ? largest * kClose : 0.0f;
        for (int32_t label = 0; label < labels_; ++label) {
            const float value = scratch.values[label];
            if (value < least) continue;
            const float log_score = stock_log(value);
            if (!best.beats(log_score)) best.add(Guess{log_score, label});
        }
    }

  private:
    void compute_probabilities(const float* hidden, std::vector<float>& values) const {
        const auto labels = static_cast<size_t>(labels_);
        values.assign(labels, 0.0f);
        for (size_t at = 0; at < dimension_; ++at) {  // all labels side by side; each sum still in stock's order
            const float* column = &columns_[at * labels];
            const float factor = hidden[at];
            for (size_t label = 0; label < labels; ++label) values[label] += column[label] * factor;
        }
        const float largest = *std::max_element(values.begin(), values.end());
        float sum = 0.0f;
        for (float& value : values) {
            value = static_cast<float>(std::exp(static_cast<double>(value - largest)));
            sum += value;
        }
        for (float& value : values) value /= sum;
    }

    std::vector<float> columns_;
};

// ---------------------------------------------------------------------------------------------------------------------
// The model and its use

struct Model {
    CORPUSFMT_ONCE explicit Model(std::string_view bytes) {
        Reader reader(bytes);
        const Arguments arguments = read_arguments(reader);
        vocabulary = Vocabulary(reader);
        features = Features(reader, arguments, vocabulary);
        if (arguments.loss == kLossSoftmax) {
            labels = std::make_unique<Softmax>(reader, arguments.dimension, vocabulary.labels());
        } else {
            labels = std::make_unique<HierarchicalSoftmax>(reader, arguments.dimension, vocabulary.label_counts());
        }
        const Word word(kEndOfLine);
        const int32_t id = vocabulary.find(word, word.hash());
        has_end_of_line = id >= 0 && id < vocabulary.words();
        if (has_end_of_line) end_of_line = features.word(id);
    }

    Vocabulary vocabulary;
    Features features;
    std::unique_ptr<Labels> labels;
    bool has_end_of_line = false;
    Feature end_of_line = 0;
};

constexpr size_t kVector = 16;  // 32-bit numbers in the longest vector that a compiler may use

// Passes over arrays go on to the end of a vector: no loop is needed for the rest, which would take as much code again.
constexpr size_t whole_vectors(size_t count) { return (count + (kVector - 1)) & ~(kVector - 1); }

// Predicts line after line; owns all memory that changes, so threads share a model and keep a predictor each.
// Lines are valid UTF-8 without a line feed; the line feed that fastText wants at their end is understood.
class Predictor {
  public:
    explicit Predictor(const Model& model)
        : model_(model),
          features_(model.features),
          least_length_(features_.longest() == 0 ? kBreaking : features_.shortest()),
          most_length_(std::max(features_.longest(), kBreaking)),
          lengths_(static_cast<size_t>(most_length_ - least_length_ + 1)),
          text_(new char[kChunk + 2 * sizeof(uint64_t)]()),
          starts_(new uint32_t[kChunk + 1]),
          quads_(new uint32_t[kPlane]()),
          planes_(new uint32_t[4 * kPlane]()),
          separators_(new uint32_t[kPlane]()),
          found_(new Feature[lengths_ * kPlane]),
          kept_(new Feature[lengths_ * kPlane]),
          edges_(new uint32_t[kChunk + 2]),
          candidates_(new Candidate[kMostWords]),
          sum_(features_.dimension()) {}

    // The guesses are empty if the line holds nothing that the model knows.
    const std::vector<Guess>& best(std::string_view line, unsigned char largest_byte) {
        if (!add_line(line, largest_byte)) return none();
        model_.labels->find_best(sum_.data(), scratch_);
        return scratch_.guesses;
    }

    const std::vector<Guess>& best_k(std::string_view line, unsigned char largest_byte, size_t k, float threshold) {
        if (!add_line(line, largest_byte)) return none();
        model_.labels->find(sum_.data(), k, threshold, scratch_);
        return scratch_.guesses;
    }

    // For tests: the same as `best` without the fast passes and the fast search.
    const std::vector<Guess>& best_step_by_step(std::string_view line) {
        begin_line();
        add_word_by_word(line);
        if (!end_line()) return none();
        model_.labels->find(sum_.data(), 1, 0.0f, scratch_);
        return scratch_.guesses;
    }

  private:
    static constexpr size_t kChunk = 1024;  // bytes of text that the passes treat at a time
    static constexpr size_t kMostWords = kChunk / 2;
    // Two separators stand before the first character and one after the last.
    static constexpr size_t kFirst = 2;
    static constexpr size_t kPlane = whole_vectors(kFirst + kChunk + 1) + kLongestNgramServed;
    // An n-gram of this length or more that begins just before a separator is none.
    static constexpr int32_t kBreaking = 3;
    // Rows of a chunk are asked for when they are found, for they come from main memory; as they may not all fit in the
    // first cache, they are asked for again so many rows before they are added.
    static constexpr size_t kAhead = 24;

    // A word that the model may know.
    struct Candidate {
        uint32_t edge, hash;
    };

    const std::vector<Guess>& none() {
        scratch_.guesses.clear();
        return scratch_.guesses;
    }

    void begin_line() {
        std::fill(sum_.begin(), sum_.end(), 0.0f);
        rows_ = 0;
    }

    bool end_line() {
        if (model_.has_end_of_line) add(model_.end_of_line);
        if (rows_ == 0) return false;
        const auto factor = static_cast<float>(1.0 / static_cast<double>(rows_));
        for (float& value : sum_) value *= factor;
        return true;
    }

    bool add_line(std::string_view line, unsigned char largest_byte) {
        begin_line();
        while (!line.empty()) {
            const std::string_view chunk = line.substr(0, chunk_length(line));
            const bool is_one_long_word = chunk.size() > kChunk;
            if (is_one_long_word || !add_chunk(chunk, largest_byte)) {
                if (!add_word_by_word(chunk)) break;
            }
            line.remove_prefix(chunk.size());
        }
        return end_line();
    }

    // Up to `kChunk` bytes of whole words; more only for a single word that is longer.
    static size_t chunk_length(std::string_view line) {
        if (line.size() <= kChunk) return line.size();
        size_t end = kChunk;
        while (end > 0 && !kSeparator[static_cast<unsigned char>(line[end])]) --end;
        if (end > 0) return end;
        for (end = kChunk; end < line.size() && !kSeparator[static_cast<unsigned char>(line[end])];) ++end;
        return end;
    }

    // False, with nothing added, if the chunk holds a word that needs special treatment.
    bool add_chunk(std::string_view chunk, unsigned char largest_byte) {
        if (chunk.find(kLabelPrefix) != std::string_view::npos) return false;
        std::memcpy(text(), chunk.data(), chunk.size());
        const size_t width = largest_byte < 0x80 ? 1 : largest_byte < 0xE0 ? 2 : largest_byte < 0xF0 ? 3 : 4;
        find_characters(chunk.size(), width);
        fill_planes(width);
        hash_ngrams(width);
        if (!find_words()) return false;
        add_found();
        return true;
    }

    char* text() const { return text_.get() + sizeof(uint64_t); }

    Feature* found(int32_t length) { return found_.get() + size_t(length - least_length_) * kPlane; }

    // Where every character begins, and the four bytes from there on.
    void find_characters(size_t size, size_t width) {
        uint32_t* const starts = starts_.get();
        uint32_t* const quads = quads_.get() + kFirst;
        const char* const text = this->text();
        size_t count = 0;
        if (width == 1) {
            for (; count < size; ++count) {
                starts[count] = static_cast<uint32_t>(count);
                quads[count] = static_cast<unsigned char>(text[count]);
            }
        } else {
            for (size_t at = 0; at < size; ++at) {
                starts[count] = static_cast<uint32_t>(at);
                count += !is_continuation(static_cast<unsigned char>(text[at]));
            }
            for (size_t at = 0; at < count; ++at) std::memcpy(quads + at, text + starts[at], sizeof(uint32_t));
        }
        starts[count] = static_cast<uint32_t>(size);
        quads_[0] = quads_[1] = quads[count] = ' ';
        characters_ = count;
    }

    // Plane k holds the k-th byte of every character, zero where it has fewer; a separator is a ">", and has all bits in
    // `separators_`.
    CORPUSFMT_WIDE void fill_planes(size_t width) {
        static constexpr std::array<uint32_t, 4> kLeastLead{0, 0xC0, 0xE0, 0xF0};
        const uint32_t* const quads = quads_.get();
        uint32_t* const separators = separators_.get();
        const size_t end = whole_vectors(kFirst + characters_ + 1);
        for (size_t at = 0; at < end; ++at) {
            separators[at] = is_separator(quads[at] & 0xFF) ? ~uint32_t{0} : 0;
        }
        for (size_t k = 0; k < width; ++k) {
            uint32_t* const plane = planes_.get() + k * kPlane;
            const uint32_t least = kLeastLead[k];
            for (size_t at = 0; at < end; ++at) {
                plane[at] = (quads[at] & 0xFF) >= least ? signed_byte(quads[at] >> 8 * k & 0xFF) : 0;
            }
        }
        uint32_t* const leads = planes_.get();
        for (size_t at = 0; at < end; ++at) leads[at] = separators[at] ? '>' : leads[at];
    }

    // The n-grams that begin at every position. A separator is a ">" that ends a word and a "<" that begins one: an n-gram
    // with one inside, or a lone "<" or ">", is none.
    CORPUSFMT_WIDE void hash_ngrams(size_t width) {
        const uint32_t* const planes = planes_.get();
        const uint32_t* const separators = separators_.get();
        const Modulus modulus = features_.modulus();
        const Feature nothing = features_.nothing();  // larger than all n-grams
        const uint32_t prime = prime_;
        const int32_t longest = features_.longest();
        const size_t end = whole_vectors(kFirst + characters_);
        for (size_t begin = 0; begin < end; begin += kVector) {
            uint32_t hashes[kVector], broken[kVector];
            const uint32_t* const first = separators + begin;
            for (size_t at = 0; at < kVector; ++at) hashes[at] = kHashStart ^ (first[at] & ('<' ^ '>'));
            for (int32_t length = 1; length <= longest; ++length) {
                const uint32_t* const leads = planes + begin + length - 1;
                for (size_t at = 0; at < kVector; ++at) hashes[at] = (hashes[at] ^ leads[at]) * prime;
                for (size_t k = 1; k < width; ++k) {
                    const uint32_t* const bytes = leads + k * kPlane;
                    for (size_t at = 0; at < kVector; ++at) hashes[at] = add_byte(hashes[at], bytes[at], prime);
                }
                if (length == 1) {
                    for (size_t at = 0; at < kVector; ++at) broken[at] = first[at];
                } else if (length == 2) {
                    for (size_t at = 0; at < kVector; ++at) broken[at] = first[at] & first[at + 1];
                } else {
                    for (size_t at = 0; at < kVector; ++at) broken[at] |= first[at + length - 2];
                }
                if (length < least_length_) continue;
                Feature features[kVector];
                for (size_t at = 0; at < kVector; ++at) {
                    features[at] = std::max(modulus.of(hashes[at]), broken[at] & nothing);
                }
                std::memcpy(found(length) + begin, features, sizeof features);
            }
        }
        for (int32_t length = std::max(longest + 1, least_length_); length <= most_length_; ++length) {
            std::fill_n(found(length), end, nothing);
        }
    }

    // A byte after the first of a character, zero for none.
    static uint32_t add_byte(uint32_t hash, uint32_t byte, uint32_t prime) {
        const uint32_t longer = (hash ^ byte) * prime;
        return hash ^ ((hash ^ longer) & all_if_negative(byte));  // a choice that every compiler vectorises
    }

    // The positions where words begin and end, in turn. Returns how many they are.
    size_t find_edges() {
        uint32_t* const edges = edges_.get();
        const uint32_t* const separators = separators_.get();
        const size_t closing = kFirst + characters_;
        size_t count = 0;
        for (size_t at = kFirst; at <= closing; ++at) {
            edges[count] = static_cast<uint32_t>(at);
            count += (separators[at] ^ separators[at - 1]) & 1;
        }
        return count;
    }

    // A known word's own feature comes before those of its n-grams: it takes the place of the longest n-gram that
    // begins before the separator before the word, which is none.
    bool find_words() {
        const Vocabulary& vocabulary = model_.vocabulary;
        const uint32_t* const edges = edges_.get();
        const uint32_t* const starts = starts_.get();
        Candidate* const candidates = candidates_.get();
        const char* const text = this->text();
        const auto word_at = [=](size_t edge) {
            const uint32_t begin = starts[edges[edge] - kFirst], end = starts[edges[edge + 1] - kFirst];
            return Word::amid({text + begin, end - begin});
        };
        const size_t edge_count = find_edges();
        size_t count = 0;
        for (size_t edge = 0; edge < edge_count; edge += 2) {
            const uint32_t hash = word_at(edge).hash();
            candidates[count] = {static_cast<uint32_t>(edge), hash};
            count += vocabulary.may_hold(hash);
            vocabulary.prefetch(hash);
        }
        Feature* const out = found(most_length_);
        for (size_t at = 0; at < count; ++at) {
            const auto [edge, hash] = candidates[at];
            const Word word = word_at(edge);
            const int32_t id = vocabulary.find(word, hash);
            if (id >= vocabulary.words() || word.text == kEndOfLine) return false;
            if (id >= 0) out[edges[edge] - 2] = features_.word(id);
        }
        return true;
    }

    void add_found() {
        if (lengths_ == 3) return features_.pruned() ? add_held<true, 3>() : add_held<false, 3>();
        features_.pruned() ? add_held<true, 0>() : add_held<false, 0>();
    }

    template <bool Pruned, size_t Lengths>  // 0: known at run time only
    void add_held() {
        const size_t lengths = Lengths ? Lengths : lengths_;
        size_t kept = 0;
        const auto keep = [&](Feature feature) {
            kept_[kept] = feature;
            if constexpr (!Pruned) CORPUSFMT_PREFETCH(features_.rows() + size_t{feature} * features_.dimension());
            kept += features_.holds<Pruned>(feature);
        };
        const size_t end = kFirst + characters_;
        for (size_t at = 0; at < end; ++at) {
            if constexpr (Lengths == 3) {
                keep(found_[at]);
                keep(found_[kPlane + at]);
                keep(found_[2 * kPlane + at]);
            } else {
                for (size_t length = 0; length < lengths; ++length) keep(found_[length * kPlane + at]);
            }
        }
        if constexpr (Pruned) turn_into_rows(kept_.get(), kept);
        add_rows(kept_.get(), kept);
    }

    void add(Feature feature) {
        if (features_.pruned()) turn_into_rows(&feature, 1);
        add_rows(&feature, 1);
    }

    // The rows of features that a pruned model holds.
    CORPUSFMT_WIDE void turn_into_rows(Feature* features, size_t count) {
        for (size_t at = 0; at < count; ++at) {
            features[at] = features_.row(features[at]);
            CORPUSFMT_PREFETCH(features_.rows() + size_t{features[at]} * features_.dimension());
        }
    }

    void add_rows(const Feature* rows, size_t count) {
        rows_ += static_cast<int64_t>(count);
        if (features_.dimension() == 16) return add_rows_of_width_16(rows, count);
        add_rows_of_any_width(rows, count);
    }

    void add_rows_of_any_width(const Feature* rows, size_t count) {
        const size_t dimension = features_.dimension();
        for (size_t at = 0; at < count; ++at) {
            if (at + kAhead < count) CORPUSFMT_PREFETCH(features_.rows() + size_t{rows[at + kAhead]} * dimension);
            const float* const row = features_.rows() + size_t{rows[at]} * dimension;
            for (size_t column = 0; column < dimension; ++column) sum_[column] += row[column];
        }
    }

    // lid.176's width: the sum stays in registers.
    CORPUSFMT_WIDE void add_rows_of_width_16(const Feature* rows, size_t count) {
        struct Quarter {
            float values[4];
            void add(const float* row) {
                for (int at = 0; at < 4; ++at) values[at] += row[at];
            }
        };
        Quarter sum[4];
        std::memcpy(sum, sum_.data(), sizeof sum);
        const float* const matrix = features_.rows();
        for (size_t at = 0; at < count; ++at) {
            if (at + kAhead < count) CORPUSFMT_PREFETCH(matrix + size_t{rows[at + kAhead]} * 16);
            const float* const row = matrix + size_t{rows[at]} * 16;
            sum[0].add(row);
            sum[1].add(row + 4);
            sum[2].add(row + 8);
            sum[3].add(row + 12);
        }
        std::memcpy(sum_.data(), sum, sizeof sum);
    }

    // As stock does it: one word after the other, one n-gram after the other. False if "</s>" ended the line.
    bool add_word_by_word(std::string_view text) {
        while (!text.empty()) {
            size_t length = 0;
            while (length < text.size() && !kSeparator[static_cast<unsigned char>(text[length])]) ++length;
            const std::string_view word = text.substr(0, length);
            if (word == kEndOfLine) return false;
            if (!word.empty()) add_word(word);
            text.remove_prefix(std::min(length + 1, text.size()));
        }
        return true;
    }

    void add_word(std::string_view word) {
        const Word known(word);
        const int32_t id = model_.vocabulary.find(known, known.hash());
        const bool is_unknown_label = id < 0 && word.substr(0, kLabelPrefix.size()) == kLabelPrefix;
        if (id >= model_.vocabulary.words() || is_unknown_label) return;
        if (id >= 0) {
            add(features_.word(id));
        }
        for (size_t begin = 0; features_.longest() > 0 && begin < word.size() + 2; ++begin) {
            if (!is_continuation(delimited(word, begin))) add_ngrams_from(word, begin);
        }
    }

    // The word between "<" and ">", byte by byte.
    static unsigned char delimited(std::string_view word, size_t at) {
        if (at == 0) return '<';
        return at > word.size() ? '>' : static_cast<unsigned char>(word[at - 1]);
    }

    void add_ngrams_from(std::string_view word, size_t begin) {
        const size_t size = word.size() + 2;
        uint32_t hash = kHashStart;
        size_t end = begin;
        for (int32_t length = 1; end < size && length <= features_.longest(); ++length) {
            do {
                hash = (hash ^ signed_byte(delimited(word, end++))) * kHashPrime;
            } while (end < size && is_continuation(delimited(word, end)));
            const bool is_delimiter = length == 1 && (begin == 0 || end == size);
            if (length < features_.shortest() || is_delimiter) continue;
            const Feature feature = features_.ngram(hash);
            const bool held = features_.pruned() ? features_.holds<true>(feature) : features_.holds<false>(feature);
            if (held) add(feature);
        }
    }

    const Model& model_;
    const Features& features_;
    int32_t least_length_, most_length_;  // of n-grams that have a plane in `found_`
    size_t lengths_;
    // Not a constant where n-grams are hashed: compilers make twice as many vector operations of a constant factor.
    uint32_t prime_ = kHashPrime;
    std::unique_ptr<char[]> text_;        // the chunk, amid memory that may be read
    std::unique_ptr<uint32_t[]> starts_;  // of the characters, in bytes of the chunk
    size_t characters_ = 0;
    std::unique_ptr<uint32_t[]> quads_, planes_, separators_;
    std::unique_ptr<Feature[]> found_, kept_;
    std::unique_ptr<uint32_t[]> edges_;  // the positions where words begin and end, in turn
    std::unique_ptr<Candidate[]> candidates_;
    std::vector<float> sum_;
    int64_t rows_ = 0;
    LabelScratch scratch_;
};

struct Classified {
    std::vector<int64_t> begins, ends;
    std::vector<int32_t> labels;
    std::vector<float> scores;
    uint64_t too_short = 0, not_utf8 = 0, unlabelled = 0;
};

struct Answer {
    uint64_t hash;         // of the line
    int32_t label_number;  // from 1; 0 where there is no answer yet
    float score;
};
static_assert(sizeof(Answer) == 16, "answers lie side by side in memory of a power of two of bytes");

// Answers for lines, each at the place that the line's hash gives it until another line takes that: in the caller's memory,
// which begins as zeros and belongs to one model. Without memory nothing is remembered.
class Answers {
  public:
    Answers() = default;
    Answers(char* memory, size_t size) : memory_(memory), mask_(size / sizeof(Answer) - 1) {}

    static bool fit(size_t size) { return size >= sizeof(Answer) && (size & (size - 1)) == 0; }

    // The hash of a line whose answer will be asked for soon.
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

Classified classify(const Model& model, std::string_view buffer, uint64_t min_characters, Answers answers = {}) {
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
        const Census census = census_of(line);
        if (census.characters < min_characters) {
            ++result.too_short;
            continue;
        }
        if (const uint64_t hash = answer.hash; !answers.find(hash, answer)) {
            if (census.largest >= 0x80 && !Utf8Automaton::accepts(line)) {
                ++result.not_utf8;
                continue;
            }
            const std::vector<Guess>& guesses = predictor.best(line, census.largest);
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

Predicted predict(const Model& model, const std::vector<std::string_view>& lines, size_t k, float threshold) {
    Predictor predictor(model);
    Predicted result;
    const bool only_best = k == 1 && threshold == 0.0f;
    for (const std::string_view line : lines) {
        const unsigned char largest = census_of(line).largest;
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

// ---------------------------------------------------------------------------------------------------------------------
// The Python module

#ifndef CORPUSFMT_WITHOUT_PYTHON

namespace {

struct ModelObject {
    PyObject_HEAD
    corpusfmt::Model* model;
};

const corpusfmt::Model& model_of(PyObject* self) { return *reinterpret_cast<ModelObject*>(self)->model; }

using corpusfmt::Owned;

// Runs work without the interpreter lock and turns C++ exceptions into Python ones; false if one is set.
template <typename Work>
bool run_unlocked(Work work) {
    PyObject* type = nullptr;
    std::string message;
    PyThreadState* const state = PyEval_SaveThread();
    try {
        work();
    } catch (const corpusfmt::UnsupportedModel& error) {
        type = PyExc_NotImplementedError;
        message = error.what();
    } catch (const corpusfmt::MalformedModel& error) {
        type = PyExc_ValueError;
        message = error.what();
    } catch (const std::exception&) {  // what is left can only be a lack of memory
        type = PyExc_MemoryError;
        message = "out of memory";
    }
    PyEval_RestoreThread(state);
    if (type) PyErr_SetString(type, message.c_str());
    return type == nullptr;
}

class Buffer {
  public:
    ~Buffer() {
        if (open_) PyBuffer_Release(&view_);
    }

    bool open(PyObject* object, int flags = PyBUF_SIMPLE) {
        return open_ = PyObject_GetBuffer(object, &view_, flags) == 0;
    }

    char* data() const { return static_cast<char*>(view_.buf); }
    size_t size() const { return static_cast<size_t>(view_.len); }
    std::string_view bytes() const { return {data(), size()}; }

  private:
    Py_buffer view_{};
    bool open_ = false;
};

template <typename T>
PyObject* as_bytes(const std::vector<T>& values) {
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(values.data()),
                                     static_cast<Py_ssize_t>(values.size() * sizeof(T)));
}

CORPUSFMT_ONCE PyObject* model_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
    PyObject* data;
    static char data_name[] = "data";
    static char* names[] = {data_name, nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:Model", names, &data)) return nullptr;
    Buffer buffer;
    if (!buffer.open(data)) return nullptr;
    std::unique_ptr<corpusfmt::Model> model;
    if (!run_unlocked([&] { model = std::make_unique<corpusfmt::Model>(buffer.bytes()); })) return nullptr;
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* const self = allocate(type, 0);
    if (self) reinterpret_cast<ModelObject*>(self)->model = model.release();
    return self;
}

void model_dealloc(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    delete reinterpret_cast<ModelObject*>(self)->model;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

CORPUSFMT_ONCE PyObject* model_labels(PyObject* self, void*) {
    const corpusfmt::Vocabulary& vocabulary = model_of(self).vocabulary;
    Owned labels(PyTuple_New(vocabulary.labels()));
    for (int32_t label = 0; labels && label < vocabulary.labels(); ++label) {
        PyObject* const item = corpusfmt::as_str(vocabulary.label(label));
        if (!item || PyTuple_SetItem(labels.get(), label, item) < 0) return nullptr;
    }
    return labels.release();
}

PyObject* model_dimension(PyObject* self, void*) { return PyLong_FromSize_t(model_of(self).features.dimension()); }

PyObject* model_quantized(PyObject* self, void*) { return PyBool_FromLong(model_of(self).features.quantized()); }

PyObject* model_classify(PyObject* self, PyObject* arguments) {
    PyObject *data, *memory;
    Py_ssize_t min_characters;
    if (!PyArg_ParseTuple(arguments, "OnO:classify", &data, &min_characters, &memory)) return nullptr;
    if (min_characters < 0) {
        PyErr_SetString(PyExc_ValueError, "min_chars must not be negative");
        return nullptr;
    }
    Buffer buffer, remembered;
    if (!buffer.open(data)) return nullptr;
    corpusfmt::Answers answers;
    if (memory != Py_None) {
        if (!remembered.open(memory, PyBUF_WRITABLE)) return nullptr;
        if (!corpusfmt::Answers::fit(remembered.size())) {
            PyErr_SetString(PyExc_ValueError, "memory for answers must have a power of two of bytes, 16 or more");
            return nullptr;
        }
        answers = {remembered.data(), remembered.size()};
    }
    corpusfmt::Classified result;
    const auto work = [&] {
        result = corpusfmt::classify(model_of(self), buffer.bytes(), static_cast<uint64_t>(min_characters), answers);
    };
    if (!run_unlocked(work)) return nullptr;
    return Py_BuildValue("NNNNKKK", as_bytes(result.begins), as_bytes(result.ends), as_bytes(result.labels),
                         as_bytes(result.scores), static_cast<unsigned long long>(result.too_short),
                         static_cast<unsigned long long>(result.not_utf8),
                         static_cast<unsigned long long>(result.unlabelled));
}

// Views of the strings' own UTF-8; `strings` must outlive them. False, with an exception set, for what is no line.
bool collect_lines(PyObject* strings, std::vector<std::string_view>& lines) {
    const Py_ssize_t count = PyTuple_Size(strings);
    lines.reserve(static_cast<size_t>(count));
    for (Py_ssize_t at = 0; at < count; ++at) {
        Py_ssize_t size;
        const char* const text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(strings, at), &size);
        if (!text) return false;
        lines.emplace_back(text, static_cast<size_t>(size));
        if (lines.back().find('\n') != std::string_view::npos) {
            PyErr_Format(PyExc_ValueError, "line %zd holds a line feed", at);
            return false;
        }
    }
    return true;
}

PyObject* model_predict(PyObject* self, PyObject* arguments) {
    PyObject* sequence;
    Py_ssize_t k;
    double threshold;
    if (!PyArg_ParseTuple(arguments, "Ond:predict", &sequence, &k, &threshold)) return nullptr;
    if (k < 1) {
        PyErr_SetString(PyExc_ValueError, "k must be 1 or more");
        return nullptr;
    }
    const Owned strings(PySequence_Tuple(sequence));
    if (!strings) return nullptr;
    try {
        std::vector<std::string_view> lines;
        if (!collect_lines(strings.get(), lines)) return nullptr;
        corpusfmt::Predicted result;
        const auto work = [&] {
            result = corpusfmt::predict(model_of(self), lines, static_cast<size_t>(k), static_cast<float>(threshold));
        };
        if (!run_unlocked(work)) return nullptr;
        return Py_BuildValue("NNN", as_bytes(result.counts), as_bytes(result.labels), as_bytes(result.scores));
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyGetSetDef kModelAttributes[] = {
    {"dim", model_dimension, nullptr, "Length of the model's vectors.", nullptr},
    {"labels", model_labels, nullptr, "The labels as they stand in the file, in its order.", nullptr},
    {"quantized", model_quantized, nullptr, "Whether the input matrix is quantised (an .ftz file).", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kModelMethods[] = {
    {"classify", model_classify, METH_VARARGS,
     "classify(buffer, min_chars, memory) -> (begins: int64, ends: int64, labels: int32, scores: float32, short, invalid, "
     "unlabelled); the first four as bytes in native order, one item per kept line. `memory` is None, or a bytearray in "
     "which answers are remembered: at first zeros, a power of two of them, and in one thread's use."},
    {"predict", model_predict, METH_VARARGS,
     "predict(lines, k, threshold) -> (counts: int32, labels: int32, scores: float32) as bytes in native order; "
     "`counts` has one item per line, the others one per guess, best first."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kModelSlots[] = {
    {Py_tp_doc, const_cast<char*>("Model(data): a fastText classifier from the bytes of its file.\n\n"
                                  "ValueError: not a fastText model, or a damaged one.\n"
                                  "NotImplementedError: a kind of model that is not served.")},
    {Py_tp_new, reinterpret_cast<void*>(model_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(model_dealloc)},
    {Py_tp_getset, kModelAttributes},
    {Py_tp_methods, kModelMethods},
    {0, nullptr},
};

PyType_Spec kModelSpec = {"corpusfmt.langid._native.Model", sizeof(ModelObject), 0, Py_TPFLAGS_DEFAULT, kModelSlots};

int execute_module(PyObject* module) {
    const Owned type(PyType_FromSpec(&kModelSpec));
    return type ? PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) : -1;
}

PyModuleDef_Slot kModuleSlots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute_module)},
    {0, nullptr},
};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_native", "fastText classifiers, fast.", 0, nullptr, kModuleSlots, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&kModule); }

#endif  // CORPUSFMT_WITHOUT_PYTHON
