#include "schema/no_value.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/processor_time.hpp"
#include "rules/lowering.hpp"
#include "schema/json_schema.hpp"
#include "schema/keywords.hpp"

namespace psc {

namespace {

using JsonKind = JsonDocument::Kind;

constexpr std::size_t kMaxTries = 1000, kMostParts = 3;
constexpr std::size_t kMaxWork = 10'000'000;  // bytes of schemas and words of rules in all tries: about a second
constexpr double kMaxSeconds = 5;             // for schemas whose patterns take long and leave no rule
constexpr TerminalLimits kTerminals{400, 128, 2, 20'000, 64};

// A schema inside of another one, or a reference.
struct Part {
    JsonNode node;  // the schema, or the text of a reference
    bool in_place;  // is about the same value
    bool reference;
};

class Search {
public:
    Search(std::string_view text, SchemaOptions options, bool only_objects, const SchemaResources::Resolver& resolver)
        : document_(texts_), resources_(document_, resolver), options_(options), only_objects_(only_objects), resolver_(resolver) {
        number_keywords(texts_);
        root_ = resources_.add(text, "", Draft::draft2020);
    }

    std::optional<NoValue> smallest() {
        JsonNode node = root_;
        bool strict = options_.strict, endless = false;
        if (!is_empty(node, strict)) return std::nullopt;
        std::unordered_set<JsonNode> visited;
        while (true) {
            visited.insert(node);
            replaced_.clear();
            left_out_.clear();
            if (!document_.is(node, JsonKind::object)) return NoValue{pointer(node), {}, {}, {}, false};
            const std::vector<Part> needed = needed_parts(node, strict);
            if (needed.size() != 1 || spent()) return cause(node, strict, needed, false);
            const auto change = std::pair(replaced_, left_out_);
            replaced_.clear();
            left_out_.clear();
            const Part& part = needed[0];
            const std::optional<JsonNode> inner = part.reference ? target(node, part.node) : part.node;
            const bool inner_strict = options_.strict && !part.in_place;
            const bool has_keywords = inner && document_.is(*inner, JsonKind::object);  // `false` is empty on purpose
            const bool alone = has_keywords && *inner != node && is_empty(*inner, inner_strict, false);
            endless = alone && visited.contains(*inner);
            std::tie(replaced_, left_out_) = change;
            if (!alone || endless) return cause(node, strict, needed, endless || (inner && *inner == node));
            node = *inner;
            strict = inner_strict;
        }
    }

private:
    std::string pointer(JsonNode node) const { return resources_.pointer(node); }
    bool spent() const { return n_tries_ >= kMaxTries || work_ >= kMaxWork || processor_seconds() - begin_ >= kMaxSeconds; }

    std::optional<JsonNode> target(JsonNode schema, JsonNode reference) {
        try {
            const JsonNode found = resources_.resolve(schema, document_.text(reference), "$ref");
            return pointer(found).starts_with('#') ? std::optional(found) : std::nullopt;  // in this text
        } catch (const SchemaError&) {
            return std::nullopt;
        }
    }

    // Whether no value is valid of a part of the document as it is changed now.
    bool is_empty(JsonNode node, bool strict) { return is_empty(node, strict, only_objects_ && node == root_); }
    bool is_empty(JsonNode node, bool strict, bool only_objects) {
        const auto change = [&](JsonNode n) {
            return left_out_.contains(n)   ? JsonDocument::Change::left_out
                   : replaced_.contains(n) ? JsonDocument::Change::always
                                           : JsonDocument::Change::none;
        };
        const std::string text = document_.written(root_, change);
        ++n_tries_;
        work_ += text.size();
        SchemaOptions options = options_;
        options.strict = strict;
        options.lenient = true;
        try {
            const RulePrograms rules = rules_of_part(text, pointer(node), options, only_objects, resolver_);
            work_ += rules.words.size();
            const LoweredRules lowered = lower(rules, kTerminals);
            return lowered.refusal && lowered.refusal->undefined.empty();
        } catch (const SchemaError&) {
            return false;
        } catch (const LimitExceeded&) {
            return false;
        }
    }

    std::vector<Part> parts_of(JsonNode schema) const {
        std::vector<Part> out;
        const auto each = [&](JsonNode value, bool in_place) {
            if (document_.is(value, JsonKind::array)) {
                for (JsonNode item : document_.items(value)) out.push_back({item, in_place, false});
            } else {
                out.push_back({value, in_place, false});
            }
        };
        for (const auto& [name, value] : document_.members(schema)) {
            switch (keyword_of(name)) {
                case Keyword::ref:
                case Keyword::dynamic_ref:
                case Keyword::recursive_ref:
                    if (document_.is(value, JsonKind::string)) out.push_back({value, true, true});
                    break;
                case Keyword::all_of:
                case Keyword::any_of:
                case Keyword::one_of:
                case Keyword::then:
                case Keyword::else_:
                    each(value, true);
                    break;
                case Keyword::properties:
                case Keyword::pattern_properties:
                    if (document_.is(value, JsonKind::object))
                        for (const auto& member : document_.members(value)) out.push_back({member.value, false, false});
                    break;
                case Keyword::items:
                case Keyword::prefix_items:
                case Keyword::additional_items:
                case Keyword::additional_properties:
                case Keyword::unevaluated_items:
                case Keyword::unevaluated_properties:
                case Keyword::contains:
                    each(value, false);
                    break;
                default:
                    break;
            }
        }
        return out;
    }

    void change(const Part& part) {
        if (part.reference)
            left_out_.insert(part.node);
        else
            replaced_.insert(part.node);
    }

    // Changes as many of these as leave the schema empty, and returns the others.
    template <class Item, class Apply>
    std::vector<Item> fewest(JsonNode schema, bool strict, std::vector<Item> all, const Apply& apply) {
        std::vector<Item> kept;
        for (std::size_t step = all.size(); step > 0; step = step > 1 ? (step + 1) / 2 : 0) {
            kept.clear();
            for (std::size_t i = 0; i < all.size(); i += step) {
                const auto chunk = std::span(all).subspan(i, std::min(step, all.size() - i));
                const auto before = std::pair(replaced_, left_out_);
                for (const Item& item : chunk) apply(item);
                if (!spent() && is_empty(schema, strict)) continue;
                std::tie(replaced_, left_out_) = before;
                kept.insert(kept.end(), chunk.begin(), chunk.end());
            }
            all = kept;
        }
        return all;
    }

    std::vector<Part> needed_parts(JsonNode schema, bool strict) {
        return fewest(schema, strict, parts_of(schema), [&](const Part& part) { change(part); });
    }

    NoValue cause(JsonNode schema, bool strict, const std::vector<Part>& needed, bool endless) {
        std::vector<JsonDocument::Member> keywords;
        for (const auto& member : document_.members(schema))
            if (const Keyword keyword = keyword_of(member.name); keyword != Keyword::unknown && !says_where(keyword))
                keywords.push_back(member);
        keywords = fewest(schema, strict, keywords, [&](const JsonDocument::Member& m) { left_out_.insert(m.value); });
        NoValue out{pointer(schema), {}, {}, {}, endless};
        if (spent()) return out;
        const bool about_one_type = std::none_of(keywords.begin(), keywords.end(), [](const auto& member) {
            constexpr std::array kOfAny{Keyword::all_of, Keyword::any_of,   Keyword::one_of,      Keyword::not_,       Keyword::if_,
                                        Keyword::ref,    Keyword::constant, Keyword::enumeration, Keyword::dynamic_ref};
            return std::find(kOfAny.begin(), kOfAny.end(), keyword_of(member.name)) != kOfAny.end();
        });
        for (const auto& [name, value] : keywords) {
            const Keyword keyword = keyword_of(name);
            if (keyword == Keyword::type && keywords.size() > 2 && about_one_type) continue;  // which the others say, too
            out.keywords.emplace_back(text_of(keyword));
            if (keyword != Keyword::required || !document_.is(value, JsonKind::array)) continue;
            const std::vector<JsonNode> names(document_.items(value).begin(), document_.items(value).end());
            const auto left = fewest(schema, strict, names, [&](JsonNode name) { left_out_.insert(name); });
            if (left.size() == 1) out.name = document_.text(left[0]);
        }
        for (const Part& part : needed)
            if (needed.size() > 1 && !part.reference && out.parts.size() < kMostParts) out.parts.push_back(pointer(part.node));
        return out;
    }

    TextTable texts_;
    JsonDocument document_;
    SchemaResources resources_;
    SchemaOptions options_;
    bool only_objects_;
    const SchemaResources::Resolver& resolver_;
    JsonNode root_ = JsonDocument::kNone;
    std::set<JsonNode> replaced_, left_out_;
    std::size_t n_tries_ = 0, work_ = 0;
    double begin_ = processor_seconds();
};

}  // namespace

std::optional<NoValue> part_without_value(std::string_view schema, SchemaOptions options, bool only_objects,
                                          const SchemaResources::Resolver& resolver) {
    return Search(schema, options, only_objects, resolver).smallest();
}

}  // namespace psc
