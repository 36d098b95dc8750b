// Python inside a program: threads of the program take its global lock by turns, threads of Python call functions of the program. The lock protects the
// program's data as well.
// NORACE
// PACKAGES: python3-embed
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <thread>
#include <vector>

static long calls;  // under the global lock

static PyObject* Count(PyObject*, PyObject*) { return PyLong_FromLong(++calls); }

static PyMethodDef methods[] = {{"count", Count, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "host", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
static PyObject* MakeModule() { return PyModule_Create(&module); }

struct Box {
  int value;
};
static void FreeBox(PyObject* capsule) { delete static_cast<Box*>(PyCapsule_GetPointer(capsule, "box")); }

static void Work() {
  for (int i = 0; i < 10; ++i) {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyRun_SimpleString("work(20)");
    ++calls;
    Py_BEGIN_ALLOW_THREADS;
    std::this_thread::yield();
    Py_END_ALLOW_THREADS;
    PyGILState_Release(state);
  }
}

int main() {
  PyImport_AppendInittab("host", MakeModule);
  Py_Initialize();
  PyRun_SimpleString(
      "import host, queue, threading\n"
      "def work(n):\n"
      "  for i in range(n): host.count()\n");
  PyThreadState* state = PyEval_SaveThread();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(Work);
  for (std::thread& thread : threads) thread.join();
  PyEval_RestoreThread(state);
  PyRun_SimpleString(
      "threads = [threading.Thread(target=work, args=(50,)) for _ in range(4)]\n"
      "for t in threads: t.start()\n"
      "for t in threads: t.join()\n");
  // An object of the program that a thread of Python drops.
  PyObject* capsule = PyCapsule_New(new Box{3}, "box", FreeBox);
  PyObject_SetAttrString(PyImport_AddModule("__main__"), "box", capsule);
  Py_DECREF(capsule);
  PyRun_SimpleString(
      "q = queue.Queue()\n"
      "def drop():\n"
      "  q.get()\n"
      "t = threading.Thread(target=drop)\n"
      "t.start()\n"
      "q.put(box)\n"
      "del box\n"
      "t.join()\n");
  const bool right = calls == 4 * 10 * 21 + 4 * 50;
  Py_Finalize();
  return right ? 0 : 1;
}
