// The matrices of a model file, as numbers or as codes of a product quantiser, read as rows of floats.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "../_compiler.hpp"
#include "_reader.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace corpusfmt {

// Floats that begin on a cache line, in huge pages if available: a dense model's rows are read at random.
class FloatBlock {
  public:
    FloatBlock() = default;

    explicit FloatBlock(uint64_t count) {
        const uint64_t bytes = count * sizeof(float);
        constexpr size_t kHugePage = size_t{1} << 21;
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
inline void require_ordinary(const float* weights, uint64_t count) {
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
        require(parts_ == (dimension + part_width_ - 1) / part_width_ && last_width == dimension - (parts_ - 1) * part_width_,
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
        require(rows >= 0 && columns == dimension && code_bytes >= 0, "a matrix has another width than the header says");
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

}  // namespace corpusfmt
