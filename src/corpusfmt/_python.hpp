// Access to Python objects, shared by the native kernels.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <memory>
#include <new>
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
        if (view.obj) PyBuffer_Release(&view);
    }

    bool open(PyObject* object, int flags = PyBUF_SIMPLE) { return PyObject_GetBuffer(object, &view, flags) == 0; }

    template <typename Item = char>
    Item* items() const { return static_cast<Item*>(view.buf); }
    template <typename Item = char>
    size_t size() const { return static_cast<size_t>(view.len) / sizeof(Item); }
    std::string_view bytes() const { return {items(), size()}; }

    Py_buffer view{};
};

// The interpreter lock is not held while this exists: to the end of a full expression, if it has no name.
struct Unlocked {
    Unlocked() = default;
    Unlocked(const Unlocked&) = delete;
    ~Unlocked() { PyEval_RestoreThread(state); }

    PyThreadState* const state = PyEval_SaveThread();
};

struct Locked {
    explicit Locked(const Unlocked& outer) { PyEval_RestoreThread(outer.state); }
    ~Locked() { PyEval_SaveThread(); }
};

template <typename Items>
PyObject* as_bytes(const Items& items) {
    const auto size = static_cast<Py_ssize_t>(items.size() * sizeof(typename Items::value_type));
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(items.data()), size);
}

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

// A function for Python that may run out of memory.
template <PyObject* (*function)(PyObject*, PyObject*)>
PyObject* guarded(PyObject* self, PyObject* arguments) try {
    return function(self, arguments);
} catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
}

#ifdef Py_GIL_DISABLED  // kernels share nothing that they change
inline const PyModuleDef_Slot kThreads = {Py_mod_gil, Py_MOD_GIL_NOT_USED};
#else
inline const PyModuleDef_Slot kThreads = {0, nullptr};
#endif
inline PyModuleDef_Slot kNoSlots[] = {kThreads, {0, nullptr}};

// The definition of a kernel: a module named `_native`.
inline PyModuleDef kernel_of(const char* doc, PyMethodDef* methods, PyModuleDef_Slot* slots = kNoSlots) {
    return {PyModuleDef_HEAD_INIT, "_native", doc, 0, methods, slots, nullptr, nullptr, nullptr};
}

}  // namespace corpusfmt
