// Data that is changed by a function that Python calls, under its global lock, and by a thread of the program that does not take the lock.
// PACKAGES: python3-embed
// FLAGS: -I{here}/../e2e
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <thread>

#include "invisible.h"

static long calls;

static PyObject* Count(PyObject*, PyObject*) {
  ++calls;  // RACE(calls) CHAIN(calls): Count
  Arrive();
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"count", Count, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "host", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
static PyObject* MakeModule() { return PyModule_Create(&module); }

int main() {
  PyImport_AppendInittab("host", MakeModule);
  Py_Initialize();
  std::thread careless([] {
    Await(1);
    ++calls;  // RACE(calls) CHAIN(calls): lambda
  });
  PyRun_SimpleString("import host; host.count()");
  careless.join();
  Py_Finalize();
}
