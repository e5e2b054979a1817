"""The bundled C++ grammar, as a table of what it accepts and what it refuses; g++, where it is installed, judges both alike."""

import random
import re

import pytest
from bundled_texts import compiled, takes
from masks_along_texts import check_masks_along
from references import check_reference, reference_or_skip
from vocabularies import byte_tokenizer

from psc.compiler.frontends.lookup import find_grammar

ACCEPTED = [
    "",
    "int a, *b, c[3], (*d)(int, char **), *(*e[2])(void), &f = a, &&g = 1; unsigned long long int h; double long i; long "
    "int unsigned j;",
    "static const int a = 1; int constexpr b = 2; const static int c{3}; inline thread_local int d(4); extern int const e; "
    "constinit int f = 0;",
    "namespace a { namespace { int b; } inline namespace c { } } namespace e = a; namespace a::inline f { } using "
    "namespace a; using a::b;",
    "enum a { B, C = 1 << 2, }; enum class d : unsigned char { E [[deprecated]] = 1 }; enum struct f : int; using enum d; "
    "enum { G } h;",
    "struct a { int b : 3, : 0, c = 1; union { int d; float e; }; a *next; static inline int f{2}; mutable int g; bool h : "
    "1 = true; } i;",
    "class a { public: explicit a(int); a(const a &) = default; a &operator=(a &&) & noexcept = delete; virtual ~a() = 0; "
    "private: int b; friend class c; };",
    "struct a { a() : b(1), c{2} { } explicit(true) operator bool() const { return b; } operator int *(); int b, c; };",
    "struct a { virtual void f() const; virtual int g() = 0; }; struct c { }; struct b final : public virtual a, private c "
    "{ void f() const override final; };",
    "struct a { a(); ~a(); int f() const &; template <class T> a(T t) try : b(t) { } catch (...) { } int b; }; a::a() : "
    "b() { } a::~a() { }",
    "struct a { int operator()(int) const; int operator[](int); a operator+(a), operator++(int); bool operator==(const a "
    "&) const = default; a *operator->(); };",
    "struct a { auto operator<=>(const a &) const = default; void *operator new[](unsigned long); bool operator<(a), "
    "operator>>(a), operator,(a); };",
    'long operator""_a(unsigned long long); int operator "" _b(const char *, unsigned long); long c = 1_a + 0x1F_a; int d = "e"_b;',
    "template <typename T, int N = 3, class... A> struct a { T b[N]; }; template <> struct a<int, 4> { }; a<a<int>> c; "
    "a<int, (4 > 3)> d;",
    "template <template <auto...> class T, typename = void, auto V = 1> void f(T<V> &&a); template <class T> int b = "
    "sizeof(T); template int b<int>;",
    "template <typename... T> auto f(T &&...a) { return (a + ...) + (... + a) + (a + ... + 1) + (f(a), ...) + sizeof...(T) "
    "+ sizeof...(a); }",
    "template <class T, class U> concept d = true; template <class T> concept c = requires(T a, T b) { a + b; { a.f() } "
    "noexcept -> d<int>; typename T::d; requires sizeof(T) > 1; };",
    "template <class T> concept c = sizeof(T) == 1 || (sizeof(T) > 2); template <c T> requires c<T> && (sizeof(T) > 1) "
    "void f(T) requires c<T>; void g(c auto a);",
    "template <class T> struct a { a(T); }; a(int) -> a<int>; template <class T> a(T *) -> a<T>; extern template struct a<char>;",
    "template <class T> struct a { typename T::b c; void f() { typename T::template d<int> e; c.template f<T>(); T::g(); "
    "this->c.~T(); } };",
    "template <class R, class... A> struct f; template <class R, class... A> struct f<R(A...)> { }; f<int(char, int *)> a; "
    "f<void()> *b;",
    "template <class R, class C> struct f; template <class R, class C> struct f<R (C::*)(int) const noexcept, C &> { }; "
    "int a(int (&b)[2], int (*c)[3]);",
    "auto a = [] { return 1; }; auto b = [](int c) mutable noexcept -> int { return c; }; auto d = [&b, e = 1, &f = "
    "a](auto &&...g) { return sizeof...(g); };",
    "auto a = []<typename T>(T b) requires(sizeof(T) > 1) { return b; }; int c = [](int d) { return d; }(1);",
    "struct a { int b, c; }; void f(a d) { auto [e, g] = d; auto &&[h, i] = d; const auto &[j, k]{d}; a n[] = {d}; for "
    "(const auto &[l, m] : n) e = l; }",
    "int f(int a) { if (int b = a; b > 1) return b; else if constexpr (true) a = 2; if (a) [[likely]] return 1; while (int "
    "c = a) a = c - 1; return 0; }",
    "int f(int a) { switch (int b = a; b) { case 1: case 2 + 3: a = 1; [[fallthrough]]; default: int c = 1; return c; } b: "
    "goto b; do a++; while (a < 3); return 1; }",
    "int f() { int a[] = {1, 2}; for (int i = 0, *j = a; i < 2; i++, j++) continue; for (;;) break; for (int b : a) return "
    "b; for (int k = 0; auto &b : a) b = k; return 1; }",
    "struct a { int b; struct { int c; } d; } e = {.b = 1, .d = {.c = 2}}; a f() { return {}; } int g[] = {1, 2,}, h = {}; "
    "a i{.b = 3};",
    "int a, b; void f() { a = b ? a : b, a += -b - --a + +b++ * a; a = a || b && a | b ^ a & b == a < b << 1 >> 2 * 3; "
    "bool c = not a and b or a; }",
    "void f(int *a) { delete a; delete[] a; a = new int; a = new int[3]{1, 2}; a = ::new int(1); int **b = new int *(a); "
    "auto *c = new auto(1); }",
    "int f(long a) { return int(a) + static_cast<int>(a) + (int) a + (int) -a + *reinterpret_cast<int *>(&a) + sizeof(int) "
    "+ sizeof a + alignof(int); }",
    "struct a { int b; }; int f(a *c, int a::*d) { int a::*e = &a::b; return c->*d + (*c).*e + noexcept(c->b); } "
    "decltype(a::b) g; decltype(auto) h = 1;",
    "void f() { try { throw 1; } catch (const int &a) { throw; } catch (...) { } } int g() noexcept(true), h() noexcept, "
    "*i() throw();",
    'static_assert(sizeof(int) == 4, "a"); static_assert(true); alignas(16) int a; alignas(double) char b; struct '
    "alignas(8) c { alignas(int) char d; };",
    '[[nodiscard]] int f(void); [[noreturn, gnu::cold]] void g(int a [[maybe_unused]]); struct [[deprecated("a")]] s { '
    "[[no_unique_address]] int c; };",
    "using a = int; using b = const a *(*)(a &, ...); typedef int c, *d; template <class T> using e = T *; struct g { "
    "g(int); }; struct h : g { using g::g; };",
    "int a = 0x1F'FFu, b = 017, c = 0b1'0, d = 'a' + L'\\n' + u8'x', e = 1'000; double g = 1e5 + .5f + 1. + 0x1p-3L; auto "
    "h = nullptr;",
    'const char *a = "b" "c\\n\\"d\\"", *b = R"(a " )b" \n c)" R"x()")x", *c = R"json({"a": [1]})json"; const wchar_t *d = '
    'LR"(x)";',
    'extern "C" { int f(int); } extern "C" int g; extern "C++" { template <class T> T h(T); }',
    "template <class T> T f(T a, T b) { T c(a); T *d = &a; T &e = b; const T *const g = d; T &&h = T(); T i{b}; return a * "
    "b < c ? *d & e : *g && h; }",
    "template <int N> struct a { static const int b = N; }; template <int N, int M> int f(int c) { return a<N>::b < c && c "
    "> a<M>::b ? f<N, M>(c) : a<(N > M)>::b; }",
    "int f(int a, int b, int c) { bool d = a < b, e = a > (c); return a < b && c > a || a < (b) ; }",
    "consteval int f() { return 1; } constexpr int g() { if consteval { return 1; } else { return 2; } } auto h() -> int; "
    "auto i(int a) -> decltype(a + 1);",
    "struct a { static int (*b)(int); int (a::*c)() const; friend int f(a); template <class T> friend struct d; friend "
    "bool operator<(a, a) { return true; } };",
    "struct a { int operator()(int b) const { return b; } }; int f() { return a()(1) + a{}(2) + a().operator()(3); } int "
    "(f2)(int);",
    'int f(int a) { asm volatile ("b %0" : "=r"(a) : [c] "r"(a), "i"(3) : "memory"); return ({ int b = a; b; }); } int g() '
    '__asm__("h") __attribute__((cold));',
    "// a \\\n b\n/* c * d */ int e; /**/\n",
    "#include <a.h>\n#define b(c) \\\n  { c }\nint d;\n#if 0\nint g;\n#endif\n",
]
REFUSED = [
    "int",
    "int int a;",
    "auto auto a = 1;",
    "unsigned signed a;",
    "long long long a;",
    "const const int a = 1;",
    "static static int a;",
    "inline inline void f();",
    "struct a { virtual virtual void f(); };",
    "struct a { int f() const const; };",
    "struct a { virtual int f() override override; };",
    "struct a { int b }",
    "struct a { int b; }",
    "struct a { public int b; };",
    "struct a { a() : { } };",
    "struct a { a() : b(1) c(2) { } int b, c; };",
    "struct a : { };",
    "enum { A B };",
    "enum class { };;a",
    "f() { }",
    "a b c;",
    "int a b;",
    "int 1;",
    "int a = ;",
    "int a[;",
    "int a = {1 2};",
    "int f(int a; int b);",
    "int f(int a,) { }",
    "int f() { return }",
    "int f() { if 1 ; }",
    "int f() { else ; }",
    "int f() { do ; while (1) }",
    "int f() { for (;) ; }",
    "int f() { goto 1; }",
    "int f() { 1 2; }",
    "int f() { return 1; ",
    "int f() { } }",
    "int f(int a) { a +; }",
    "int f(int a) { return a < ; }",
    "int f(int a, int b) { return f(a b); }",
    "int f(int a) { a.1; }",
    "int f() { try { } }",
    "int f() { catch (...) { } }",
    "int f() { auto a = [ { }; }",
    "int f() { auto a = [] ( { }; }",
    "int f() { auto [a b] = 1; }",
    "int f() { static_cast<int> 1; }",
    "int f() { static_cast(1); }",
    "int f() { new; }",
    "int f() { sizeof; }",
    "int f() { int a = 1 int b; }",
    "int f() { switch { } }",
    "int f() { case; }",
    "template <typename T void f();",
    "template <typename typename T> void f();",
    "template typename T> void f();",
    "template <> int;;a",
    "template <class T> concept c;",
    "template <class T> concept c = requires { 1 };",
    "namespace { int a } ",
    "namespace 1 { }",
    "using a = ;",
    "using namespace;",
    "operator+(int, int);",
    "int operator;",
    "static_assert(1, 2);",
    "int a = 'bc;",
    'const char *a = "b;',
    'const char *a = R"x(b)y";',
    "int a = 08;",
    "/* a",
    "return 1;",
    "int a = @;",
    "f(int) ) ;",
]


SAMPLE = """#pragma once
#include <vector>
/* Things. */ export import a.b;
namespace a::inline b { template <class T, int N = (3 > 2), template <typename...> class... U> requires C<T> && (N >
  1) class Thing; }
template <> class alignas(8) [[nodiscard]] Thing<int, 3> final : public virtual Base<int>, private A::B<C<D>> {
public:
    explicit Thing(int a = 0x1F'FF) noexcept(true) : Base<int>{a}, b_(a) { }
    virtual ~Thing() = 0; Thing &operator=(const Thing &) & = delete; explicit operator bool() const override;
    template <typename... A> auto f(A &&...a) const -> decltype((a + ...)) { return (std::forward<A>(a) + ... + 1); }
    friend std::ostream &operator<<(std::ostream &o, const Thing &) { return o << R"x(a )" b)x" << "b\\n"_s <<
  1.5e-3f; }
private: unsigned long b_ : 3 = 1; static constexpr int (*c)(void *, ...) = nullptr; union { int d; float e; };
};
enum class E : unsigned char { A, B [[deprecated("x")]] = 1 << 2, };
A::A() try : b(1) { for (auto &[k, v] : m) if (const auto *p = v->g(); p && k < 1) continue; else throw; } catch
  (const B &e) { } catch (...) { }
auto g(C auto x) { switch (x) { case 1 ... 2: co_return {.a = 1, .b{2}}; [[fallthrough]]; default: goto z; } z:
  delete[] x; co_await y; return; }
int h = [&, x = 1]<class T>(T t) mutable -> int { a<b>::c *d = e; T f{t}; std::vector<int> v(t, x); return
  static_cast<int>(v.size() >> 1); }(2);
"""


def test_accepts() -> None:
    assert [text for text in ACCEPTED if not takes("cpp", text)] == []


def test_refuses() -> None:
    assert [text for text in REFUSED if takes("cpp", text)] == []


def test_gcc_judges_alike() -> None:
    check_reference(reference_or_skip("g++", "cpp"), ACCEPTED, REFUSED)


def test_with_bounded_layout() -> None:
    texts = [t for t in ACCEPTED if "//" not in t]
    assert [text for text in texts if not takes("cpp?layout=bounded", text)] == []


DELIMITERS = ["", "x", "json", "---", "EOF", "delim"]


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_raw_strings_end_with_their_delimiter(delimiter: str) -> None:
    rng = random.Random(delimiter)
    for _ in range(50):
        inner = "".join(
            rng.choice(['"', ")", "(", "\\", "\n", "a", f"){delimiter}", f'{delimiter}"']) for _ in range(rng.randrange(9))
        )
        whole = f'R"{delimiter}({inner}){delimiter}"'
        ends = whole.index(f'){delimiter}"') == len(whole) - len(delimiter) - 2
        assert takes("cpp", f"auto a = {whole};") or not ends, whole


def test_two_signs_close_two_lists() -> None:
    assert takes("cpp", "a<b<c<d>>> e; int f = g >> h, i = j<k<l>>::m;")
    assert not takes("cpp", "a<b<c>>> d;")


@pytest.mark.parametrize(
    "line", ["module;", "export module a.b:c;", "module : private;", "import <a/b.h>;", 'import "a.h";', "import :a;"]
)
def test_modules(line: str) -> None:
    assert takes("cpp", line + " export int a; export { void f(); } export namespace b { }")
    assert not takes("cpp", line.removesuffix(";") + " int a;")


def test_every_way_to_read_names_is_followed() -> None:
    assert find_grammar("cpp").request().options.keep_all_actions


def test_masks_along_a_sample() -> None:
    check_masks_along(compiled("cpp"), byte_tokenizer(), SAMPLE.encode())


def test_masks_allow_what_is_accepted() -> None:
    text = (
        b"a<b> c(d e, f &&...g) { h<i> j; k < l && m > n; if (o * p = q) { r.s<t>(u)->v(); } return [&](auto w) { return w; }(x); }"
    )
    check_masks_along(compiled("cpp"), byte_tokenizer(), text)


_NAME = re.compile(r"\b[a-z]\b")


@pytest.mark.parametrize("seed", range(5))
def test_names_may_be_replaced_by_any_other(seed: int) -> None:
    """No name of one letter but prefixes of literals is a word of the language."""
    rng = random.Random(seed)
    for text in ACCEPTED:
        names = _NAME.findall(text) or ["a"]
        if '"' in text or "'" in text:
            continue
        other = rng.choice(["override", "final", "module", "import", "size_t", "__x", "é"])
        changed = re.sub(rf"\b{rng.choice(names)}\b", other, text)
        assert takes("cpp", changed), changed
