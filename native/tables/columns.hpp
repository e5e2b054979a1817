// What stored tables are made of: counts, single ids, columns of ids, and offsets of lists; and what follows from a declaration.
//
// A *column* has one element for each id of its index space. An *offsets* array has a range of its pool space for each id: lists of
// different lengths, one after the other, and several columns may share one pool. Both are views with an owner, which is a vector
// that was just built or a file that is mapped into memory. So a table has one type wherever it comes from, and copies share its
// memory.
//
// Example: LrProductions has production_lhs, a Column<Production, Nonterminal>, and rhs_offsets, Offsets from Production into the
// pool of right-hand symbols, which the column rhs is over: the right-hand side of p is rhs[rhs_offsets[p]].
//
// A table is a struct with such members and one function `fields` that names them (tables/tables.hpp). From it follow the check of
// untrusted arrays (TableCheck), bytes of memory, words for another process (tables/wire.hpp), NumPy arrays (python/tables.hpp) and
// documentation.
//
// Cost: indexing is that of a raw pointer. Threads: tables do not change once made.
// Tried and dropped: bindings compiled for every column type: a quarter of the time that the bindings of compilations take to
// compile.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace psc {

// The pairs of two spaces as an index, row by row.
template <class Row, class Col>
struct Cell {};

// Consecutive positions in a pool.
template <class I>
struct Range {
    Word begin, end;
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

enum class Presence { required, optional };  // an optional column may be empty

template <class Index, class T, Presence kPresence = Presence::required>
class Column {
public:
    using Element = T;
    static constexpr Presence presence = kPresence;

    Column() = default;
    Column(std::vector<T> elements) {
        const auto stored = std::make_shared<const std::vector<T>>(std::move(elements));
        data_ = stored->data();
        size_ = stored->size();
        owner_ = stored;
    }
    Column(std::span<const T> elements, std::shared_ptr<const void> owner)
        : data_(elements.data()), size_(elements.size()), owner_(std::move(owner)) {}
    void assign(std::span<const T> elements, std::shared_ptr<const void> owner) {
        data_ = elements.data();
        size_ = elements.size();
        owner_ = std::move(owner);
    }

    const T& operator[](Index i) const { return data_[i.index()]; }
    const T& at(std::size_t i) const { return data_[i]; }
    std::span<const T> operator[](Range<Index> r) const { return {data_ + r.begin, r.size()}; }
    std::span<const T> all() const { return {data_, size_}; }
    const T* data() const { return data_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const std::shared_ptr<const void>& owner() const { return owner_; }

private:
    const T* data_ = nullptr;
    std::size_t size_ = 0;
    std::shared_ptr<const void> owner_;
};

// Where the list of each id of the index space begins in its pool, and where the last one ends. There are at least `kLeast` lists.
template <class Index, class Pool, Word kLeast = 0>
class Offsets : public Column<Index, Word> {
public:
    using Column<Index, Word>::Column;
    static constexpr Word least = kLeast;

    Range<Pool> operator[](Index i) const { return range(i.index()); }
    Range<Pool> range(std::size_t i) const { return {this->at(i), this->at(i + 1)}; }
    Word n_lists() const { return static_cast<Word>(this->size()) - 1; }
};

// The number of ids of a space.
template <class I, Word kLeast = 1>
struct Count {
    Word n = 0;
    operator Word() const { return n; }
};

// The number of ids of each space, where it is defined yet.
class Sizes {
public:
    Sizes() {
        n_.fill(-1);
        n_[static_cast<std::size_t>(Space::byte)] = 256;
    }
    std::int64_t operator[](Space s) const { return n_[static_cast<std::size_t>(s)]; }
    bool has(Space s) const { return (*this)[s] >= 0; }
    void set(Space s, std::int64_t n) { n_[static_cast<std::size_t>(s)] = n; }

private:
    std::array<std::int64_t, static_cast<std::size_t>(Space::count)> n_;
};

// The number of stack symbols to pass over.
struct StackDepth {
    Word v;
    static constexpr Word kMax = 1 << 20;
};

// A token class, or, numbered after them, the stop tokens.
struct SetMember {
    Word v;
    auto operator<=>(const SetMember&) const = default;
};

// A warm row, or, numbered after them, a union of warm rows.
struct WarmOperand {
    Word v;
    auto operator<=>(const WarmOperand&) const = default;
};

// A lexer state, or, numbered after them, a lead.
struct StoredView {
    Word v;
    auto operator<=>(const StoredView&) const = default;
};

// What may follow in a sequence: a terminal, or, numbered after them, that one of a set of LR states is on top.
struct StoredSymbol {
    Word v;
    auto operator<=>(const StoredSymbol&) const = default;
};

// What a sequence ends with: such a symbol, or, numbered after them, one of a set of sequences; -1: it is empty.
struct StoredEnd {
    Word v;
    auto operator<=>(const StoredEnd&) const = default;
};

// Whether an element is in range. Name, below, is what docs/artifact-format.md calls it.
template <Space S, class Rep>
bool in_range(Id<S, Rep> x, const Sizes& n) {
    return x.v >= 0 && x.v < n[S];
}
template <class I>
bool in_range(Maybe<I> x, const Sizes& n) {
    return x.v >= -1 && x.v < n[I::space];
}
inline bool in_range(Symbol x, const Sizes& n) { return x.v >= 0 && x.v < n[Space::terminal] + n[Space::nonterminal]; }
inline bool in_range(OutputSymbol x, const Sizes& n) { return x.v >= 0 && x.v < n[Space::terminal] + n[Space::condition]; }
inline bool in_range(StoredTarget x, const Sizes& n) { return x.v >= -1 && x.v < n[Space::lexer_state] + 1 + n[Space::branch]; }
inline bool in_range(SetMember x, const Sizes& n) { return x.v >= 0 && x.v <= n[Space::token_class]; }
inline bool in_range(WarmOperand x, const Sizes& n) { return x.v >= 0 && x.v < n[Space::warm_row] + n[Space::warm_union]; }
inline bool in_range(StoredView x, const Sizes& n) { return x.v >= 0 && x.v < n[Space::lexer_state] + n[Space::lead]; }
inline bool in_range(StoredSymbol x, const Sizes& n) { return x.v >= 0 && x.v < n[Space::terminal] + n[Space::top_set]; }
inline bool in_range(StoredEnd x, const Sizes& n) {
    return x.v >= -1 && x.v < n[Space::terminal] + n[Space::top_set] + n[Space::trie_set];
}
inline bool in_range(StackDepth x, const Sizes&) { return x.v >= 0 && x.v < StackDepth::kMax; }
inline bool in_range(Action x, const Sizes& n) {
    return x.v >= 0 && (x.is_shift() ? in_range(x.state(), n) : in_range(x.production(), n));
}
inline bool in_range(std::uint8_t, const Sizes&) { return true; }

// Three parts that are joined only where the name is printed, so that a table's declaration makes no code for it.
struct NameParts {
    const char *first, *between = "", *second = "";
};
template <class T>
struct Name;
template <Space S, class Rep>
struct Name<Id<S, Rep>> {
    static constexpr NameParts of() { return {kSpaceNames[static_cast<std::size_t>(S)]}; }
};
template <class I>
struct Name<Maybe<I>> {
    static constexpr NameParts of() { return {Name<I>::of().first, " or -1"}; }
};
template <class Row, class Col>
struct Name<Cell<Row, Col>> {
    static constexpr NameParts of() { return {Name<Row>::of().first, " and ", Name<Col>::of().first}; }
};
template <>
struct Name<Symbol> {
    static constexpr NameParts of() { return {"terminal, or n_terminals + nonterminal"}; }
};
template <>
struct Name<OutputSymbol> {
    static constexpr NameParts of() { return {"terminal, or n_terminals + condition"}; }
};
template <>
struct Name<StoredTarget> {
    static constexpr NameParts of() { return {"lexer state, -1 (fail), n_lexer_states (restart), or n_lexer_states + 1 + branch"}; }
};
template <>
struct Name<SetMember> {
    static constexpr NameParts of() { return {"token class, or n_classes (the stop tokens)"}; }
};
template <>
struct Name<WarmOperand> {
    static constexpr NameParts of() { return {"warm row, or the number of warm rows + union of warm rows"}; }
};
template <>
struct Name<StoredView> {
    static constexpr NameParts of() { return {"lexer state, or n_lexer_states + lead"}; }
};
template <>
struct Name<StoredSymbol> {
    static constexpr NameParts of() { return {"terminal, or n_terminals + set of LR states"}; }
};
template <>
struct Name<StoredEnd> {
    static constexpr NameParts of() {
        return {"terminal, n_terminals + set of LR states, n_terminals + the number of these + set of sequences, or -1"};
    }
};
template <>
struct Name<StackDepth> {
    static constexpr NameParts of() { return {"number of stack symbols"}; }
};
template <>
struct Name<Action> {
    static constexpr NameParts of() { return {"action: 2 x LR state (shift), or 2 x production + 1 (reduce)"}; }
};
template <>
struct Name<std::uint8_t> {
    static constexpr NameParts of() { return {"byte"}; }
};

// Calls f(name, member of `table`, meaning) for each declared field, in order.
template <class Table, class F>
void each_field(Table& table, F&& f) {
    std::remove_const_t<Table>::fields(
        [&](const char* name, auto member, const char* meaning) { f(name, table.*member, meaning); });
}

// Bytes that the columns of the tables take.
template <class... Tables>
std::size_t bytes_of_tables(const Tables&... tables) {
    std::size_t n = 0;
    const auto add = [&]<class Field>(const char*, const Field& field, const char*) {
        if constexpr (requires { field.all(); }) n += field.all().size_bytes();
    };
    (each_field(tables, add), ...);
    return n;
}

// Throws std::invalid_argument, which names the array, unless every count, length and element is in range. In this order: counts,
// then lengths (products in 64 bits) and offsets, then elements. A space without a count has as many ids as the first array that it
// indexes. The users of the tables check what the ids mean together.
class TableCheck {
public:
    template <class... Tables>
    explicit TableCheck(const Tables&... tables) {
        (each_field(tables, [&](const char* name, const auto& field, const char*) { count(name, field); }), ...);
        (each_field(tables, [&](const char* name, const auto& field, const char*) { length(name, field); }), ...);
        (each_field(tables, [&](const char* name, const auto& field, const char*) { elements(name, field); }), ...);
    }
    const Sizes& sizes() const { return sizes_; }

    [[noreturn, gnu::noinline]] static void fail(const char* name, const char* why) {
        throw std::invalid_argument(std::string("table '") + name + "' " + why);
    }

private:
    static constexpr Word kMaxIds = 1 << 28;

    template <class I, Word kLeast>
    void count(const char* name, const Count<I, kLeast>& c) {
        if (c.n < kLeast || c.n > kMaxIds) fail(name, "is out of range");
        sizes_.set(I::space, c.n);
    }
    template <class Field>
    void count(const char*, const Field&) {}

    template <class I>
    bool has(const I*) const {
        return sizes_.has(I::space);
    }
    template <class Row, class Col>
    bool has(const Cell<Row, Col>*) const {
        return true;  // both spaces have counts
    }
    template <class I>
    std::int64_t size(const I*) const {
        return sizes_[I::space];
    }
    template <class Row, class Col>
    std::int64_t size(const Cell<Row, Col>*) const {
        return sizes_[Row::space] * sizes_[Col::space];
    }
    template <class I>
    void define(const I*, std::size_t n, const char* name) {
        if (n > static_cast<std::size_t>(kMaxIds)) fail(name, "is too long");
        sizes_.set(I::space, static_cast<std::int64_t>(n));
    }
    template <class Row, class Col>
    void define(const Cell<Row, Col>*, std::size_t, const char*) {}

    template <class Index, class T, Presence kPresence>
    void length(const char* name, const Column<Index, T, kPresence>& column) {
        const Index* index = nullptr;
        if (kPresence == Presence::optional && column.empty()) return;
        if (!has(index)) define(index, column.size(), name);
        if (column.size() != static_cast<std::size_t>(size(index))) fail(name, "has the wrong length");
    }
    template <class Index, class Pool, Word kLeast>
    void length(const char* name, const Offsets<Index, Pool, kLeast>& offsets) {
        const Index* index = nullptr;
        if (offsets.n_lists() < kLeast) fail(name, "is empty");
        if (!has(index)) define(index, offsets.size() - 1, name);
        sizes_.set(Pool::space, end_of(name, offsets.all(), size(index)));
    }
    // The end of the last of n lists.
    [[gnu::noinline]] static Word end_of(const char* name, std::span<const Word> offsets, std::int64_t n_lists) {
        const auto n = static_cast<std::size_t>(n_lists);
        if (offsets.size() != n + 1) fail(name, "has the wrong length");
        if (offsets[0] != 0 || offsets[n] < 0) fail(name, "does not span its pool");
        for (std::size_t i = 0; i < n; ++i)
            if (offsets[i] > offsets[i + 1]) fail(name, "falls");
        return offsets[n];
    }
    template <class Field>
    void length(const char*, const Field&) {}

    template <class Index, class T, Presence kPresence>
    void elements(const char* name, const Column<Index, T, kPresence>& column) {
        all_in_range(name, column.all());
    }
    template <class T>
    [[gnu::noinline]] void all_in_range(const char* name, std::span<const T> elements) const {
        for (const T& x : elements)
            if (!in_range(x, sizes_)) fail(name, "holds an index out of range");
    }
    template <class Index, class Pool, Word kLeast>
    void elements(const char*, const Offsets<Index, Pool, kLeast>&) {}
    template <class I, Word kLeast>
    void elements(const char*, const Count<I, kLeast>&) {}
    template <class T>
    void elements(const char* name, const T& one) {
        if (!in_range(one, sizes_)) fail(name, "is out of range");
    }

    Sizes sizes_;
};

}  // namespace psc
