// Scans of text that Python has no fast way for: how many lines, and is it UTF-8 in Normalisation Form C for certain?

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../_utf8.hpp"
#include "_nfc.hpp"

namespace corpusfmt {
namespace {

enum Kind : uint8_t { kUnknown, kLetter, kMark };

using Kinds = std::array<Kind, 0x10000>;

Kinds kinds_of_code_points() {
    Kinds kinds{};
    for (int point = 0; point < 0x80; ++point) kinds[point] = kLetter;
    for (const Range& range : kLetters) {
        for (uint32_t point = range.first; point <= range.last; ++point) kinds[point] = kLetter;
    }
    for (const Range& range : kMarks) {
        for (uint32_t point = range.first; point <= range.last; ++point) kinds[point] = kMark;
    }
    return kinds;
}

// The one mark in the table that composes, with these three letters.
constexpr bool composes(uint32_t letter, uint32_t mark) {
    return mark == 0x093C && (letter == 0x0928 || letter == 0x0930 || letter == 0x0933);
}

// Whether a text is UTF-8 and, as its code points show one by one, in NFC. False says nothing.
bool is_certainly_nfc(std::string_view text) {
    static const Kinds kinds = kinds_of_code_points();
    constexpr size_t kBlock = 64;  // most text is ASCII in stretches
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const unsigned char* const end = at + text.size();
    uint32_t before = 0;
    while (at < end) {
        if (*at < 0x80) {
            while (static_cast<size_t>(end - at) >= kBlock && is_ascii({reinterpret_cast<const char*>(at), kBlock})) {
                at += kBlock;
            }
            while (at < end && *at < 0x80) ++at;
            before = 0;  // no ASCII letter composes with a mark of the table
            continue;
        }
        uint32_t point = 0;
        if (*at < 0xE0) {
            if (*at < 0xC2 || end - at < 2 || !is_continuation(at[1])) return false;
            point = (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
            at += 2;
        } else {
            // Of the longer ones those of four bytes are left to Python, and the table knows no surrogates.
            if (*at > 0xEF || end - at < 3 || !is_continuation(at[1]) || !is_continuation(at[2])) return false;
            point = (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
            if (point < 0x800) return false;
            at += 3;
        }
        const Kind kind = kinds[point];
        if (kind != kLetter && (kind == kUnknown || kinds[before] == kMark || composes(before, point))) return false;
        before = point;
    }
    return true;
}

size_t count_lines(std::string_view data) {
    return count_marked(data, [](uint64_t bytes) {
        constexpr uint64_t kAllButTop = in_each_byte(0x7F);
        const uint64_t others = bytes ^ in_each_byte('\n');  // zero where the LFs are
        return ~(((others & kAllButTop) + kAllButTop) | others | kAllButTop) >> 7;
    });
}

// ---------------------------------------------------------------------------------------------------------------------
// The Python module

template <typename Scan>
PyObject* scanned(PyObject* bytes, Scan scan) {
    char* data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0) return nullptr;
    return scan(std::string_view(data, static_cast<size_t>(size)));
}

PyObject* is_certainly_nfc(PyObject*, PyObject* bytes) {
    return scanned(bytes, [](std::string_view text) { return PyBool_FromLong(is_certainly_nfc(text)); });
}

PyObject* count_lines(PyObject*, PyObject* bytes) {
    return scanned(bytes, [](std::string_view data) { return PyLong_FromSize_t(count_lines(data)); });
}

PyMethodDef kMethods[] = {
    {"is_certainly_nfc", is_certainly_nfc, METH_O,
     "is_certainly_nfc(data) -> whether data is UTF-8 in NFC; False says nothing."},
    {"count_lines", count_lines, METH_O, "count_lines(data) -> how many LFs there are."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot kSlots[] = {{0, nullptr}};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_native", "Scans of text, fast.", 0, kMethods, kSlots, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace corpusfmt

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&corpusfmt::kModule); }
