// What of a stored table crosses the border to Python: words, bytes and single numbers, whatever they mean.
#include "python/tables.hpp"

namespace psc {
namespace {

template <class S>
nb::ndarray<nb::numpy, const S, nb::ndim<1>> view(const Kept<S>& kept) {
    auto* owner = new std::shared_ptr<const void>(kept.owner);
    nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<const void>*>(p); });
    return nb::ndarray<nb::numpy, const S, nb::ndim<1>>(kept.elements.data(), {kept.elements.size()}, capsule);
}

template <class S>
Kept<S> kept(nb::handle value) {
    const auto array = std::make_shared<const Array<S>>(nb::cast<Array<S>>(value));
    return {{array->data(), array->size()}, array};
}

std::string whole(const NameParts& name) { return std::string(name.first) + name.between + name.second; }
std::string index_of(const FieldText& text) { return text.before_index + whole(text.index) + text.after_index; }

}  // namespace

WordView to_python(const KeptWords& words) { return view(words); }

void set_item(nb::dict& d, const char* name, const KeptWords& words) { d[name] = view(words); }
void set_item(nb::dict& d, const char* name, const KeptBytes& bytes) { d[name] = view(bytes); }
void set_item(nb::dict& d, const char* name, Word one) { d[name] = one; }

void get_item(const nb::dict& d, const char* name, KeptWords& words) { words = kept<Word>(d[name]); }
void get_item(const nb::dict& d, const char* name, KeptBytes& bytes) { bytes = kept<std::uint8_t>(d[name]); }
void get_item(const nb::dict& d, const char* name, Word& one) { one = nb::cast<Word>(d[name]); }

void append(FieldList& out, const char* name, const FieldText& text, const char* meaning) {
    out.append(nb::make_tuple(name, index_of(text), whole(text.element), meaning));
}
std::string document(const FieldText& text, const char* meaning) {
    return index_of(text) + ": " + whole(text.element) + "; " + meaning + ".";
}

}  // namespace psc
