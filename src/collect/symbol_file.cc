#include "collect/symbol_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "collect/dwarf_locals.h"

namespace redflag {
namespace {

FileIdentity IdentityFrom(const struct stat& status) {
  return {.exists = true,
          .device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .modified = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

const Dwfl_Callbacks& Callbacks() {
  static const Dwfl_Callbacks kCallbacks = [] {
    unsetenv("DEBUGINFOD_URLS");  // a report must not wait for a server
    Dwfl_Callbacks made{};
    made.find_elf = dwfl_build_id_find_elf;
    made.find_debuginfo = dwfl_standard_find_debuginfo;
    return made;
  }();
  return kCallbacks;
}

// Can a block with room for so many bytes have been allocated for an object of this size? Allocators round up; this is what glibc's does.
bool Fills(uint64_t object, uint64_t block) {
  return object == block || std::max<uint64_t>(24, (object + 8 + 15) / 16 * 16 - 8) == block;
}

// GCC numbers the static variables of functions: `count.0`. Demangling drops it from C++ names. Those of libraries have versions:
// `environ@GLIBC_2.2.5`.
std::string WithoutNumber(std::string name) {
  name.resize(std::min(name.find('@'), name.size()));
  const size_t dot = name.find_last_not_of("0123456789");
  if (dot != std::string::npos && dot != 0 && dot + 1 != name.size() && name[dot] == '.') name.resize(dot);
  return name;
}

}  // namespace

FileIdentity IdentityOf(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};
  return IdentityFrom(status);
}

std::variant<std::unique_ptr<SymbolFile>, std::string> SymbolFile::Open(const std::string& path,
                                                                        const FileIdentity& identity) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return path + " cannot be read (" + std::strerror(errno) + "): its code is shown by address";
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return path + " is not a file: its code is shown by address";
  }
  if (IdentityFrom(status) != identity) {
    close(fd);
    return path + " has changed since the program loaded it: its code is shown by address";
  }
  Session session(dwfl_begin(&Callbacks()), &dwfl_end);
  Dwfl_Module* module = nullptr;
  if (session != nullptr) {
    dwfl_report_begin(session.get());
    module = dwfl_report_elf(session.get(), path.c_str(), path.c_str(), fd, 0, true);
    dwfl_report_end(session.get(), nullptr, nullptr);
  }
  if (module == nullptr) {
    const char* why = dwfl_errmsg(-1);
    close(fd);
    return path + " holds no code that can be read (" + (why == nullptr ? "?" : why) + ")";
  }
  return std::unique_ptr<SymbolFile>(new SymbolFile(std::move(session), module));
}

SymbolFile::SymbolFile(Session session, Dwfl_Module* module) : session_(std::move(session)), module_(module) {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  size_t headers = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &headers) != 0) return;
  for (size_t i = 0; i < headers; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
    segments_.emplace_back(header.p_vaddr + bias, header.p_vaddr + bias + header.p_memsz);
  }
}

std::string SymbolFile::CalledBefore(uint64_t return_address) {
  GElf_Addr bias = 0;
  if (!called_) called_.emplace(dwfl_module_getelf(module_, &bias));
  return called_->Before(return_address);
}

std::string SymbolFile::UnnamedAt(uint64_t address) {
  GElf_Addr bias = 0;
  if (!functions_) functions_.emplace(dwfl_module_getelf(module_, &bias));
  const unsigned char* bytes = nullptr;
  GElf_Addr ignored = 0;
  const int count = dwfl_module_build_id(module_, &bytes, &ignored);
  std::string build;
  for (int i = 0; i < count; ++i) build += fmt::format("{:02x}", bytes[i]);
  return fmt::format("{}+{:x}", build, functions_->FunctionAt(address).value_or(address));
}

bool SymbolFile::Covers(uint64_t address) const {
  return std::any_of(segments_.begin(), segments_.end(),
                     [&](const auto& segment) { return address >= segment.first && address < segment.second; });
}

// Debug information that is short of linker's names has plain ones, without class and namespace: there, the symbol table is the
// better source. For C it is the worse one: it shows the compiler's clones.
void SymbolFile::NameFunction(uint64_t address, std::string& function) {
  const SymbolTable::Symbol* symbol = Symbols().Find(address);
  if (symbol == nullptr) return;
  std::string demangled = Demangle(symbol->name);
  if (function.empty() || demangled != symbol->name) function = std::move(demangled);
}

const SymbolTable& SymbolFile::Symbols() {
  if (!symbols_) symbols_.emplace(module_);
  return *symbols_;
}

void SymbolFile::OpenDwarf() {
  if (std::exchange(dwarf_tried_, true)) return;
  Dwarf_Addr bias = 0;
  Dwarf* dwarf = dwfl_module_getdwarf(module_, &bias);
  if (dwarf == nullptr) return;
  dwarf_.emplace(dwarf, bias);
  variables_.emplace(dwarf, bias);
}

std::vector<Frame> SymbolFile::FramesAt(uint64_t address) {
  OpenDwarf();
  DwarfIndex::Found found;
  if (dwarf_) found = dwarf_->Find(address);
  std::vector<Frame>& frames = found.frames;
  if (frames.empty()) frames.emplace_back();
  if (!found.is_full_name) NameFunction(address, frames.back().function);
  if (frames.back().function.empty() && frames.back().file.empty()) frames.clear();
  return std::move(frames);
}

void SymbolFile::ForEachFunction(const std::function<void(const FunctionCode&)>& visit) {
  for (const SymbolTable::Symbol& symbol : Symbols().all()) {
    if (symbol.type != STT_FUNC || symbol.size == 0) continue;
    Frame frame;
    frame.function = Demangle(symbol.name);
    visit({.frame = &frame, .ranges = {{symbol.begin, symbol.begin + symbol.size}}, .depth = 0});
  }
  Dwarf_Addr bias = 0;
  Dwarf* dwarf = dwfl_module_getdwarf(module_, &bias);
  if (dwarf == nullptr) return;
  DwarfFunctions functions(dwarf, bias, [&](uint64_t address, std::string& name) { NameFunction(address, name); });
  functions.ForEach(visit);
}

bool SymbolFile::Calls(std::string_view name) {
  const int count = dwfl_module_getsymtab(module_);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* found = dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (found != nullptr && symbol.st_shndx == SHN_UNDEF && name == found) return true;
  }
  return false;
}

std::optional<SymbolFile::Variable> SymbolFile::VariableAt(uint64_t address) {
  const SymbolTable::Symbol* symbol = Symbols().Find(address);
  if (symbol == nullptr || (symbol->type != STT_OBJECT && symbol->type != STT_COMMON)) return std::nullopt;
  const uint64_t offset = address - symbol->begin;
  if (offset >= std::max<uint64_t>(symbol->size, 1)) return std::nullopt;
  Variable variable{.name = WithoutNumber(Demangle(symbol->name)), .offset = offset, .size = symbol->size};
  OpenDwarf();
  if (variables_) variable.field = variables_->FieldAt(address - offset, false, offset);
  return variable;
}

std::vector<SymbolFile::Object> SymbolFile::ObjectsAt(uint64_t code, uint64_t size, uint64_t bytes,
                                                      const std::vector<uint64_t>& offsets) {
  OpenDwarf();
  std::vector<Object> objects;
  const auto add = [&](Dwarf_Die& type, std::string name, bool is_own) {
    if (dwarf_bytesize(&type) < 0 || !Fills(static_cast<uint64_t>(dwarf_bytesize(&type)), size)) return;
    Object object{.type = std::move(name), .fields = {}, .is_own = is_own};
    for (const uint64_t offset : offsets) object.fields.push_back(DwarfVariables::FieldIn(type, offset));
    // A pointer may be there for something else: what it points to has to have a member of just these bytes.
    const DwarfVariables::Field& accessed = object.fields[0];
    if (!is_own && (accessed.path.empty() || accessed.offset != 0 || accessed.size != bytes)) return;
    objects.push_back(std::move(object));
  };
  std::vector<Dwarf_Die> functions = dwarf_ ? dwarf_->FunctionsAt(code) : std::vector<Dwarf_Die>();
  for (const Dwarf_Die& function : functions) {
    if (std::optional<Dwarf_Die> type = dwarf_->scopes().ClassOf(function)) {
      add(*type, dwarf_->scopes().ScopedName(*type), true);
      add(*type, dwarf_->scopes().ScopedName(*type), false);  // `this` is a pointer like others
    }
  }
  if (functions.empty()) return objects;
  for (Pointee& pointee : PointeesIn(dwarf_->scopes(), functions.front())) add(pointee.type, pointee.name, false);
  Dwarf_Die unit;
  if (dwarf_diecu(&functions.front(), &unit, nullptr, nullptr) == nullptr) return objects;
  const auto [known, is_new] = pointees_.try_emplace(dwarf_dieoffset(&unit));
  if (is_new) known->second = PointeesIn(dwarf_->scopes(), unit);
  for (Pointee& pointee : known->second) add(pointee.type, pointee.name, false);
  return objects;
}

std::optional<SymbolFile::Local> SymbolFile::LocalAt(uint64_t return_address, const DwarfFrames::Call& call,
                                                     uint64_t address) {
  OpenDwarf();
  std::optional<DwarfIndex::Outermost> function = dwarf_ ? dwarf_->FunctionOf(return_address - 1) : std::nullopt;
  if (!function) return std::nullopt;
  if (!frames_) frames_.emplace(module_);
  const uint64_t bias = return_address - 1 - function->address;
  const std::optional<StackFrame> frame = frames_->FrameOf(return_address, function->begin + bias, call);
  if (!frame || address < frame->bottom) return std::nullopt;
  const std::vector<Frame> functions = FramesAt(return_address - 1);
  const std::optional<DwarfLocal> found = FindLocal(function->die, function->address, *frame, address);
  const size_t inlined = found ? static_cast<size_t>(found->inlined) : 0;
  if (functions.size() <= inlined) return std::nullopt;
  Local local{.function = functions[functions.size() - 1 - inlined].function,
              .variable = {},
              .begin = 0,
              .is_parameter = false,
              .file = {},
              .line = 0};
  if (found) {
    local.variable =
        Variable{.name = found->name, .offset = address - found->begin, .size = found->size, .field = found->field};
    local.begin = found->begin;
    local.is_parameter = found->is_parameter;
    local.file = found->file;
    local.line = found->line;
  } else if (address >= frame->cfa || !frame->is_whole) {
    return std::nullopt;  // it may be that of another function
  }
  return local;
}

std::optional<uint64_t> SymbolFile::FrameEndAt(uint64_t return_address, uint64_t slot) {
  if (!frames_) frames_.emplace(module_);
  return frames_->EndOf(return_address, slot);
}

// The program's own variables are next to the thread pointer: on x86-64 they end there, elsewhere they begin behind two words.
std::optional<SymbolFile::Variable> SymbolFile::ThreadLocalAt(int64_t offset) {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  GElf_Ehdr file;
  size_t headers = 0;
  if (elf == nullptr || gelf_getehdr(elf, &file) == nullptr || elf_getphdrnum(elf, &headers) != 0) return std::nullopt;
  std::optional<uint64_t> place;  // in the block of this file
  for (size_t i = 0; i < headers && !place; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_TLS) continue;
    const uint64_t align = std::max<uint64_t>(header.p_align, 1);
    const auto rounded = [&](uint64_t bytes) { return static_cast<int64_t>((bytes + align - 1) / align * align); };
    const int64_t begin = file.e_machine == EM_X86_64 ? -rounded(header.p_memsz) : rounded(16);
    if (offset < begin || offset - begin >= static_cast<int64_t>(header.p_memsz)) return std::nullopt;
    place = static_cast<uint64_t>(offset - begin);
  }
  const int symbols = place ? dwfl_module_getsymtab(module_) : 0;
  for (int i = 0; i < symbols; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || IsMappingSymbol(name)) continue;
    if (GELF_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF) continue;
    if (*place < symbol.st_value || *place - symbol.st_value >= symbol.st_size) continue;
    Variable variable{
        .name = WithoutNumber(Demangle(name)), .offset = *place - symbol.st_value, .size = symbol.st_size};
    OpenDwarf();
    if (variables_) variable.field = variables_->FieldAt(symbol.st_value, true, variable.offset);
    if (variables_ && !variable.field) variable.field = variables_->FieldOf(name, variable.offset);
    return variable;
  }
  return std::nullopt;
}

}  // namespace redflag
