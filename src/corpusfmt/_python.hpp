// Access to Python objects, shared by the native kernels.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <memory>
#include <string_view>

namespace corpusfmt {

struct Release {
    void operator()(PyObject* object) const { Py_DECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Release>;

// The memory of an object, such as bytes or an array.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
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

inline PyObject* as_str(std::string_view text) {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
}

template <typename Items, typename Convert>
PyObject* as_list(const Items& items, Convert convert) {
    Owned list(PyList_New(static_cast<Py_ssize_t>(items.size())));
    Py_ssize_t at = 0;
    for (const auto& item : items) {
        PyObject* const converted = list ? convert(item) : nullptr;
        if (!converted || PyList_SetItem(list.get(), at++, converted) < 0) return nullptr;
    }
    return list.release();
}

inline PyModuleDef_Slot kNoSlots[] = {{0, nullptr}};

// The definition of a kernel: a module named `_native`.
inline PyModuleDef kernel_of(const char* doc, PyMethodDef* methods, PyModuleDef_Slot* slots = kNoSlots) {
    return {PyModuleDef_HEAD_INIT, "_native", doc, 0, methods, slots, nullptr, nullptr, nullptr};
}

}  // namespace corpusfmt
