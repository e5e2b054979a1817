#include "schema/overlaps.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/cancellation.hpp"
#include "base/sorted.hpp"
#include "json/numbers.hpp"
#include "schema/keywords.hpp"

namespace psc {

namespace {

using JsonKind = JsonDocument::Kind;

constexpr int kDeepest = 12;                  // schemas about one value, or members inside each other
constexpr std::size_t kMaxFacts = 1'000'000;  // looks at what is said of paths, for all branches
constexpr std::size_t kMaxPairs = 160'000;    // each in both directions

// A member of a member ... of the value: a number, with the path of what it is a member of. The value itself is path 0.
using Path = Word;
using Value = Word;  // a scalar, under a number

struct Fact {
    bool is_object = false, required = false, listed = false, closed = false;  // closed: no members but listed ones
    std::optional<std::vector<Value>> values;                                  // it is one of these, ascending
};
using Facts = std::unordered_map<Path, Fact>;

class Overlaps {
public:
    Overlaps(const JsonDocument& document, SchemaResources& resources) : document_(document), resources_(resources) {}

    std::optional<std::vector<std::vector<std::size_t>>> find(const std::vector<JsonNode>& schemas, bool all_objects) {
        if (schemas.size() > kMaxFacts) return std::nullopt;
        for (JsonNode schema : schemas) {
            stop_if_cancelled();
            Facts& facts = facts_.emplace_back();
            facts[0].is_object = all_objects;
            collect(schema, 0, 0, true, facts);
            if (n_looks_ > kMaxFacts) return std::nullopt;
        }
        paths_.resize(parent_.size());
        for (std::size_t i = 0; i < facts_.size(); ++i)
            for (const auto& [path, fact] : facts_[i]) index(i, path, fact);
        std::vector<std::vector<std::size_t>> out(schemas.size());
        std::size_t n_pairs = 0;
        for (std::size_t i = 0; i < facts_.size(); ++i) {
            stop_if_cancelled();
            if (!candidates(i, out[i])) return std::nullopt;
            n_pairs += out[i].size();
            if (n_pairs > 2 * kMaxPairs) return std::nullopt;
        }
        const auto both = symmetric(out);
        n_pairs = 0;
        for (const auto& others : both) n_pairs += others.size();
        return n_pairs > kMaxPairs ? std::nullopt : std::optional(both);
    }

private:
    // What branches say of a path.
    struct Said {
        std::unordered_map<Value, std::vector<std::size_t>> by_value;
        std::vector<std::size_t> with_values, listed, open;  // listed: without values. open: its members may be any
        std::optional<std::vector<std::size_t>> others;      // branches that may have it, of any value
    };

    JsonNode keyword(JsonNode schema, Keyword name) const { return document_.member(schema, number_of(name)); }
    const Fact* fact(std::size_t branch, Path path) const {
        const auto found = facts_[branch].find(path);
        return found == facts_[branch].end() ? nullptr : &found->second;
    }
    Path path_of(Path parent, Word name) {
        const auto [entry, fresh] = path_numbers_.try_emplace(
            static_cast<std::uint64_t>(parent) << 32 | static_cast<std::uint32_t>(name), static_cast<Path>(parent_.size()));
        if (fresh) parent_.push_back(parent);
        return entry->second;
    }

    // `certain`: as far as this branch says, its values have something here, so that what is inside may tell them apart.
    void collect(JsonNode schema, Path path, int depth, bool certain, Facts& facts) {
        if (!document_.is(schema, JsonKind::object) || depth > kDeepest || ++n_looks_ > kMaxFacts) return;
        if (const JsonNode reference = keyword(schema, Keyword::ref); document_.is(reference, JsonKind::string)) {
            if (const auto target = target_of(schema, reference)) collect(*target, path, depth + 1, certain, facts);
            if (resources_.draft(schema) <= Draft::draft7) return;  // its siblings say nothing
        }
        if (const JsonNode parts = keyword(schema, Keyword::all_of); document_.is(parts, JsonKind::array))
            for (JsonNode part : document_.items(parts)) collect(part, path, depth + 1, certain, facts);
        if (const JsonNode type = keyword(schema, Keyword::type); document_.is(type, JsonKind::string))
            facts[path].is_object |= document_.text(type) == "object";
        if (auto values = values_of(schema)) facts[path].values = std::move(values);
        if (certain) collect_members(schema, path, depth, facts);
    }

    // None where nothing is there, which its own reading finds.
    std::optional<JsonNode> target_of(JsonNode schema, JsonNode reference) {
        try {
            return resources_.resolve(schema, document_.text(reference), "$ref");
        } catch (const SchemaError&) {
            return std::nullopt;
        }
    }

    void collect_members(JsonNode schema, Path path, int depth, Facts& facts) {
        std::vector<Word> required;
        if (const JsonNode names = keyword(schema, Keyword::required); document_.is(names, JsonKind::array))
            for (JsonNode name : document_.items(names))
                if (document_.is(name, JsonKind::string)) required.push_back(document_.text_number(name));
        sort_unique(required);
        n_looks_ += required.size();
        for (Word name : required) facts[path_of(path, name)].required = true;
        const JsonNode properties = keyword(schema, Keyword::properties), more = keyword(schema, Keyword::additional_properties);
        if (document_.is(more, JsonKind::boolean) && !document_.truth(more) &&
            keyword(schema, Keyword::pattern_properties) == JsonDocument::kNone)
            facts[path].closed = true;
        if (!document_.is(properties, JsonKind::object)) return;
        for (const auto& [name, member] : document_.members(properties)) {
            if (++n_looks_ > kMaxFacts) return;
            const Path inner = path_of(path, name);
            facts[inner].listed = true;
            collect(member, inner, depth + 1, std::binary_search(required.begin(), required.end(), name), facts);
        }
    }

    // The scalars that `const` or `enum` lists.
    std::optional<std::vector<Value>> values_of(JsonNode schema) {
        std::vector<Value> out;
        const auto add = [&](JsonNode value) {
            std::string key;
            switch (document_.kind(value)) {
                case JsonKind::null:
                    key = "null";
                    break;
                case JsonKind::boolean:
                    key = document_.truth(value) ? "true" : "false";
                    break;
                case JsonKind::string:
                    key = '"' + std::string(document_.text(value));
                    break;
                case JsonKind::number: {
                    const Decimal d = parse_decimal(document_.number(value));
                    key = d.is_zero() ? "0" : (d.negative ? "-" : "") + d.digits + "e" + std::to_string(d.exponent);
                    break;
                }
                default:
                    return false;
            }
            ++n_looks_;
            out.push_back(values_.try_emplace(std::move(key), static_cast<Value>(values_.size())).first->second);
            return true;
        };
        if (const JsonNode one = keyword(schema, Keyword::constant);
            one != JsonDocument::kNone && resources_.draft(schema) >= Draft::draft6)
            return add(one) ? std::optional(out) : std::nullopt;
        const JsonNode listed = keyword(schema, Keyword::enumeration);
        if (!document_.is(listed, JsonKind::array)) return std::nullopt;
        for (JsonNode value : document_.items(listed))
            if (n_looks_ > kMaxFacts || !add(value)) return std::nullopt;
        sort_unique(out);
        return out;
    }

    void index(std::size_t branch, Path path, const Fact& fact) {
        Said& said = paths_[static_cast<std::size_t>(path)];
        if (!fact.closed) said.open.push_back(branch);
        if (fact.values) {
            said.with_values.push_back(branch);
            for (Value value : *fact.values) said.by_value[value].push_back(branch);
        } else if (fact.listed) {
            said.listed.push_back(branch);
        }
    }

    // Whether each value of a branch has a member here.
    bool is_certain(std::size_t branch, Path path) const {
        for (; path != 0; path = parent_[static_cast<std::size_t>(path)]) {
            const Fact* here = fact(branch, path);
            const Fact* around = fact(branch, parent_[static_cast<std::size_t>(path)]);
            if (!here || !here->required || !around || !around->is_object) return false;
        }
        return true;
    }

    // Branches that say nothing of the value of a path, and whose values may have one there.
    const std::vector<std::size_t>& others(Path path) {
        Said& said = paths_[static_cast<std::size_t>(path)];
        if (said.others) return *said.others;
        said.others = said.listed;
        const auto add = [&](std::size_t branch) {
            const Fact* here = fact(branch, path);
            if (!here || (!here->values && !here->listed)) said.others->push_back(branch);
        };
        // Each branch says something of the value itself, but not of each object inside.
        const Path around = parent_[static_cast<std::size_t>(path)];
        for (std::size_t branch : paths_[static_cast<std::size_t>(around)].open) add(branch);
        n_looks_ += paths_[static_cast<std::size_t>(around)].open.size();
        if (around != 0) {
            n_looks_ += facts_.size();
            for (std::size_t branch = 0; branch < facts_.size(); ++branch)
                if (!fact(branch, around)) add(branch);
        }
        sort_unique(*said.others);
        return *said.others;
    }

    // Branches that may have a value together with this one, by the path that leaves the fewest. False where there are too many.
    bool candidates(std::size_t branch, std::vector<std::size_t>& out) {
        std::size_t fewest = facts_.size();
        Path best = 0;
        for (const auto& [path, fact] : facts_[branch]) {
            if (path == 0 || !is_certain(branch, path)) continue;
            const Said& said = paths_[static_cast<std::size_t>(path)];
            std::size_t n = others(path).size() + (fact.values ? 0 : said.with_values.size());
            if (fact.values)
                for (Value value : *fact.values) n += said.by_value.at(value).size();
            n_looks_ += 1 + (fact.values ? fact.values->size() : 0);
            if (n_looks_ > kMaxFacts) return false;
            if (n < fewest) {
                fewest = n;
                best = path;
            }
        }
        n_looks_ += fewest;
        if (n_looks_ > kMaxFacts) return false;
        if (best == 0) {
            for (std::size_t i = 0; i < facts_.size(); ++i) out.push_back(i);
        } else {
            const Said& said = paths_[static_cast<std::size_t>(best)];
            const auto add = [&](const std::vector<std::size_t>& some) { out.insert(out.end(), some.begin(), some.end()); };
            add(others(best));
            const auto& values = facts_[branch].at(best).values;
            if (!values) add(said.with_values);
            if (values)
                for (Value value : *values) add(said.by_value.at(value));
        }
        sort_unique(out);
        std::erase(out, branch);
        return true;
    }

    // Of these pairs those that are there in both directions.
    static std::vector<std::vector<std::size_t>> symmetric(const std::vector<std::vector<std::size_t>>& pairs) {
        std::vector<std::vector<std::size_t>> out(pairs.size());
        for (std::size_t i = 0; i < pairs.size(); ++i)
            for (std::size_t j : pairs[i])
                if (std::binary_search(pairs[j].begin(), pairs[j].end(), i)) out[i].push_back(j);
        return out;
    }

    const JsonDocument& document_;
    SchemaResources& resources_;
    std::unordered_map<std::uint64_t, Path> path_numbers_;
    std::vector<Path> parent_{0};
    std::unordered_map<std::string, Value> values_;
    std::vector<Facts> facts_;  // per branch
    std::vector<Said> paths_;
    std::size_t n_looks_ = 0;
};

}  // namespace

std::optional<std::vector<std::vector<std::size_t>>> overlaps(const JsonDocument& document, SchemaResources& resources,
                                                              const std::vector<JsonNode>& schemas, bool all_objects) {
    return Overlaps(document, resources).find(schemas, all_objects);
}

}  // namespace psc
